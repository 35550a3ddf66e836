"""Trace model and tool calls: one span per call below the run's span, without contents.

LangChain reports calls to callback handlers; this one is found through a context variable, so that
graphs need no configuration. A subagent's calls are children of the tool call that started it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.errors import GraphBubbleUp
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from bathysphere.core.usage import CORRECTION_EVENT
from bathysphere.server.observability import attributes

_current: ContextVar["CallSpans | None"] = ContextVar("bathysphere_call_spans", default=None)


@contextmanager
def traced_calls(run: Span) -> Iterator[None]:
    """Trace the calls that a graph makes in this context, as children of `run`."""
    _register()
    token = _current.set(CallSpans(run))
    try:
        yield
    finally:
        _current.reset(token)


@cache
def _register() -> None:
    register_configure_hook(_current, inheritable=True)


class CallSpans(BaseCallbackHandler):
    """Starts and ends the spans of one run's calls."""

    run_inline = True  # nested calls must see their parent's span

    def __init__(self, run: Span) -> None:
        self._run = run
        self._tracer = trace.get_tracer("bathysphere.worker")
        self._spans: dict[UUID, Span] = {}
        self._parents: dict[UUID, UUID | None] = {}

    def on_chain_start(
        self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
    ) -> None:
        """Remember the parent of a step, to find the parent of its calls."""
        self._parents[run_id] = parent_run_id

    def on_chain_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Forget a finished step."""
        self._parents.pop(run_id, None)

    def on_chain_error(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Forget a failed step."""
        self._parents.pop(run_id, None)

    def on_chat_model_start(
        self,
        serialized: dict[str, Any] | None,
        *_: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **__: Any,
    ) -> None:
        """Start the span of a model call."""
        known = metadata or {}
        model = str(known.get("ls_model_name") or (serialized or {}).get("name") or "model")
        self._open(
            f"{attributes.CHAT} {model}",
            run_id,
            parent_run_id,
            {
                attributes.OPERATION: attributes.CHAT,
                attributes.PROVIDER: str(known.get("ls_provider") or "unknown"),
                attributes.REQUEST_MODEL: model,
            },
        )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """End the span of a model call, with its token counts."""
        span = self._spans.get(run_id)
        message = getattr(response.generations[0][0], "message", None) if span else None
        usage = getattr(message, "usage_metadata", None)
        if span is not None and usage:
            span.set_attribute(attributes.INPUT_TOKENS, usage["input_tokens"])
            span.set_attribute(attributes.OUTPUT_TOKENS, usage["output_tokens"])
        self._close(run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End the span of a failed model call."""
        self._close(run_id, error)

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        *_: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tool_call_id: str | None = None,
        **__: Any,
    ) -> None:
        """Start the span of a tool call."""
        name = str((serialized or {}).get("name") or "tool")
        values = {attributes.OPERATION: attributes.EXECUTE_TOOL, attributes.TOOL_NAME: name}
        if tool_call_id is not None:
            values[attributes.TOOL_CALL_ID] = tool_call_id
        self._open(f"{attributes.EXECUTE_TOOL} {name}", run_id, parent_run_id, values)

    def on_tool_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """End the span of a tool call."""
        self._close(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End the span of a tool call that failed, or that was interrupted for a person."""
        self._close(run_id, None if isinstance(error, GraphBubbleUp) else error)

    def on_custom_event(self, name: str, data: Any, *, run_id: UUID, **_: Any) -> None:
        """Note what was corrected in a model's answer; other events are not ours."""
        if name == CORRECTION_EVENT:
            kind, about = str(data["kind"]), str(data["about"])
            values = {attributes.CORRECTION: kind, attributes.CORRECTION_ABOUT: about}
            self._parent_span(run_id).add_event(CORRECTION_EVENT, values)

    def _open(self, name: str, run_id: UUID, parent: UUID | None, values: dict[str, str]) -> None:
        known: dict[str, AttributeValue] = {**values}
        self._parents[run_id] = parent
        context = trace.set_span_in_context(self._parent_span(parent))
        self._spans[run_id] = self._tracer.start_span(
            name, context=context, kind=SpanKind.CLIENT, attributes=known
        )

    def _close(self, run_id: UUID, error: BaseException | None = None) -> None:
        self._parents.pop(run_id, None)
        span = self._spans.pop(run_id, None)
        if span is None:
            return
        if error is not None:
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute(attributes.ERROR_TYPE, type(error).__qualname__)
        span.end()

    def _parent_span(self, parent: UUID | None) -> Span:
        while parent is not None:
            if parent in self._spans:
                return self._spans[parent]
            parent = self._parents.get(parent)
        return self._run
