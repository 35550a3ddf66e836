"""Trace model calls, tool calls and the nodes of graphs: spans below the run's, without contents.

LangChain reports calls to callback handlers; this one is found through a context variable, so that
graphs need no configuration. A subagent's calls are children of the tool call that started it.
Nodes of the agent loop have no spans: theirs would only repeat those of the calls in them. What a
node does besides, such as a search, asks for a span by `bathysphere.core.tracing`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from bathysphere.core.clock import Clock, SystemClock
from bathysphere.core.tracing import span_factory
from bathysphere.core.usage import CORRECTION_EVENT
from bathysphere.server.observability import attributes

_current: ContextVar["CallSpans | None"] = ContextVar("bathysphere_call_spans", default=None)
_work: ContextVar[Span | None] = ContextVar("bathysphere_work_span", default=None)
_INTERNAL = SpanKind.INTERNAL
_LOOP = ("model", "tools")


@contextmanager
def traced_calls(run: Span, clock: Clock | None = None) -> Iterator[None]:
    """Trace the calls that a graph makes in this context, as children of `run`."""
    _register()
    spans = CallSpans(run, clock or SystemClock())
    token, factory = _current.set(spans), span_factory.set(spans.work)
    try:
        yield
    finally:
        _current.reset(token)
        span_factory.reset(factory)


@cache
def _register() -> None:
    register_configure_hook(_current, inheritable=True)


class WorkSpan:
    """The span of work that LangChain does not report."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def set(self, name: str, value: str | int) -> None:
        """Add an attribute."""
        self._span.set_attribute(name, value)


@dataclass(slots=True)
class _Pace:
    """When a model call started, and when its first token came, if it was streamed."""

    started: float
    first: float | None = None

    def values(self, ended: float, output_tokens: int) -> dict[str, float]:
        """The attributes of the span; nothing of an answer that came in one piece."""
        if self.first is None:
            return {}
        found = {attributes.TIME_TO_FIRST: round(self.first - self.started, 3)}
        if output_tokens > 1 and ended > self.first:
            # The first token is there when the time starts.
            speed = (output_tokens - 1) / (ended - self.first)
            found[attributes.TOKENS_PER_S] = round(speed, 1)
        return found


class CallSpans(BaseCallbackHandler):
    """Starts and ends the spans of one run's calls."""

    run_inline = True  # nested calls must see their parent's span

    def __init__(self, run: Span, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._paces: dict[UUID, _Pace] = {}
        self._tracer = trace.get_tracer("bathysphere.worker")
        self._spans: dict[UUID, Span] = {}
        self._parents: dict[UUID, UUID | None] = {}

    def on_chain_start(
        self,
        *_: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        name: str | None = None,
        **__: Any,
    ) -> None:
        """Start the span of a node; of other steps, remember the parent of their calls."""
        if name is not None and name == (metadata or {}).get("langgraph_node") and _is_own(name):
            self._open(f"node {name}", run_id, parent_run_id, {attributes.NODE: name}, _INTERNAL)
        else:
            self._parents[run_id] = parent_run_id

    def on_chain_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """End the span of a node, and forget the step."""
        self._close(run_id)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End the span of a node that failed, or that was interrupted for a person."""
        self._close(run_id, None if isinstance(error, GraphBubbleUp) else error)

    @contextmanager
    def work(self, name: str, values: Mapping[str, str | int]) -> Iterator["WorkSpan"]:
        """Trace work that LangChain does not report, below the node or call that does it."""
        above = _work.get() or self._parent_span(_current_step())
        context = trace.set_span_in_context(above)
        span = self._tracer.start_span(name, context=context, kind=SpanKind.CLIENT)
        span.set_attributes(dict(values))
        token = _work.set(span)
        try:
            yield WorkSpan(span)
        except BaseException as error:
            _mark_failed(span, error)
            raise
        finally:
            _work.reset(token)
            span.end()

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
        self._paces[run_id] = _Pace(self._clock.monotonic())
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

    def on_llm_new_token(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Note when the first token came."""
        self._note_token(run_id)

    def on_stream_event(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Note when the first token came, in LangChain's newer protocol."""
        self._note_token(run_id)

    def _note_token(self, run_id: UUID) -> None:
        pace = self._paces.get(run_id)
        if pace is not None and pace.first is None:
            pace.first = self._clock.monotonic()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """End the span of a model call, with its token counts and its speed."""
        span = self._spans.get(run_id)
        message = getattr(response.generations[0][0], "message", None) if span else None
        usage = getattr(message, "usage_metadata", None)
        if span is not None and usage:
            span.set_attribute(attributes.INPUT_TOKENS, usage["input_tokens"])
            span.set_attribute(attributes.OUTPUT_TOKENS, usage["output_tokens"])
        pace = self._paces.get(run_id)
        if span is not None and pace is not None:
            written = usage["output_tokens"] if usage else 0
            span.set_attributes(pace.values(self._clock.monotonic(), written))
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

    def _open(
        self,
        name: str,
        run_id: UUID,
        parent: UUID | None,
        values: dict[str, str],
        kind: SpanKind = SpanKind.CLIENT,
    ) -> None:
        known: dict[str, AttributeValue] = {**values}
        self._parents[run_id] = parent
        context = trace.set_span_in_context(self._parent_span(parent))
        self._spans[run_id] = self._tracer.start_span(
            name, context=context, kind=kind, attributes=known
        )

    def _close(self, run_id: UUID, error: BaseException | None = None) -> None:
        self._parents.pop(run_id, None)
        self._paces.pop(run_id, None)
        span = self._spans.pop(run_id, None)
        if span is None:
            return
        if error is not None:
            _mark_failed(span, error)
        span.end()

    def _parent_span(self, parent: UUID | None) -> Span:
        while parent is not None:
            if parent in self._spans:
                return self._spans[parent]
            parent = self._parents.get(parent)
        return self._run


def _is_own(node: str) -> bool:
    """Whether a node is a graph's own, not one of the agent loop such as `Layer.before_model`."""
    return node not in _LOOP and "." not in node


def _current_step() -> UUID | None:
    """The step, known to LangChain, that this task works on."""
    try:
        manager = get_config().get("callbacks")
    except RuntimeError:  # not in a graph
        return None
    found: UUID | None = getattr(manager, "parent_run_id", None)
    return found


def _mark_failed(span: Span, error: BaseException) -> None:
    span.set_status(Status(StatusCode.ERROR))
    span.set_attribute(attributes.ERROR_TYPE, type(error).__qualname__)
