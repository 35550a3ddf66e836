"""Assistants: each graph served here is one, under its name and under an id made from its name.

They are read-only. The id is the same on every server, so a client may keep it.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from bathysphere.agents import AGENTS
from bathysphere.engine.errors import GraphNotFound
from bathysphere.engine.graphs import Graphs

_SINCE = datetime(2026, 1, 1, tzinfo=UTC).isoformat()


def assistant_id(graph: str) -> str:
    """The id of the graph's assistant."""
    return str(uuid5(NAMESPACE_URL, f"bathysphere:assistant:{graph}"))


def resolve(graphs: Graphs, name: str) -> str:
    """The graph an assistant's name or id stands for.

    Raises:
        GraphNotFound: No graph has this name or id.
    """
    names = graphs.names()
    if name in names:
        return name
    for graph in names:
        if assistant_id(graph) == name:
            return graph
    raise GraphNotFound(f"no assistant {name!r}", hint=f"there are {', '.join(names)}")


def describe(graph: str) -> dict[str, Any]:
    """An assistant as LangGraph's clients know it."""
    return {
        "assistant_id": assistant_id(graph),
        "graph_id": graph,
        "name": graph,
        "description": AGENTS.get(graph),
        "config": {},
        "context": {},
        "metadata": {"created_by": "system"},
        "version": 1,
        "created_at": _SINCE,
        "updated_at": _SINCE,
    }


def is_id(value: str) -> bool:
    """Whether a text is an id at all."""
    try:
        UUID(value)
    except ValueError:
        return False
    return True
