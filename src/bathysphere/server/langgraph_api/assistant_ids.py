"""The ids of graphs' assistants, the same on every server."""

from uuid import NAMESPACE_URL, uuid5


def assistant_id(graph: str) -> str:
    """The id of the graph's assistant."""
    return str(uuid5(NAMESPACE_URL, f"bathysphere:assistant:{graph}"))
