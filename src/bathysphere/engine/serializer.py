"""Strict checkpoint serializer: constructs only types that LangGraph trusts or the graph declares.

By default LangGraph's serializer imports and calls whatever a stored value names, so anyone who can
write to the database could run code in every process that reads it. The strict serializer returns
the arguments as plain data instead.
"""

from typing import Any

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.pregel import Pregel

from bathysphere.upstream import collect_allowlist_from_schemas


def strict_serializer(graph: Pregel[Any, Any, Any, Any]) -> JsonPlusSerializer:
    """A serializer for messages, dates and similar types, and the graph's state types."""
    return JsonPlusSerializer(allowed_msgpack_modules=sorted(_declared_types(graph)))


def _declared_types(graph: Pregel[Any, Any, Any, Any]) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for one in (graph, *(subgraph for _, subgraph in graph.get_subgraphs(recurse=True))):
        builder: Any = getattr(one, "builder", None)
        schemas = [*getattr(builder, "schemas", ()), getattr(builder, "context_schema", None)]
        found |= collect_allowlist_from_schemas(
            schemas=[schema for schema in schemas if schema is not None],
            # An entrypoint has no builder: its input, output and saved value are channels.
            channels=dict(getattr(one if builder is None else builder, "channels", None) or {}),
        )
    return found
