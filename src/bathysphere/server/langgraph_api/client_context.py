"""Check the `context` of a request: it reaches a graph only in the shape the graph declares."""

from collections.abc import Mapping
from typing import Any

from bathysphere.engine.graphs import Graphs
from bathysphere.harness.context import context_problems, undeclared_fields
from bathysphere.server.errors import InvalidRequest


class ContextNotDeclared(InvalidRequest):
    """A context has fields that the graph does not declare, or values of another type."""

    code = "context_not_declared"


def check_context(graphs: Graphs, graph: str, context: Mapping[str, Any] | None) -> None:
    """Check that a graph declares every field of a context, with these types.

    Raises:
        ContextNotDeclared: A field is not declared, or its value does not fit; the message names
            the fields.
    """
    if not context:
        return
    schema = graphs.get(graph).context_schema
    if unknown := undeclared_fields(schema, context):
        raise ContextNotDeclared(
            f"'{graph}' declares no context field {', '.join(map(repr, unknown))}",
            hint="GET /assistants/{id}/schemas shows the declared fields (context_schema)",
        )
    if problems := context_problems(schema, context):
        raise ContextNotDeclared(f"Invalid context of '{graph}': {'; '.join(problems[:5])}")
