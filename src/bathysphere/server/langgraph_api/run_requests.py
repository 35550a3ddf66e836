"""Convert a client's request to the engine's `Work`, keeping only trusted fields.

Of `config` only the recursion limit and the checkpoint to fork from are used; the rest of
`configurable` is ignored. `context` must have the shape that the graph declares. The caller's
identity comes from the run's row.
"""

from collections.abc import Mapping
from typing import Any

from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.server.errors import InvalidRequest, NotSupported
from bathysphere.server.langgraph_api.client_writes import (
    check_context,
    check_order,
    check_values,
)
from bathysphere.server.schemas.protocol import RunConfig

_LIMIT = Work().recursion_limit


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
) -> Work:
    """Build the work of a run.

    Raises:
        FieldNotWritable: The input or the update writes a field that clients may not write, or
            `goto` changes a fixed order of nodes.
        ContextNotDeclared: The context has a field that the graph does not declare.
    """
    config = config or RunConfig()
    fork = config.configurable.get("checkpoint_id")
    if fork is not None and not isinstance(fork, str):
        raise InvalidRequest("config.configurable.checkpoint_id must be a string")
    input, update, nodes = _messages(input), _messages(update), _nodes(goto)
    check_values(graphs, graph, input)
    check_values(graphs, graph, update)
    check_order(graphs, graph, nodes, option="goto")
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
    )


def _messages(value: Any) -> Any:
    """Wrap a bare list as messages: LangGraph's clients send it so for chat graphs."""
    return {"messages": value} if isinstance(value, list) else value


def _nodes(goto: Any) -> tuple[str, ...]:
    if goto is None:
        return ()
    nodes = goto if isinstance(goto, list) else [goto]
    if not all(isinstance(node, str) for node in nodes):
        raise NotSupported(
            "`goto` must be node names", hint="Send with its own input is not supported"
        )
    return tuple(nodes)


def _without_reserved(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Drop `run_id` and `graph`: the engine sets them in the metadata of checkpoints."""
    return {k: v for k, v in metadata.items() if k not in ("run_id", "graph")}
