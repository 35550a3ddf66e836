"""Loops: a model that goes in circles, says nothing or changes the language is put right or ended.

- The same call with the same result: the model is told in the second result; asked for a third
  time, the run ends with an answer that says what was tried. So do calls in alternation, plans that
  do not advance, and calls that fail again and again.
- An empty answer: the model is asked once more; then the person is told.
- An answer in another language than the person's, or one that only announces the next step: the
  model is asked once more; then the answer has a note.

All of it is told from the messages in state, so a run that continues elsewhere decides the same.

Order: directly outside Text calls, so that calls in text are seen as calls. State: `usage`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from bathysphere.core.usage import Correction, is_preliminary
from bathysphere.models.announcements import is_announcement
from bathysphere.models.corrections import (
    CorrectionsMiddleware,
    Outcome,
    Work,
    answer_of,
    asking_again,
    in_place_of,
    place_in_tree,
)
from bathysphere.models.endings import ending
from bathysphere.models.history import human_messages
from bathysphere.models.json_text import without_thoughts
from bathysphere.models.languages import is_other_language
from bathysphere.models.repetition import (
    MAX_FAILING,
    PLAN_TOOL,
    Step,
    failing_steps,
    has_news,
    is_circle,
    stale_steps,
    steps_of,
)

# ── text for the model ──

SEEN = "[You made this call before, with the same result. Do something else, or answer.]"
SAME_PLAN = "[The plan is no further than before. Do the next step, or answer.]"
EMPTY = "Your answer was empty. Answer, or call a tool."
ANNOUNCED = "You made no call. Do what you announced, or give your answer."
LANGUAGE = "Answer in the language of the person's last message, unless they asked for another."

# ── text for the person ──

CIRCLE = "Stopped: the model made the same calls again without a new result. {tried}"
NO_PROGRESS = "Stopped: the model wrote its plan again and again without doing a step. {tried}"
FAILING = "Stopped: {count} steps in a row failed. {tried} Last error: {error}"
NO_ANSWER = "The model gave no answer, even when asked again. {tried}"
OTHER_LANGUAGE = "Note: the model did not answer in your language."
STOPPED_SHORT = "Note: the model announced this and stopped. Nothing was done after it."
TRIED = "Tried: {calls}."
NOTHING = "Nothing was done."
AGAIN: Mapping[Correction, str] = {
    "empty_answer": EMPTY,
    "wrong_language": LANGUAGE,
    "premature_end": ANNOUNCED,
}
NOTES: Mapping[Correction, str] = {
    "wrong_language": OTHER_LANGUAGE,
    "premature_end": STOPPED_SHORT,
}
MAX_TRIED, MAX_ARGS, MAX_ERROR = 5, 80, 200


class LoopsMiddleware(CorrectionsMiddleware):
    """Ends loops, and asks again after an empty answer or one in the wrong language."""

    def is_concerned(self, request: ModelRequest[Any]) -> bool:
        """Not if a layer asks for something of its own, such as a plan, and not for a turn."""
        return bool(request.tools) and not is_preliminary()

    def work(self, request: ModelRequest[Any]) -> Work:
        """The work of the layer on one model call."""
        return _work(request)


def _work(request: ModelRequest[Any]) -> Work:
    messages = request.state["messages"]
    steps = [] if has_news(messages) else steps_of(messages)
    told: list[Correction] = []
    if stale_steps(steps):
        told.append(_kind(steps))
        request = _with_notice(request, SAME_PLAN if told == ["stuck_plan"] else SEEN)
    response = yield request
    answer = answer_of(response)
    if answer is None:
        return Outcome(response=response, corrections=told)
    if answer.tool_calls:
        return _continued(response, answer, steps, told)
    kind = _wrong(request, answer)
    if kind is None:
        return Outcome(response=response, corrections=told)
    second = yield asking_again(request, answer.text, AGAIN[kind])
    return _second(request, second, answer, [*told, kind])


def _continued(
    response: ModelResponse[Any], answer: AIMessage, steps: list[Step], told: list[Correction]
) -> Outcome:
    """The response; or the end of the run, if its calls go in a circle."""
    about = answer.tool_calls[0]["name"]
    if is_circle(steps, answer.tool_calls):
        is_plan = _kind(steps) == "stuck_plan"
        text = (NO_PROGRESS if is_plan else CIRCLE).format(tried=_tried(steps, least=2))
        return _ended(response, answer, text, [_kind(steps)], about)
    failing = failing_steps(steps)
    if failing >= MAX_FAILING:
        error = " ".join(steps[-1][-1].result.split())[:MAX_ERROR]
        text = FAILING.format(count=failing, tried=_tried(steps), error=error)
        return _ended(response, answer, text, [*told, "failing_calls"], about)
    return Outcome(response=response, corrections=told, about=steps[-1][-1].name if told else "")


def _second(
    request: ModelRequest[Any],
    response: ModelResponse[Any],
    first: AIMessage,
    kinds: list[Correction],
) -> Outcome:
    """The second answer in place of the first, with a note if it is no better."""
    steps = steps_of(request.state["messages"])
    answer = answer_of(response)
    if answer is None:
        return Outcome(response=response, corrections=kinds)
    if answer.tool_calls and is_circle(steps, answer.tool_calls):
        return _ended(response, first, CIRCLE.format(tried=_tried(steps, least=2)), kinds, "")
    still = None if answer.tool_calls else _wrong(request, answer)
    if still == "empty_answer":
        return _ended(response, first, NO_ANSWER.format(tried=_tried(steps)), kinds, "")
    message = in_place_of(first, answer)
    if still is not None:
        message.content = f"{NOTES[still]}\n\n{answer.text}"
    return Outcome(response=replace(response, result=[message]), corrections=kinds)


def _ended(
    response: ModelResponse[Any],
    answer: AIMessage,
    text: str,
    kinds: Sequence[Correction],
    about: str,
) -> Outcome:
    message = in_place_of(answer, ending(text, "loops"))
    message.usage_metadata = answer.usage_metadata
    return Outcome(response=replace(response, result=[message]), corrections=kinds, about=about)


# ── what is wrong ──


def _kind(steps: Sequence[Step]) -> Correction:
    return "stuck_plan" if steps[-1][-1].name == PLAN_TOOL else "repeated_call"


def _wrong(request: ModelRequest[Any], answer: AIMessage) -> Correction | None:
    """What is wrong with an answer, if anything."""
    if _is_empty(answer):
        return "empty_answer"
    if is_announcement(answer.text):
        return "premature_end"
    if place_in_tree():
        return None  # a subagent answers a model
    said = human_messages(request.state["messages"])
    asked = said[-1][1].text if said else ""
    return "wrong_language" if is_other_language(answer.text, asked) else None


def _is_empty(answer: AIMessage) -> bool:
    if without_thoughts(answer.text).strip():
        return False
    blocks = answer.content if isinstance(answer.content, list) else []
    silent = ("text", "reasoning", "thinking", "redacted_thinking")
    return all(isinstance(block, str) or block.get("type") in silent for block in blocks)


# ── words ──


def _with_notice(request: ModelRequest[Any], notice: str) -> ModelRequest[Any]:
    """The request with a notice after the last result; it is not stored."""
    *earlier, last = request.messages
    if not isinstance(last, ToolMessage):
        return request
    content: Any = (
        f"{last.content}\n\n{notice}"
        if isinstance(last.content, str)
        else [*last.content, {"type": "text", "text": notice}]
    )
    messages: list[AnyMessage] = [*earlier, last.model_copy(update={"content": content})]
    return request.override(messages=messages)


def _tried(steps: Sequence[Step], *, least: int = 1) -> str:
    """The calls of the last steps, each with how often it was made; some only if made often."""
    counts: dict[str, int] = {}
    for made in (made for step in steps for made in step):
        args = json.dumps(dict(made.args), ensure_ascii=False, default=str)
        shown = args if len(args) <= MAX_ARGS else f"{args[: MAX_ARGS - 1]}…"
        call = f"`{made.name}` {shown}"
        counts[call] = counts.get(call, 0) + 1
    if not counts:
        return NOTHING
    often = {call: n for call, n in counts.items() if n >= least} or counts
    rows = [call if n == 1 else f"{call} ({n} times)" for call, n in often.items()]
    return TRIED.format(calls=", ".join(rows[-MAX_TRIED:]))
