"""Whether an agent goes in circles: calls of this turn that brought nothing new.

A step is stale if each of its calls was made before with the same result, or is a plan that is no
further than the last one. Calls that a person or flow control refused are not looked at: they did
not run, and text that an agent has read must not be able to end a run by asking for many of them;
the limits end it. Only recent messages are looked at, so that a long turn costs no more
than a short one, and a file that is read again much later is not a circle.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

WINDOW = 40
"""How many of the last messages are looked at."""
MAX_FAILING = 8
"""How many steps in a row may fail."""
PLAN_TOOL = "write_todos"
REFUSALS = ("User rejected the tool call", "The person rejected", "Not executed: the person")
"""How the results of calls begin that were not run."""
_WEIGHTS = {"in_progress": 1, "completed": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """A call, and what it brought."""

    name: str
    args: Mapping[str, Any]
    result: str
    is_failed: bool = False

    def is_call(self, name: str, args: Mapping[str, Any]) -> bool:
        """Whether it is the same call."""
        return self.name == name and self.args == args


Step = tuple[Made, ...]


def steps_of(messages: Sequence[AnyMessage]) -> list[Step]:
    """The finished steps of this turn among the last messages."""
    steps, results = list[Step](), dict[str, ToolMessage]()
    for message in reversed(messages[-WINDOW:]):
        # By the exact class first: `isinstance` is slow for a message that is of another.
        if type(message) is ToolMessage:
            results[message.tool_call_id] = message
        elif type(message) is not AIMessage and isinstance(message, HumanMessage):
            break
        elif isinstance(message, AIMessage):
            made = (_made(call, results.get(str(call["id"]))) for call in message.tool_calls)
            steps.append(tuple(each for each in made if each is not None))
    return [step for step in reversed(steps) if step]


def has_news(messages: Sequence[AnyMessage]) -> bool:
    """Whether the last step made a call that is new and did not fail; cheaper than its steps."""
    last: list[Mapping[str, Any]] | None = None
    for message in reversed(messages[-WINDOW:]):
        kind = type(message)
        if kind is ToolMessage:
            if last is None and message.status == "error":  # type: ignore[union-attr]
                return False
        elif kind is not AIMessage:
            break
        elif last is None:
            last = [c for c in message.tool_calls if c["name"] != PLAN_TOOL]  # type: ignore[union-attr]
        else:
            made = message.tool_calls  # type: ignore[union-attr]
            last = [c for c in last if not any(_is_same(c, one) for one in made)]
    return bool(last)


def _is_same(call: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return bool(call["name"] == other["name"] and call["args"] == other["args"])


def _made(call: Mapping[str, Any], result: ToolMessage | None) -> Made | None:
    if result is None:
        return None
    text = result.content if isinstance(result.content, str) else json.dumps(result.content)
    failed = result.status == "error"
    if failed and text.startswith(REFUSALS):
        return None
    return Made(name=call["name"], args=call["args"], result=text, is_failed=failed)


def stale_steps(steps: Sequence[Step]) -> int:
    """How many steps at the end brought nothing new."""
    count = 0
    while count < len(steps) and _is_stale(steps, len(steps) - 1 - count):
        count += 1
    return count


def failing_steps(steps: Sequence[Step]) -> int:
    """How many steps at the end failed."""
    count = 0
    while count < len(steps) and all(made.is_failed for made in steps[-1 - count]):
        count += 1
    return count


def is_circle(steps: Sequence[Step], calls: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a model asks again for what brought nothing new twice."""
    if not calls or not stale_steps(steps):
        return False
    return all(_is_spent(steps, call["name"], call["args"]) for call in calls)


def _is_stale(steps: Sequence[Step], at: int) -> bool:
    before = [made for step in steps[:at] for made in step]
    return bool(before) and all(_is_known(made, before) for made in steps[at])


def _is_known(made: Made, before: Sequence[Made]) -> bool:
    if _is_plan(made) and _is_plan(before[-1]):
        return weight(made.args) <= weight(before[-1].args)
    return any(made.is_call(one.name, one.args) and made.result == one.result for one in before)


def _is_spent(steps: Sequence[Step], name: str, args: Mapping[str, Any]) -> bool:
    last = steps[-1][-1]
    if name == PLAN_TOOL and _is_plan(last):
        return weight(args) <= weight(last.args)
    same = [made for step in steps for made in step if made.is_call(name, args)]
    return len(same) > 1 and same[-1].result == same[-2].result


def _is_plan(made: Made) -> bool:
    return made.name == PLAN_TOOL and not made.is_failed


def weight(args: Mapping[str, Any]) -> int:
    """How far a plan is."""
    todos = args.get("todos")
    rows = [row for row in todos if isinstance(row, Mapping)] if isinstance(todos, list) else []
    return sum(_WEIGHTS.get(str(row.get("status")), 0) for row in rows)
