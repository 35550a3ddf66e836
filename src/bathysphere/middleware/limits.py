"""Limits: model calls, tool calls, tokens and working time, over the whole tree of agents.

All agents of a run have this layer and share one meter, so a limit of N model calls is exact. At a
limit the run ends with an ordinary answer that names the limit, with the figures in `usage`; no
exception reaches the person. A call that exceeds its timeout is cancelled with an error, which the
Failures layer turns into a result. Without async a call cannot be cancelled, only abandoned: its
thread stops at its next step.

Order: innermost, so that each retry and each fallback counts. State: `usage`.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired, TypeVar

from langchain.agents import AgentState
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.messages import BaseMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.types import Command

from bathysphere.core.budgets import spent_budget
from bathysphere.core.live import RecentRuns
from bathysphere.core.usage import Limits, Meter, Stop, Usage, at_end, is_preliminary, join
from bathysphere.core.writers import ByEngine
from bathysphere.models.corrections import place_in_tree
from bathysphere.models.endings import ending
from bathysphere.upstream import CONFIG_KEY_READ

T = TypeVar("T")

# ── text for the model and the person ──

STOPPED = "Stopped: this run reached its limit of {max:g} {what}."
NOT_RUN = "Skipped: this run reached its limit of {max:g} {what}."
LIMIT_NAMES = {
    "model_calls": "model calls",
    "tool_calls": "tool calls",
    "tokens": "tokens",
    "seconds": "seconds of working time",
    "budget": "the budget",
}
TOO_LONG = "timed out after {seconds:g} seconds"


# ── state ──


class LimitsState(AgentState[Any]):
    """State of the Limits layer."""

    run_id: NotRequired[ByEngine[str]]
    usage: NotRequired[Annotated[ByEngine[Usage], join]]


# ── middleware ──

_meters: RecentRuns[Meter] = RecentRuns(Meter)

_abandoned: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar(
    "bathysphere_abandoned", default=None
)
"""Set when the caller no longer waits, since a thread cannot be stopped from outside."""


class LimitsMiddleware(AgentMiddleware[LimitsState, Any, Any]):
    """Checks the run's meter before every model and tool call."""

    state_schema = LimitsState

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self.limits = limits

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ExtendedModelResponse[Any]:
        """Allow a model call, or end the run."""
        meter, place = self._meter(request.state), place_in_tree()
        if not meter.take("model_calls", place, self.limits) or _is_abandoned():
            return _stop(meter, place)
        with meter.working():
            response = handler(request)
        return _answer(meter, place, request, response)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ExtendedModelResponse[Any]:
        """Allow a model call, or end the run."""
        meter, place = self._meter(request.state), place_in_tree()
        if (spent := await spent_budget()) is not None:
            meter.stop("budget", float(spent.amount), spent.sentence)
        if not meter.take("model_calls", place, self.limits):
            return _stop(meter, place)
        clock = asyncio.timeout(meter.remaining_seconds(self.limits))
        try:
            with meter.working():
                async with clock:
                    response = await handler(request)
        except GraphBubbleUp:
            meter.give_back_model_call(place)
            raise
        except TimeoutError:
            if not clock.expired():
                raise
            meter.stop("seconds", self.limits.seconds or 0)
            return _stop(meter, place)
        return _answer(meter, place, request, response)

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Allow a tool call, with a timeout."""
        meter, place = self._meter(request.state), place_in_tree()
        if not meter.take("tool_calls", place, self.limits) or _is_abandoned():
            return _refusal(meter, request)
        seconds = self._seconds_for(request, meter)
        try:
            with meter.working():
                return _in_time(lambda: handler(request), self._own_seconds(request), seconds)
        except Exception as error:
            _uncount_pause(meter, place, error)
            raise

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Allow a tool call, with a timeout."""
        meter, place = self._meter(request.state), place_in_tree()
        if not meter.take("tool_calls", place, self.limits):
            return _refusal(meter, request)
        seconds = self._seconds_for(request, meter)
        clock = asyncio.timeout(seconds)
        try:
            with meter.working():
                async with clock:
                    return await handler(request)
        except TimeoutError as error:
            if not clock.expired():
                raise
            raise _too_long(seconds) from error
        except Exception as error:
            _uncount_pause(meter, place, error)
            raise

    def allow_summary(self) -> bool:
        """Count a model call made by another layer; False if a limit is reached."""
        read = get_config()["configurable"][CONFIG_KEY_READ]
        meter = self._meter({"run_id": read("run_id", False), "usage": read("usage", False)})
        return meter.take("model_calls", place_in_tree(), self.limits)

    def _meter(self, state: Any) -> Meter:
        meter = _meters.of(state.get("run_id") or "")
        meter.learn(state.get("usage"))
        return meter

    def _own_seconds(self, request: ToolCallRequest) -> float | None:
        is_task = request.tool_call["name"] == "task"
        return self.limits.subagent_seconds if is_task else self.limits.tool_seconds

    def _seconds_for(self, request: ToolCallRequest, meter: Meter) -> float | None:
        own, left = self._own_seconds(request), meter.remaining_seconds(self.limits)
        return min((s for s in (own, left) if s is not None), default=None)


