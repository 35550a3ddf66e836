"""Research plans: queries, tools, domains, limits and order of steps.

A plan is data. A person approves its hash, and every tool call is checked against it.
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
"""The tools that use the network."""

StepId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


class _Data(BaseModel):
    """Accepts either spelling (`depends_on`, `dependsOn`), stores one."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )


class Step(_Data):
    """One step: a tool, its input, and its limits.

    Attributes:
        id: The id of the step within the plan.
        tool: The tool it calls.
        input: The tool's input: the query or URL; no other text may be sent.
        rationale: The reason, for the person who approves.
        domains: The domains on which found pages may be opened; `*` is every public site.
        calls: How often the tool may be called with this input (retries).
        pages: How many found pages may be opened in this step.
        depends_on: The steps that must finish first.
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
                raise ValueError(f"{domain!r} is not a valid host name")
            cleaned.append(pattern)
        return tuple(dict.fromkeys(cleaned))

    @property
    def requests(self) -> int:
        """The maximum number of network requests of the step."""
        return (self.calls if self.tool in NETWORK else 0) + self.pages


class Plan(_Data):
    """A plan. Steps without unfinished dependencies may run concurrently."""

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
            raise ValueError("Duplicate step id")
        for step in self.steps:
            if unknown := sorted(set(step.depends_on) - set(names)):
                raise ValueError(f"Step {step.id} depends on unknown steps: {unknown}")
        if sum(map(len, waves(self.steps))) != len(self.steps):
            raise ValueError("Circular dependency between steps")
        return self

    @property
    def sha256(self) -> str:
        """The hash of the plan's canonical JSON, with every field."""
        return digest(self.plain())

    @property
    def requests(self) -> int:
        """The maximum number of network requests of the plan."""
        return sum(step.requests for step in self.steps)

    def plain(self) -> dict[str, Any]:
        """Return the plan as JSON data, as it is hashed and stored."""
        return self.model_dump(mode="json")

    def grown(self, steps: Iterable[Step]) -> Self:
        """Return the next revision with more steps, to be audited and approved again."""
        grown = {"steps": [*self.steps, *steps], "revision": self.revision + 1}
        return self.model_validate(self.model_dump() | grown)

    def step(self, step_id: str) -> Step | None:
        """Return the step with an id, or None."""
        return next((step for step in self.steps if step.id == step_id), None)


def waves(steps: Iterable[Step]) -> list[list[Step]]:
    """Group the steps that can run concurrently; steps in a cycle are left out."""
    waiting = list(steps)
    done: set[str] = set()
    result = []
    while ready := [step for step in waiting if set(step.depends_on) <= done]:
        result.append(ready)
        done |= {step.id for step in ready}
        waiting = [step for step in waiting if step.id not in done]
    return result
