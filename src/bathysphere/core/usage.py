"""Limits and usage of a run, over its whole tree of agents.

`Limits` are part of a spec. `Meter` counts one run in this process: every agent of the tree asks it
before a model or tool call, so a limit of N calls is exact even with concurrent subagents. The
counts are stored in graph state as a plain `Usage` dict, by the agent's place in the tree. Two
usages are merged by taking the larger count of each place, so a subagent that returns its state, a
repeated step and a run that continues in another process are never counted twice.
"""

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict

from bathysphere.core.clock import Clock, SystemClock

LimitName = Literal["model_calls", "tool_calls", "tokens", "seconds", "budget"]
Correction = Literal[
    "text_call",
    "repaired_call",
    "unusable_call",
    "repeated_call",
    "stuck_plan",
    "failing_calls",
    "empty_answer",
    "wrong_language",
    "premature_end",
]
"""What the harness put right, or ended, because a model got it wrong."""
CORRECTION_EVENT = "bathysphere.correction"
"""The name of the event in traces; its data has the `kind`, and what it is `about`."""

_is_preliminary: ContextVar[bool] = ContextVar("bathysphere_preliminary", default=False)


@contextmanager
def preliminary() -> Iterator[None]:
    """Mark model calls that come before an agent's own, so that none of them ends the run."""
    token = _is_preliminary.set(True)
    try:
        yield
    finally:
        _is_preliminary.reset(token)


def is_preliminary() -> bool:
    """Whether the current model call comes before the agent's own."""
    return _is_preliminary.get()


_at_end: ContextVar[list[Callable[[], None]] | None] = ContextVar("bathysphere_end", default=None)


@contextmanager
def provisional() -> Iterator[list[Callable[[], None]]]:
    """Collect what model calls do at the end of a run: a layer may still ask the model again."""
    collected: list[Callable[[], None]] = []
    token = _at_end.set(collected)
    try:
        yield collected
    finally:
        _at_end.reset(token)


def at_end(action: Callable[[], None], *, is_over: bool) -> None:
    """Do something if the run is over, unless an outer layer decides whether it is."""
    collected = _at_end.get()
    if collected is not None:
        collected.append(action)
    elif is_over:
        action()


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits of one run with all its subagents. `None` means no limit."""

    model_calls: int | None = 1_000
    tool_calls: int | None = 5_000
    tokens: int | None = None
    seconds: float | None = 7_200
    """Working time in seconds; waiting for a person does not count."""
    subagent_seconds: float | None = 900
    """How long one subagent may take before it is cancelled."""
    tool_seconds: float | None = None
    """How long one tool call may take before it is cancelled."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value <= 0:
                message = f"limits.{name} must be positive or None, got {value}"
                raise ValueError(message)


class Stop(TypedDict):
    """The limit that ended a run."""

    limit: LimitName
    max: float
    sentence: NotRequired[str]
    """Says more than the limit and its maximum."""


class Usage(TypedDict, total=False):
    """The usage of a run, as stored in graph state."""

    run: str
    by: dict[str, list[int]]
    """Place in the tree ("" is the main agent) → [model calls, tool calls, tokens]."""
    seconds: float
    stopped: Stop | None
    corrections: dict[str, dict[str, int]]
    """Place in the tree → `Correction` → how often."""


class Total(NamedTuple):
    """A `Usage`, summed over the tree."""

    model_calls: int
    tool_calls: int
    tokens: int
    seconds: float
    stopped: Stop | None
    corrections: Mapping[str, int] = MappingProxyType({})


def total(usage: Mapping[str, Any] | None) -> Total:
    """Sum a usage over the tree; all zero for a run that has not started."""
    usage = usage or {}
    model_calls, tool_calls, tokens = _sum(usage.get("by") or {})
    corrections: Counter[str] = Counter()
    for counts in (usage.get("corrections") or {}).values():
        corrections.update(counts)
    return Total(
        model_calls,
        tool_calls,
        tokens,
        usage.get("seconds", 0.0),
        usage.get("stopped") or None,
        dict(corrections),
    )


def corrected(
    usage: Usage | None, run_id: str, place: str, corrections: Sequence[Correction]
) -> Usage:
    """The usage to merge into graph state after corrections at a place in the tree."""
    usage = usage if usage and usage.get("run") == run_id else {}
    counts = Counter((usage.get("corrections") or {}).get(place) or {})
    counts.update(corrections)
    return {"run": run_id, "corrections": {place: dict(counts)}}


def join(left: Usage | None, right: Usage | None) -> Usage:
    """Merge two usages: the larger counts of the same run, else the newer run's."""
    if not left or not right or left.get("run") != right.get("run"):
        return right or left or {}
    by = dict(left.get("by", {}))
    for place, counts in right.get("by", {}).items():
        mine = by.get(place) or counts
        by[place] = [max(pair) for pair in zip(mine, counts, strict=True)]
    joined: Usage = {
        "run": right.get("run", ""),
        "by": by,
        "seconds": max(left.get("seconds", 0.0), right.get("seconds", 0.0)),
        "stopped": left.get("stopped") or right.get("stopped"),
    }
    if corrections := _join_corrections(left, right):
        joined["corrections"] = corrections
    return joined


