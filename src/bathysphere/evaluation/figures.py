"""Figures of cases and of whole logs, for tables and reports."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bathysphere.evaluation.play import CaseResult
from bathysphere.models.prices import Price

SCORE = "state"
FAILED = "failed"
FIGURES = "figures"


def figures_of(result: CaseResult, price: Price | None) -> dict[str, Any]:
    """What a case used, as the log has it. `metered_tokens` is what our own meter counted."""
    usage = result.usage
    cost = price.cost(result.input_tokens, result.output_tokens) if price else None
    return {
        "model_calls": result.model_calls,
        "tool_calls": len(result.calls),
        "questions": len(result.asked),
        "input_tokens": result.input_tokens,
        "output_tokens": result.output_tokens,
        "metered_tokens": usage.tokens,
        "corrections": dict(usage.corrections),
        "cost": cost,
        "currency": price.currency if price else None,
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseFigures:
    """One run of a case, as the log has it."""

    name: str
    epoch: int
    passed: bool
    failed: Sequence[str]
    seconds: float
    model_calls: int
    input_tokens: int
    output_tokens: int
    corrections: Mapping[str, int]
    cost: float | None
    currency: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LogFigures:
    """A suite of a model in a harness, as one log has it."""

    model: str
    harness: str
    suite: str
    version: str
    created: str
    profile: str
    status: str
    facts: Mapping[str, Any]
    cases: Sequence[CaseFigures]

    @property
    def is_ours(self) -> bool:
        """Whether our harness ran it, which counts what it puts right."""
        return self.harness == "bathysphere"

    @property
    def passed(self) -> int:
        """How many runs passed."""
        return sum(case.passed for case in self.cases)

    @property
    def share(self) -> float:
        """The share of runs that passed."""
        return self.passed / len(self.cases) if self.cases else 0.0

    @property
    def input_tokens(self) -> int:
        """Tokens that the model read."""
        return sum(case.input_tokens for case in self.cases)

    @property
    def output_tokens(self) -> int:
        """Tokens that the model wrote."""
        return sum(case.output_tokens for case in self.cases)

    @property
    def model_calls(self) -> int:
        """Calls of the model."""
        return sum(case.model_calls for case in self.cases)

    @property
    def seconds(self) -> float:
        """How long the cases took, one after the other."""
        return sum(case.seconds for case in self.cases)

    @property
    def corrections(self) -> Counter[str]:
        """What the harness put right."""
        found: Counter[str] = Counter()
        for case in self.cases:
            found.update(case.corrections)
        return found

    @property
    def cost(self) -> str:
        """The cost with its currency; empty if a price is not known."""
        known = [case.cost for case in self.cases if case.cost is not None]
        if not known or len(known) < len(self.cases):
            return ""
        return f"{sum(known):.4f} {self.cases[0].currency}"

    @property
    def label(self) -> str:
        """The model, harness and version, as a report names them."""
        own = f"{self.version}, {self.profile}" if self.profile else self.version
        return f"{self.model} in {self.harness} ({own})"


def newest(logs: Iterable[LogFigures]) -> list[LogFigures]:
    """The newest log of each model, harness, version, profile and suite, in their order."""
    found: dict[tuple[str, ...], LogFigures] = {}
    for log in sorted(logs, key=lambda one: one.created):
        found[log.suite, log.model, log.harness, log.version, log.profile] = log
    return [found[key] for key in sorted(found)]
