"""From what a client asks for to the engine's `Work`: the one place that says what is trusted.

Of `config` only the recursion limit and the checkpoint to fork from are taken. `configurable` and
`context` are not: who the caller is comes from the run's row, never from a request.
"""

from collections.abc import Mapping
from typing import Any

from bathysphere.engine.records import Work
from bathysphere.server.errors import InvalidRequest, NotSupported
from bathysphere.server.schemas.protocol import RunConfig

_LIMIT = Work().recursion_limit


def make_work(
    *,
    input: Any = None,
    config: RunConfig | None = None,
    metadata: Mapping[str, Any] | None = None,
    resume: Mapping[str, Any] | None = None,
    update: Any = None,
    goto: Any = None,
    checkpoint_id: str | None = None,
) -> Work:
    """What a run is to do."""
    config = config or RunConfig()
    fork = config.configurable.get("checkpoint_id")
    if fork is not None and not isinstance(fork, str):
        raise InvalidRequest("config.configurable.checkpoint_id must be a text")
    return Work(
        input=_messages(input),
        resume=resume,
        update=_messages(update),
        goto=_nodes(goto),
        checkpoint_id=checkpoint_id or fork,
        recursion_limit=config.recursion_limit or _LIMIT,
        metadata=_plain(metadata or {}),
    )


def _messages(value: Any) -> Any:
    """A list by itself is a list of messages, as LangGraph's clients send it for chat graphs."""
    return {"messages": value} if isinstance(value, list) else value


def _nodes(goto: Any) -> tuple[str, ...]:
    if goto is None:
        return ()
    nodes = goto if isinstance(goto, list) else [goto]
    if not all(isinstance(node, str) for node in nodes):
        raise NotSupported(
            "goto takes names of nodes", hint="a Send with its own input is not kept"
        )
    return tuple(nodes)


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata is stored beside checkpoints, where `run_id` and `graph` are ours."""
    return {k: v for k, v in metadata.items() if k not in ("run_id", "graph")}
