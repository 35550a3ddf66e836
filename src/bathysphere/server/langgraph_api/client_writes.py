"""Check what clients write to a thread's state, and the `context` they send.

Run input, `command.update`, `command.goto`, state updates and the protocol's commands are all
checked here. A graph that declares the writers of its fields (`core.writers`) accepts from clients
only the fields declared for them, and clients cannot choose its next node. A graph without
declarations keeps LangGraph's behaviour. A `context` must have the shape that the graph declares.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bathysphere.core.writers import Writer
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.context import context_problems, undeclared_fields
from bathysphere.server.errors import InvalidRequest

START = "__start__"


class FieldNotWritable(InvalidRequest):
    """A client tried to write a field that only the agent may write."""

    code = "field_not_writable"


class ContextNotDeclared(InvalidRequest):
    """A context has fields that the graph does not declare, or values of another type."""

    code = "context_not_declared"


def check_values(graphs: Graphs, graph: str, values: Any) -> None:
    """Check that a client may write these values.

    Raises:
        FieldNotWritable: A field is not writable by clients; the message names it.
    """
    writers = graphs.writers(graph)
    if not writers or values is None:
        return
    if not isinstance(values, Mapping):
        raise FieldNotWritable(f"The state of '{graph}' must be an object", hint=_hint(writers))
    channels = graphs.get(graph).channels
    for name in values:
        if writers.get(name) is Writer.CLIENT:
            continue
        # LangGraph ignores unknown fields. Names like `branch:to:node` are channels too: they
        # would choose the next node.
        if name in channels or name in writers or str(name).startswith("__"):
            writer = writers.get(name, Writer.ENGINE)
            message = f"Field '{name}' of '{graph}' is writable by the {writer} only"
            raise FieldNotWritable(message, hint=_hint(writers))


def check_order(graphs: Graphs, graph: str, nodes: Sequence[str], *, option: str) -> None:
    """Check that a client does not choose the next node, which could skip checks.

    Raises:
        FieldNotWritable: The graph declares its writers, so its order of nodes is fixed.
    """
    if graphs.writers(graph) and any(node != START for node in nodes):
        raise FieldNotWritable(
            f"'{option}' cannot be used with '{graph}': the order of its steps is fixed",
            hint="start a run with input, or answer its question",
        )


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


def _hint(writers: Mapping[str, Writer]) -> str:
    fields = sorted(name for name, writer in writers.items() if writer is Writer.CLIENT)
    return f"fields writable by clients: {', '.join(fields)}"
