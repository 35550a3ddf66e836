"""Names of graphs in requests: an alias becomes the name of the agent before anything is stored."""

from collections.abc import Mapping
from typing import Any

from bathysphere.agents import real_name
from bathysphere.engine.graphs import Graphs


def graph_name(graphs: Graphs, name: str) -> str:
    """Return the graph that a name or an alias means; an unknown name stays as it is."""
    return real_name(name, graphs.names())


def with_graph_name(graphs: Graphs, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a thread's metadata, or a filter by it, with the name of the graph in `graph_id`."""
    named = dict(metadata or {})
    if isinstance(named.get("graph_id"), str):
        named["graph_id"] = graph_name(graphs, named["graph_id"])
    return named
