"""Assistants: one per served graph, addressed by the graph's name or an id derived from it.

They are read-only. The id is the same on every server, so clients may store it.
"""

from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from bathysphere.engine.errors import GraphNotFound
from bathysphere.engine.graphs import Graphs

_CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC).isoformat()


def assistant_id(graph: str) -> str:
    """The id of the graph's assistant."""
    return str(uuid5(NAMESPACE_URL, f"bathysphere:assistant:{graph}"))


def resolve(graphs: Graphs, name: str) -> str:
    """Return the graph of an assistant's name or id.

    Raises:
        GraphNotFound: No graph has this name or id.
    """
    names = graphs.names()
    if name in names:
        return name
    for graph in names:
        if assistant_id(graph) == name:
            return graph
    raise GraphNotFound(f"Unknown assistant {name!r}", hint=f"available: {', '.join(names)}")


def describe(graphs: Graphs, graph: str) -> dict[str, Any]:
    """An assistant in LangGraph's format."""
    return {
        "assistant_id": assistant_id(graph),
        "graph_id": graph,
        "name": graph,
        "description": graphs.description(graph),
        "config": {},
        "context": {},
        "metadata": {"created_by": "system"},
        "version": 1,
        "created_at": _CREATED_AT,
        "updated_at": _CREATED_AT,
    }
