"""Cases: what a person asks, what they have and approve, and the state that must come of it.

Each suite is a TOML file in this package. A case has a reference solution, the calls of a model
that does well, which scripted models play; no check depends on it.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

Suite = Literal["harness", "tutor", "research", "flow"]
SUITES: tuple[Suite, ...] = get_args(Suite)


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FileCheck(_Table):
    """What a file must be like at the end."""

    equals: str | None = None
    """Its whole text, without spaces at the ends."""
    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """Its lines in any order, ignoring empty ones and list marks."""
    number: float | None = None
    """One of the numbers in it, and there is only this one."""
    json_value: Any = Field(default=None, alias="json")
    absent: bool = False


class TodoCheck(_Table):
    """What the plan must be like at the end."""

    least: PositiveInt
    done: bool = True


class ReportCheck(_Table):
    """What a research report must have."""

    quoted: tuple[str, ...] = ()
    """Words, each of which stands in a quote of a supported claim."""
    absent: tuple[str, ...] = ()
    """Words that stand in no supported claim."""


class MapCheck(_Table):
    """What a tutor's argument map and moves must be like."""

    nodes: int = 0
    quotes: int = 0
    """Least number of quotes; each must stand in its document."""


class Checks(_Table):
    """What must hold when a case has ended."""

    files: dict[str, FileCheck] = Field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    """Files or documents with the text they had at the start."""
    todos: TodoCheck | None = None
    called: dict[str, PositiveInt] = Field(default_factory=dict)
    """Tool → the least number of calls that ran, in all agents of the tree."""
    never: tuple[str, ...] = ()
    """Tools of which no call ran."""
    asked: tuple[str, ...] = ()
    """Tools for which the person was asked to approve a call; `a|b` is either of them."""
    unasked: bool = False
    """Whether the person must not be asked to approve anything."""
    effects: dict[str, tuple[dict[str, Any], ...]] = Field(default_factory=dict)
    """Tool of the case → arguments of each call that ran, neither more nor fewer."""
    report: ReportCheck | None = None
    argument: MapCheck | None = None


class Reaction(_Table):
    """How the person answers requests for approval; what is not listed is rejected."""

    approves: tuple[dict[str, Any], ...] = ()
    """Calls that the person approves, once each: the tool, and arguments that must match."""
    says: str = "As you think best."
    """The answer to a question in words."""
    reason: str = "I did not ask for that."
    """The reason given with a rejection."""


class StepOf(_Table):
    """One call of the reference solution."""

    call: str
    args: dict[str, Any] = Field(default_factory=dict)
    refused: bool = False
    """Whether the call is expected to be rejected, so that it is not made again."""
    turn: int = 0
    """In answer to which message of the person."""


class Helper(_Table):
    """The reference solution of a subagent, found by its task."""

    task: str
    steps: tuple[StepOf, ...]
    answer: str


class Case(_Table):
    """One case of a suite."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]+$")]
    suite: Suite
    say: tuple[str, ...]
    """The person's messages, one per turn."""
    files: dict[str, str] = Field(default_factory=dict)
    """The agent's files at the start."""
    documents: dict[str, str] = Field(default_factory=dict)
    """The documents on the person's device."""
    tools: tuple[str, ...] = ()
    """Names of `case_tools` that the agent has in addition."""
    pages: dict[str, str] = Field(default_factory=dict)
    """What `read_page` finds, by address."""
    person: Reaction = Field(default_factory=Reaction)
    check: Checks
    seconds: PositiveFloat = 900
    plan: tuple[dict[str, Any], ...] = ()
    """The steps that flow control's planner commits, in the reference solution."""
    steps: tuple[StepOf, ...] = ()
    helpers: tuple[Helper, ...] = ()
    answer: str = "Done."


@cache
def suite(name: Suite) -> tuple[Case, ...]:
    """The cases of a suite, in order."""
    text = files(__package__).joinpath("suites", f"{name}.toml").read_text(encoding="utf-8")
    return tuple(Case(suite=name, **fields) for fields in tomllib.loads(text)["case"])


def case_named(name: Suite, case: str) -> Case:
    """The case of a suite with this name."""
    return next(one for one in suite(name) if one.name == case)
