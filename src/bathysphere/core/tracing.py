"""Spans for traces, below the server: without a tracer they cost a look at a context variable.

The server puts a factory into the context of a traced run. Attributes are numbers and names of
ours, never contents: no query, address, text or error message.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Protocol

# Names of OpenTelemetry's conventions for agents.
OPERATION = "gen_ai.operation.name"
TOOL_NAME = "gen_ai.tool.name"
EXECUTE_TOOL = "execute_tool"


class Span(Protocol):
    """A piece of work in a trace."""

    def set(self, name: str, value: str | int) -> None:
        """Add an attribute."""
        ...


SpanFactory = Callable[[str, Mapping[str, str | int]], AbstractContextManager[Span]]
span_factory: ContextVar[SpanFactory | None] = ContextVar("bathysphere_span_factory", default=None)
"""Starts the spans of the current run; None if it is not traced."""


class _NoSpan:
    """What is not traced."""

    def set(self, name: str, value: str | int) -> None:
        """Do nothing."""


_OFF: AbstractContextManager[Span] = nullcontext(_NoSpan())


def span(
    name: str, attributes: Mapping[str, str | int] | None = None
) -> AbstractContextManager[Span]:
    """Trace the work of a `with` block; an error ends the span with its type, not its text."""
    factory = span_factory.get()
    return _OFF if factory is None else factory(name, attributes or {})


def tool_span(name: str) -> AbstractContextManager[Span]:
    """Trace a call of a tool that a graph makes itself, like one that a model asks for."""
    return span(f"{EXECUTE_TOOL} {name}", {OPERATION: EXECUTE_TOOL, TOOL_NAME: name})
