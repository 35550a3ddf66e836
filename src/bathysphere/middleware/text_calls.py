"""Text calls: a tool call that a model wrote into its text becomes an ordinary call.

Models without a chat template for tools write calls as JSON or in tags of their own. Where the
message has no native call, `models.text_calls` reads it. A call of a tool that the agent has, with
arguments that fit, takes the place of the text before any other layer sees it: flow control,
approvals and limits treat it like a native one. Otherwise the model is asked once more, with the
reason; if that does not help, the person reads a note of what was not run. Readers of the stream
hold back text that may be a call (`models.held_text`).

Order: inside Flow, which judges calls, and outside Limits, since a second call of the model counts.
State: `usage`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, ToolCall

from bathysphere.core.ids import new_id
from bathysphere.core.usage import Correction, is_preliminary
from bathysphere.models.corrections import (
    CorrectionsMiddleware,
    Outcome,
    Work,
    answer_of,
    asking_again,
    in_place_of,
)
from bathysphere.models.endings import ending
from bathysphere.models.held_text import marked
from bathysphere.models.text_calls import TextCall, read_calls
from bathysphere.models.tool_names import tool_name
from bathysphere.models.tool_schemas import misfit

# ── text for the model ──

UNKNOWN = "There is no tool `{name}`. Call one of: {names}. If it was no call, repeat your answer."
UNFIT = "That call of `{name}` does not fit: {why}. Call it again, corrected, with nothing else."
QUOTED = "If you meant to call `{name}`, write the call alone, without other text."
BROKEN = "That call of `{name}` is not valid JSON, or was cut off. Call it again; if long, shorter."

# ── text for the person ──

NOT_RUN = (
    "The model tried to call `{name}`, but the call could not be used: {why}. Nothing was run."
)
NOTE = "Note: the model wrote this as a call of a tool, `{name}`. Nothing was run."


class TextCallsMiddleware(CorrectionsMiddleware):
    """Turns calls that the model wrote as text into ordinary ones."""

    def work(self, request: ModelRequest[Any]) -> Work:
        """The work of the layer on one model call."""
        return _work(request)


def _work(request: ModelRequest[Any]) -> Work:
    response = yield request.override(model=marked(request.model)) if request.tools else request
    found = _read(response, request.tools)
    if found is None:
        return Outcome(response=response)
    if not found.why:
        return _called(response, found, "text_call")
    if is_preliminary():
        return Outcome(response=response)
    second = yield asking_again(request, found.answer.text, found.hint)
    again = _read(second, request.tools)
    if again is None:
        return _answered(second, found)
    if not again.why:
        return _called(second, replace(again, answer=found.answer), "repaired_call")
    return _noted(second, replace(again, answer=found.answer))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Found:
    """The calls in an answer; `why` they cannot be used, and a hint for the model."""

    answer: AIMessage
    calls: tuple[TextCall, ...]
    name: str
    why: str = ""
    hint: str = ""
    is_known: bool = True
    text: str = ""


def _read(response: ModelResponse[Any], tools: Sequence[Any]) -> _Found | None:
    """Read the calls of an answer that has no native ones."""
    answer = answer_of(response)
    if answer is None or answer.tool_calls or not tools:
        return None
    if answer.invalid_tool_calls:
        name = answer.invalid_tool_calls[0].get("name") or "?"
        hint = BROKEN.format(name=name)
        return _Found(answer=answer, calls=(), name=name, why="it is not valid JSON", hint=hint)
    known = {tool_name(tool): tool for tool in tools}
    reading = read_calls(answer.text, known.keys())
    if reading is None:
        return None
    found = _Found(answer=answer, calls=reading.calls, name=reading.calls[0].name, text=answer.text)
    for call in reading.calls:
        if call.name not in known:
            hint = UNKNOWN.format(name=call.name, names=", ".join(known))
            why = "there is no such tool"
            return replace(found, name=call.name, why=why, hint=hint, is_known=False)
        if why := misfit(known[call.name], call.args):
            hint = UNFIT.format(name=call.name, why=why)
            return replace(found, name=call.name, why=why, hint=hint)
    if not reading.is_alone:
        why, hint = "it stood among other text", QUOTED.format(name=found.name)
        return replace(found, why=why, hint=hint, is_known=False)
    return found


def _called(response: ModelResponse[Any], found: _Found, kind: Correction) -> Outcome:
    """The response with ordinary calls in place of the text."""
    made = [
        ToolCall(name=call.name, args=call.args, id=new_id("call"), type="tool_call")
        for call in found.calls
    ]
    update = {"id": found.answer.id, "content": "", "tool_calls": made, "invalid_tool_calls": []}
    message = _message(response).model_copy(update=update)
    return Outcome(
        response=replace(response, result=[message]), corrections=[kind], about=found.name
    )


def _answered(response: ModelResponse[Any], first: _Found) -> Outcome:
    """The second answer, which has native calls or is ordinary text, in place of the first."""
    message = in_place_of(first.answer, _message(response))
    return Outcome(
        response=replace(response, result=[message]),
        corrections=["repaired_call"],
        about=first.name,
    )


def _noted(response: ModelResponse[Any], found: _Found) -> Outcome:
    """What was not run, in words; text that may be an answer after all is kept below."""
    note = (
        NOT_RUN.format(name=found.name, why=found.why)
        if found.is_known
        else f"{NOTE.format(name=found.name)}\n\n{found.text}"
    )
    message = in_place_of(found.answer, ending(note, "text_calls"))
    message.usage_metadata = _message(response).usage_metadata
    return Outcome(
        response=replace(response, result=[message]),
        corrections=["unusable_call"],
        about=found.name,
    )


def _message(response: ModelResponse[Any]) -> AIMessage:
    message = response.result[-1]
    return message if isinstance(message, AIMessage) else AIMessage("")
