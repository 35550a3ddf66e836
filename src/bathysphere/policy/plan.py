"""A research plan: what will be asked, with which tools, where, how often, in which order.

A plan is data. Its hash is what a person approves; the tool layer holds every call against it.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from bathysphere.core.canonical import digest
from bathysphere.policy.domains import clean_pattern

WEB_SEARCH = "web_search"
FETCH_PAGE = "fetch_page"
SEARCH_CORPUS = "search_corpus"
READ_CONTEXT = "read_context"

NETWORK = frozenset({WEB_SEARCH, FETCH_PAGE})
"""The tools whose calls leave this machine."""

StepId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class _Data(BaseModel):
    """Read in either spelling (`depends_on`, `dependsOn`), kept in one."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class Step(_Data):
    """One step: a tool, its input, and what else it may do.

    Attributes:
        id: Names the step within the plan.
        tool: The tool it calls.
        input: What the tool is given: the query, or the address; no other text may be sent.
        rationale: Why, for the person who approves.
        domains: Where pages that a search found may be opened; `*` is every public site.
        calls: How often the tool may be called with this input (retries).
        pages: How many found pages may be opened in this step.
        depends_on: The steps that must be done before.
    """

    id: StepId
    tool: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    input: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2_000)]
    rationale: str = Field(default="", max_length=2_000)
    domains: tuple[str, ...] = Field(default=(), max_length=50)
    calls: int = Field(default=1, ge=1, le=100)
    pages: int = Field(default=0, ge=0, le=100)
    depends_on: tuple[StepId, ...] = Field(default=(), max_length=50)

    @field_validator("domains")
    @classmethod
    def _clean_domains(cls, domains: tuple[str, ...]) -> tuple[str, ...]:
        cleaned = []
        for domain in domains:
            pattern = clean_pattern(domain)
            if pattern is None:
                raise ValueError(f"{domain!r} is no host name")
            cleaned.append(pattern)
        return tuple(dict.fromkeys(cleaned))

    @property
    def requests(self) -> int:
        """How many requests may leave this machine for it."""
        return (self.calls if self.tool in NETWORK else 0) + self.pages


class Plan(_Data):
    """A whole plan. Steps without open dependencies may run at the same time."""

    objective: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)
    ]
    steps: tuple[Step, ...] = Field(min_length=1, max_length=100)
    estimated_token_budget: int = Field(default=0, ge=0, le=10**9)
    revision: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        names = [step.id for step in self.steps]
        if len(set(names)) != len(names):
            raise ValueError("two steps have the same id")
        for step in self.steps:
            if unknown := sorted(set(step.depends_on) - set(names)):
                raise ValueError(f"step {step.id} depends on {unknown}, which are no steps")
        if sum(map(len, waves(self.steps))) != len(self.steps):
            raise ValueError("steps depend on one another in a circle")
        return self

    @property
    def sha256(self) -> str:
        """The plan's hash: of its canonical JSON, every field of it."""
        return digest(self.plain())

    @property
    def requests(self) -> int:
        """How many requests it may make in all."""
        return sum(step.requests for step in self.steps)

    def plain(self) -> dict[str, Any]:
        """The plan as JSON data, as it is hashed and kept."""
        return self.model_dump(mode="json")

    def step(self, step_id: str) -> Step | None:
        """The step of an id."""
        return next((step for step in self.steps if step.id == step_id), None)


def waves(steps: Iterable[Step]) -> list[list[Step]]:
    """The steps in groups that may each run at once; steps in a circle are left out."""
    waiting = list(steps)
    done: set[str] = set()
    result = []
    while ready := [step for step in waiting if set(step.depends_on) <= done]:
        result.append(ready)
        done |= {step.id for step in ready}
        waiting = [step for step in waiting if step.id not in done]
    return result
