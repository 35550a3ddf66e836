"""A model that does well: it plays the reference solution of a case, by what is done already.

A step is done when its call is among the messages with a result that is no error, so that a model
whose turn was spoiled, or whose call failed, makes the call again.
"""

import json
import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from tutor_scripted import careful

from bathysphere.evaluation.cases import Case, StepOf
from bathysphere.models.demo import research as demo
from bathysphere.models.repetition import REFUSALS
from bathysphere.testing import Turn, calls, says

PLANNER = "You settle what an assistant may do"
FORM = re.compile(r'"title":"(\w+)"')
PLAN_TOOL = "write_todos"


class Reference:
    """The rule of a scripted model for one case."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def __call__(self, messages: Sequence[BaseMessage]) -> Turn:
        system = messages[0].text
        if self._case.suite == "research":
            form = FORM.search(system)
            return says(demo.answer(form[1] if form else "", messages[-1].text))
        if self._case.suite == "tutor":
            return careful(messages)
        if system.startswith(PLANNER):
            return calls("commit_plan", steps=list(self._case.plan))
        first = next((m.text for m in messages if isinstance(m, HumanMessage)), "")
        for helper in self._case.helpers:
            if helper.task in first and first not in self._case.say:
                return _next(helper.steps, messages) or says(helper.answer)
        heard = [m.text for m in messages if isinstance(m, HumanMessage)]
        turn = max((n for n, words in enumerate(self._case.say) if words in heard), default=0)
        steps = [step for step in self._case.steps if step.turn <= turn]
        return _next(steps, messages) or says(self._case.answer)


def _next(steps: Sequence[StepOf], messages: Sequence[BaseMessage]) -> Turn | None:
    made = _made(messages)
    open_steps = [step for step in steps if not _is_done(step, made)]
    done = [step for step in steps if step not in open_steps]
    kept = [step for step in done if step.call == PLAN_TOOL]
    written = [args for name, args, ended_well in made if name == PLAN_TOOL and ended_well]
    if kept and written and written[-1] != _text(kept[-1].args):
        return calls(PLAN_TOOL, kept[-1].args)  # another plan took its place
    return calls(open_steps[0].call, open_steps[0].args) if open_steps else None


def _is_done(step: StepOf, made: Sequence[tuple[str, str, bool]]) -> bool:
    return any(
        name == step.call and args == _text(step.args) and (ended_well or step.refused)
        for name, args, ended_well in made
    )


def _made(messages: Sequence[BaseMessage]) -> list[tuple[str, str, bool]]:
    """The calls that have a result: name, arguments, and whether it is no error."""
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    return [
        (call["name"], _text(call["args"]), _ended_well(results[call["id"] or ""]))
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
        if call["id"] in results
    ]


def _ended_well(result: ToolMessage) -> bool:
    """Whether there is no use in making the call again: it worked, or the person refused it."""
    return result.text.startswith(REFUSALS) or (
        result.status != "error" and not result.text.startswith("Error")
    )


def _text(args: object) -> str:
    return json.dumps(args, sort_keys=True)
