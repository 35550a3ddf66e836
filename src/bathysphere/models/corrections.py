"""Corrections of what a model got wrong: asked again, counted in `usage` and seen in traces.

A layer writes its work as a generator that yields requests and gets responses. It is driven with
the layer's handler, so that the sync and the async hook are the same code.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired, TypeAlias

from langchain.agents import AgentState
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
)
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.runtime import get_runtime
from langgraph.types import Command

from bathysphere.core.usage import (
    CORRECTION_EVENT,
    Correction,
    Usage,
    at_end,
    corrected,
    join,
    provisional,
)
from bathysphere.core.writers import ByEngine
from bathysphere.models.endings import ended_by
from bathysphere.models.structured_output import without_stream


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A response, and what was put right in it."""

    response: ModelResponse[Any]
    corrections: Sequence[Correction] = ()
    about: str = ""
    """A few words for the trace, such as the name of the tool; no contents."""


Work: TypeAlias = Generator[ModelRequest[Any], ModelResponse[Any], Outcome]
Result: TypeAlias = ModelResponse[Any] | ExtendedModelResponse[Any]


class CorrectionsState(AgentState[Any]):
    """State of a layer that corrects answers."""

    run_id: NotRequired[ByEngine[str]]
    usage: NotRequired[Annotated[ByEngine[Usage], join]]


class CorrectionsMiddleware(AgentMiddleware[CorrectionsState, Any, Any]):
    """A layer that calls the model and puts its answer right. Base class."""

    state_schema = CorrectionsState

    def work(self, request: ModelRequest[Any]) -> Work:
        """The work of the layer on one model call."""
        raise NotImplementedError

    def is_concerned(self, request: ModelRequest[Any]) -> bool:
        """Whether the layer has anything to do with a model call."""
        del request
        return True

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Result:
        """Call the model, and put its answer right."""
        if not self.is_concerned(request):
            return handler(request)
        return _run(self.work(request), request, handler)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Result:
        """Call the model, and put its answer right."""
        if not self.is_concerned(request):
            return await handler(request)
        return await _arun(self.work(request), request, handler)


def _run(
    work: Work, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]
) -> Result:
    asked, outcome = _ask(work, None)
    while outcome is None:
        with provisional() as ends:
            response = handler(asked)
        asked, outcome = _ask(work, response)
        _end(ends, outcome)
    for data in _events(outcome):
        with suppress(RuntimeError):  # outside a run there is no trace
            dispatch_custom_event(CORRECTION_EVENT, data)
    return _result(outcome, request)


async def _arun(
    work: Work, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
) -> Result:
    asked, outcome = _ask(work, None)
    while outcome is None:
        with provisional() as ends:
            response = await handler(asked)
        asked, outcome = _ask(work, response)
        _end(ends, outcome)
    for data in _events(outcome):
        with suppress(RuntimeError):
            await adispatch_custom_event(CORRECTION_EVENT, data)
    return _result(outcome, request)


def answer_of(response: ModelResponse[Any]) -> AIMessage | None:
    """The message of a response, if it may need a correction."""
    if response.structured_response is not None or len(response.result) != 1:
        return None
    message = response.result[0]
    is_models = isinstance(message, AIMessage) and not ended_by(message)
    return message if is_models else None  # type: ignore[return-value]


def asking_again(request: ModelRequest[Any], said: str, why: str) -> ModelRequest[Any]:
    """The request with an answer and what is wrong with it; the next answer is not streamed."""
    more: list[AnyMessage] = [AIMessage(said)] if said.strip() else []
    return request.override(
        model=without_stream(request.model),
        messages=[*request.messages, *more, HumanMessage(why)],
    )


def in_place_of(message: AIMessage, other: AIMessage) -> AIMessage:
    """Another message under the id of one that clients may have seen already."""
    return other.model_copy(update={"id": message.id})


def place_in_tree() -> str:
    """This agent's position in the tree: the namespace of its parent tool call."""
    info = get_runtime().execution_info
    return info.checkpoint_ns.rpartition("|")[0] if info else ""


def _ask(work: Work, response: Any) -> tuple[Any, Outcome | None]:
    """The next request of the work, or its outcome."""
    try:
        return work.send(response), None
    except StopIteration as done:
        return None, done.value


def _end(ends: Sequence[Callable[[], None]], outcome: Outcome | None) -> None:
    """Do what a model call does at the end of a run, now that its response is known."""
    if outcome is not None:
        has_calls = any(getattr(m, "tool_calls", None) for m in outcome.response.result)
        for action in ends:
            at_end(action, is_over=not has_calls)


def _events(outcome: Outcome) -> list[dict[str, str]]:
    return [{"kind": kind, "about": outcome.about} for kind in outcome.corrections]


def _result(outcome: Outcome, request: ModelRequest[Any]) -> Result:
    if not outcome.corrections:
        return outcome.response
    state: Any = request.state
    usage = corrected(
        state.get("usage"), state.get("run_id") or "", place_in_tree(), outcome.corrections
    )
    return ExtendedModelResponse(
        model_response=outcome.response, command=Command(update={"usage": usage})
    )