# ── results ──


def _answer(
    meter: Meter, place: str, request: ModelRequest[Any], response: ModelResponse[Any]
) -> ExtendedModelResponse[Any]:
    meter.add_tokens(place, sum(_tokens(message, request) for message in response.result))
    usage = meter.usage(place)
    if place == "" and not is_preliminary():
        is_over = not any(getattr(m, "tool_calls", None) for m in response.result)
        at_end(lambda: _meters.forget(meter.run_id), is_over=is_over)
    return ExtendedModelResponse(model_response=response, command=Command(update={"usage": usage}))


def _stop(meter: Meter, place: str) -> ExtendedModelResponse[Any]:
    stop = meter.stopped or Stop(limit="seconds", max=0)
    text = _sentence(stop, "Stopped", STOPPED)
    return ExtendedModelResponse(
        model_response=ModelResponse(result=[ending(text, "limits")]),
        command=Command(update={"usage": meter.usage(place)}),
    )


def _refusal(meter: Meter, request: ToolCallRequest) -> ToolMessage:
    stop = meter.stopped or Stop(limit="seconds", max=0)
    return ToolMessage(
        _sentence(stop, "Skipped", NOT_RUN),
        tool_call_id=request.tool_call["id"],
        name=request.tool_call["name"],
        status="error",
    )


def _sentence(stop: Stop, outcome: str, template: str) -> str:
    if "sentence" in stop:
        return f"{outcome}: {stop['sentence'][0].lower()}{stop['sentence'][1:]}."
    return template.format(max=stop["max"], what=LIMIT_NAMES[stop["limit"]])


def _uncount_pause(meter: Meter, place: str, error: Exception) -> None:
    """Undo the count of a call that paused; it counts when it runs."""
    if isinstance(error, GraphBubbleUp) or is_invalid_resume(error):
        meter.give_back_tool_call(place)


def _tokens(message: BaseMessage, request: ModelRequest[Any]) -> int:
    reported = getattr(message, "usage_metadata", None)
    if reported:
        return int(reported["total_tokens"])
    return count_tokens_approximately([*request.messages, message])


def _too_long(seconds: float | None) -> TimeoutError:
    return TimeoutError(TOO_LONG.format(seconds=seconds or 0))


# ── timeouts without async ──


def _is_abandoned() -> bool:
    abandoned = _abandoned.get()
    return abandoned is not None and abandoned.is_set()


def _in_time(call: Callable[[], T], own: float | None, seconds: float | None) -> T:
    """Run a call in a thread that can be abandoned; directly if it has no timeout."""
    if own is None or seconds is None:
        return call()
    abandoned = threading.Event()
    outcome: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def work() -> None:
        _abandoned.set(abandoned)
        try:
            outcome.put((call(), None))
        except BaseException as error:  # noqa: BLE001  # re-raised in the waiting thread
            outcome.put((None, error))

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), daemon=True).start()
    try:
        result, error = outcome.get(timeout=seconds)
    except queue.Empty:
        abandoned.set()
        raise _too_long(seconds) from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # set if there is no error
