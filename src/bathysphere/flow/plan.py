"""Plans: the calls that follow from the person's words, settled before anything else is read."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from bathysphere.flow.values import JSON, canonical, is_empty

LINK = "link"
"""The field of a reference to a link in what a step read."""
MAX_STEPS = 50
MAX_TEXT = 20_000


@dataclass(frozen=True)
class Step:
    """A call that the person asked for.

    Attributes:
        id: The id of the step within the plan.
        tool: The tool it calls.
        arguments: Argument → its value, as far as the person's words say it.
        references: Argument → `<step id>.<field>` of the record that a look-up finds, or
            `<step id>.link` for a link that stands in what a step read.
        many: Whether the person asked for it more than once ("each", "all").
    """

    id: str
    tool: str
    arguments: Mapping[str, JSON] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    many: bool = False

    def matches(self, tool: str, arguments: Mapping[str, JSON]) -> bool:
        """Whether a call is of this step's tool, with every literal of the step."""
        return self.tool == tool and not self.differences(arguments)

    def differences(self, arguments: Mapping[str, JSON]) -> list[str]:
        """The arguments whose literal is not the call's value."""
        return [
            name
            for name, literal in self.arguments.items()
            if name not in self.references and not _equal(literal, arguments.get(name))
        ]

    def reference(self, argument: str) -> tuple[str, str] | None:
        """The step and the field that an argument refers to."""
        step, dot, name = self.references.get(argument, "").partition(".")
        return (step, name) if dot and step and name else None

    def text(self) -> str:
        """The step as JSON text, as it is kept."""
        data = {"id": self.id, "tool": self.tool, "arguments": dict(self.arguments)}
        more = {"references": dict(self.references), "many": self.many}
        return json.dumps({**data, **more}, sort_keys=True, default=str)


def read_steps(data: Any) -> list[Step]:
    """The steps in what a planner wrote; what cannot be used is left out.

    Two steps of one id are left out, too: a reference would not say which is meant.
    """
    given = data if isinstance(data, list) else []
    steps = [step for item in given[:MAX_STEPS] if (step := _step(item)) is not None]
    ids = [step.id for step in steps]
    return [step for step in steps if ids.count(step.id) == 1]


def steps_text(steps: Iterable[Step]) -> str:
    """A plan as JSON text, as it is kept."""
    return json.dumps([step.text() for step in steps])


def steps_from_text(text: str) -> list[Step]:
    """A plan from its JSON text."""
    return list(_steps_from_text(text))


@lru_cache(maxsize=64)  # every call of a run is judged by the same plan
def _steps_from_text(text: str) -> tuple[Step, ...]:
    return tuple(read_steps([json.loads(step) for step in json.loads(text)]))


def _step(item: Any) -> Step | None:
    if not isinstance(item, Mapping):
        return None
    step_id, tool = item.get("id"), item.get("tool")
    if not (isinstance(step_id, str | int) and isinstance(tool, str)):
        return None
    name = str(step_id)
    if not name or not tool or "." in name:
        return None
    arguments, references = item.get("arguments") or {}, item.get("references") or {}
    if not isinstance(arguments, Mapping) or not isinstance(references, Mapping):
        return None
    step = Step(
        id=name,
        tool=tool,
        arguments={str(key): value for key, value in arguments.items()},
        references={str(key): str(value) for key, value in references.items()},
        many=item.get("many") is True,
    )
    return step if len(step.text()) <= MAX_TEXT else None


def _equal(literal: JSON, value: JSON) -> bool:
    return (is_empty(literal) and is_empty(value)) or canonical(literal) == canonical(value)
