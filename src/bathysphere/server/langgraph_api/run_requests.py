"""Convert a client's request to the engine's `Work`, keeping only trusted fields.

Of `config` only the recursion limit, the tags, the checkpoint to fork from and the choice of an
offered model are used; the rest of `configurable` is ignored. `context` must have the shape that
the graph declares. The caller's identity comes from the run's row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bathysphere.engine.assistants import Assistant
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.engine.runs.pauses import ALL
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.langgraph_api.chosen_model import MODEL, chosen_model
from bathysphere.server.langgraph_api.client_writes import (
    START,
    check_context,
    check_order,
    check_values,
)
from bathysphere.server.schemas.protocol import RunConfig

_LIMIT = Work().recursion_limit


@dataclass(frozen=True, kw_only=True, slots=True)
class Pauses:
    """Nodes before and after which a client wants the run to pause, or `*`."""

    before: Sequence[str] | None = None
    after: Sequence[str] | None = None


def make_work(
    graphs: Graphs,
    graph: str,
    *,
    input: Any = None,
    config: RunConfig | None = None,
    metadata: Mapping[str, Any] | None = None,
    resume: Mapping[str, Any] | None = None,
    update: Any = None,
    goto: Any = None,
    checkpoint_id: str | None = None,
    context: Mapping[str, Any] | None = None,
    assistant: Assistant | None = None,
    stream_modes: Sequence[str] = (),
    stream_subgraphs: bool = False,
    pauses: Pauses | None = None,
    after_seconds: float = 0.0,
) -> Work:
    """Build the work of a run; what a stored assistant says applies where the request is silent.

    Raises:
        FieldNotWritable: The input or the update writes a field that clients may not write, or
            `goto` changes a fixed order of nodes.
        ContextNotDeclared: The context has a field that the graph does not declare.
        InvalidRequest: The model is not offered, or the graph cannot take another one.
    """
    config = config or RunConfig()
    if assistant is not None and not assistant.is_system:
        definition = assistant.definition
        config = _with_defaults(config, RunConfig.model_validate(definition.config))
        metadata = {**definition.metadata, **(metadata or {})}
        context = {**definition.context, **(context or {})}
    fork = config.configurable.get("checkpoint_id")
    if fork is not None and not isinstance(fork, str):
        raise InvalidRequest("config.configurable.checkpoint_id must be a string")
    input, update, nodes = _messages(input), _messages(update), goto_targets(goto)
    check_values(graphs, graph, input)
    check_values(graphs, graph, update)
    check_order(graphs, graph, node_names(nodes), option="goto")
    check_context(graphs, graph, context)
    return Work(
        input=input,
        resume=resume,
        update=update,
        goto=nodes,
        checkpoint_id=checkpoint_id or fork,
        recursion_limit=config.recursion_limit or _LIMIT,
        metadata=_without_reserved(metadata or {}),
        context=context or None,
        assistant_id=_stored_id(assistant),
        tags=tuple(config.tags or ()),
        stream_modes=tuple(stream_modes),
        stream_subgraphs=stream_subgraphs,
        interrupt_before=_pauses(graphs, graph, pauses.before) if pauses else (),
        interrupt_after=_pauses(graphs, graph, pauses.after) if pauses else (),
        after_seconds=after_seconds,
        model=chosen_model(graphs, graph, config.configurable.get(MODEL)),
    )


def _with_defaults(config: RunConfig, defaults: RunConfig) -> RunConfig:
    return RunConfig(
        configurable=config.configurable,
        recursion_limit=config.recursion_limit or defaults.recursion_limit,
        tags=config.tags if config.tags is not None else defaults.tags,
    )


def _stored_id(assistant: Assistant | None) -> str | None:
    return None if assistant is None or assistant.is_system else str(assistant.assistant_id)


def _messages(value: Any) -> Any:
    """Wrap a bare list as messages: LangGraph's clients send it so for chat graphs."""
    return {"messages": value} if isinstance(value, list) else value


def goto_targets(goto: Any) -> tuple[str | dict[str, Any], ...]:
    """The targets of a client's `goto`: names of nodes, or `{node, input}` (a `Send`).

    Raises:
        InvalidRequest: One is neither.
    """
    if goto is None:
        return ()
    return tuple(map(_goto_target, goto if isinstance(goto, list) else [goto]))


def _goto_target(target: Any) -> str | dict[str, Any]:
    if isinstance(target, str):
        return target
    if isinstance(target, dict) and isinstance(target.get("node"), str) and "input" in target:
        return {"node": target["node"], "arg": target["input"]}
    raise InvalidRequest("`goto` must be node names, or objects with `node` and `input`")


def node_names(targets: Iterable[str | Mapping[str, Any]]) -> list[str]:
    """The nodes of some `goto` targets."""
    return [target if isinstance(target, str) else target["node"] for target in targets]


def _pauses(graphs: Graphs, graph: str, nodes: Any) -> tuple[str, ...]:
    """The nodes to pause at; `*` means all.

    Raises:
        InvalidRequest: The graph has no such node.
    """
    if not nodes or nodes == ALL:
        return (ALL,) if nodes else ()
    known = graphs.get(graph).nodes
    if unknown := [node for node in nodes if node != ALL and node not in known]:
        raise InvalidRequest(
            f"'{graph}' has no node {', '.join(map(repr, unknown))} to pause at",
            hint=f"nodes: {', '.join(name for name in known if name != START)}",
        )
    return tuple(nodes)


def _without_reserved(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Drop `run_id` and `graph`: the engine sets them in the metadata of checkpoints."""
    return {k: v for k, v in metadata.items() if k not in ("run_id", "graph")}
