"""Schemas of the models' answers. Lengths are bounded, because small models may not stop."""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, create_model

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]


class Form(BaseModel):
    """Base class of answers; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


class StepForm(Form):
    """One call of the plan."""

    tool: str
    input: Text
    rationale: Annotated[str, StringConstraints(max_length=600)] = ""
    after: list[Annotated[int, Field(ge=1, le=20)]] = Field(default=[], max_length=8)


class PlanForm(Form):
    """A plan to answer the question."""

    objective: Text
    steps: list[StepForm] = Field(min_length=1, max_length=20)
    estimated_token_budget: Annotated[int, Field(ge=0, le=9_999_999)] = 0


@cache
def plan_form(tools: tuple[str, ...]) -> type[PlanForm]:
    """The plan form restricted to these tools."""
    tool: Any = Literal[tools]
    step = create_model("StepForm", __base__=StepForm, __doc__=StepForm.__doc__, tool=(tool, ...))
    steps: Any = (list[step], Field(min_length=1, max_length=20))  # type: ignore[valid-type]
    return create_model("PlanForm", __base__=PlanForm, __doc__=PlanForm.__doc__, steps=steps)


class JudgementForm(Form):
    """The answer to one question of the policy."""

    rule: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
    allowed: bool
    reason: Annotated[str, StringConstraints(max_length=600)] = ""
    suggestion: Annotated[str, StringConstraints(max_length=600)] = ""


MAX_JUDGEMENTS = 12
"""How many questions the auditor is asked at a time."""


class AuditForm(Form):
    """The answers to the questions that no rule decides."""

    judgements: list[JudgementForm] = Field(default=[], max_length=MAX_JUDGEMENTS)


class RequestForm(Form):
    """A call that may be missing."""

    tool: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=60)]
    input: Text
    rationale: Annotated[str, StringConstraints(max_length=600)] = ""


class MoreForm(Form):
    """Calls that are still needed; none if the sources suffice."""

    requests: list[RequestForm] = Field(default=[], max_length=4)


class QuoteForm(Form):
    """Words of a source."""

    source: Annotated[str, StringConstraints(strip_whitespace=True, max_length=40)]
    quote: Annotated[str, StringConstraints(max_length=2_000)]


class ClaimForm(Form):
    """A statement with its evidence."""

    text: Text
    quotes: list[QuoteForm] = Field(default=[], max_length=6)


class ContradictionForm(Form):
    """Sources that disagree."""

    about: Text
    sides: list[QuoteForm] = Field(default=[], max_length=6)


class ReportForm(Form):
    """The findings."""

    claims: list[ClaimForm] = Field(default=[], max_length=40)
    contradictions: list[ContradictionForm] = Field(default=[], max_length=12)


class RepairForm(Form):
    """Quotes in place of those that are not in their sources."""

    quotes: list[QuoteForm] = Field(default=[], max_length=3)


class RouteForm(Form):
    """Which kind of follow-up a message is."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["answer", "extend", "new"]
    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=300)] = ""


class FollowUpForm(Form):
    """The answer to a follow-up, from the sources already read."""

    claims: list[ClaimForm] = Field(default=[], max_length=20)


MAX_CLAIMS_JUDGED = 12
"""How many claims the judge is asked about at a time."""


class FollowsForm(Form):
    """Whether one claim follows from its quotes."""

    claim: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=12)]
    follows: StrictBool
    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=600)] = ""


class JudgeForm(Form):
    """Whether each claim follows from its quotes."""

    judgements: list[FollowsForm] = Field(default=[], max_length=MAX_CLAIMS_JUDGED)


FORMS: dict[str, type[Form]] = {
    "thinker": PlanForm,
    "auditor": AuditForm,
    "tool_executor": MoreForm,
    "synthesizer": ReportForm,
    "repair": RepairForm,
    "router": RouteForm,
    "answerer": FollowUpForm,
    "judge": JudgeForm,
}
"""Prompt section → form of its answer."""