def _join_corrections(left: Usage, right: Usage) -> dict[str, dict[str, int]]:
    joined = {place: dict(counts) for place, counts in left.get("corrections", {}).items()}
    for place, counts in right.get("corrections", {}).items():
        mine = joined.setdefault(place, {})
        mine |= {kind: max(count, mine.get(kind, 0)) for kind, count in counts.items()}
    return joined


class Meter:
    """Counts the usage of one run in this process; safe for concurrent threads and tasks."""

    def __init__(self, run_id: str, clock: Clock | None = None) -> None:
        self.run_id = run_id
        self._lock = threading.Lock()
        self._monotonic = (clock or SystemClock()).monotonic
        self._usage: Usage = {"run": run_id, "by": {}, "seconds": 0.0, "stopped": None}
        self._busy = 0
        self._since = 0.0

    def learn(self, usage: Usage | None) -> None:
        """Merge the usage from graph state, which other processes counted."""
        if usage and usage.get("run") == self.run_id:
            with self._lock:
                # State may include seconds of the work in progress; settle first, so that they
                # count once.
                self._settle()
                self._usage = join(self._usage, usage)

    def take(self, what: Literal["model_calls", "tool_calls"], place: str, limits: Limits) -> bool:
        """Count one call at a place in the tree, unless a limit is reached."""
        with self._lock:
            self._check(what, limits)
            if self._usage.get("stopped"):
                return False
            self._counts(place)[0 if what == "model_calls" else 1] += 1
            return True

    def give_back_tool_call(self, place: str) -> None:
        """Uncount a tool call that only paused; it is counted when it runs again."""
        with self._lock:
            self._counts(place)[1] -= 1

    def give_back_model_call(self, place: str) -> None:
        """Uncount a model call that paused for payment; it is counted when it is made."""
        with self._lock:
            self._counts(place)[0] -= 1

    def add_tokens(self, place: str, tokens: int) -> None:
        """Count the tokens of an answer."""
        with self._lock:
            self._counts(place)[2] += tokens

    def stop(self, limit: LimitName, maximum: float, sentence: str | None = None) -> None:
        """End the run: no further call is allowed."""
        with self._lock:
            self._stop(limit, maximum, sentence)

    @property
    def stopped(self) -> Stop | None:
        """The limit that ended the run, if any."""
        return self._usage.get("stopped")

    def remaining_seconds(self, limits: Limits) -> float | None:
        """The remaining working time."""
        if limits.seconds is None:
            return None
        with self._lock:
            return max(0.0, limits.seconds - self._seconds())

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the time inside the block as working time; concurrent blocks count once."""
        with self._lock:
            if self._busy == 0:
                self._since = self._monotonic()
            self._busy += 1
        try:
            yield
        finally:
            with self._lock:
                self._settle()
                self._busy -= 1

    def usage(self, place: str) -> Usage:
        """Return the usage of this place in the tree, for graph state."""
        with self._lock:
            return {
                "run": self.run_id,
                "by": {place: list(self._counts(place))},
                # Rounded down, so that the value read back never exceeds the count.
                "seconds": math.floor(self._seconds() * 1000) / 1000,
                "stopped": self._usage.get("stopped"),
            }

    def _counts(self, place: str) -> list[int]:
        return self._usage["by"].setdefault(place, [0, 0, 0])

    def _seconds(self) -> float:
        self._settle()
        return self._usage["seconds"]

    def _settle(self) -> None:
        """Count the work in progress up to now."""
        if self._busy:
            now = self._monotonic()
            self._usage["seconds"] += now - self._since
            self._since = now

    def _check(self, what: Literal["model_calls", "tool_calls"], limits: Limits) -> None:
        model_calls, tool_calls, tokens = _sum(self._usage["by"])
        used: tuple[tuple[LimitName, float, float | None], ...] = (
            (what, model_calls if what == "model_calls" else tool_calls, getattr(limits, what)),
            ("tokens", tokens, limits.tokens),
            ("seconds", self._seconds(), limits.seconds),
        )
        for name, amount, maximum in used:
            if maximum is not None and amount >= maximum:
                self._stop(name, maximum)

    def _stop(self, limit: LimitName, maximum: float, sentence: str | None = None) -> None:
        if not self._usage.get("stopped"):
            stop: Stop = {"limit": limit, "max": maximum}
            if sentence is not None:
                stop["sentence"] = sentence
            self._usage["stopped"] = stop


def _sum(by: Mapping[str, list[int]]) -> tuple[int, int, int]:
    model_calls = tool_calls = tokens = 0
    for calls, tools, spent in by.values():
        model_calls += calls
        tool_calls += tools
        tokens += spent
    return model_calls, tool_calls, tokens
