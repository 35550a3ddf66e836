"""Effects once: what a tool that changes the world asks before it acts, and says after.

A run may be executed again from its last checkpoint, so a tool's code can run twice. A tool with an
effect asks `begin` first. `Fresh` means: act, then `finish`. `Done` carries the result of the first
time. `Unknown` means it was begun and never finished: whether it happened, only the world or a
person can tell; it is never guessed.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectKey:
    """One tool call at one place: the same when a step is executed again, new in a new step.

    The thread is the log's own: a log is handed to a run for its thread.
    """

    namespace: str
    task: str
    call: str


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nobody has begun this effect: act, then `finish`."""


@dataclass(frozen=True, slots=True)
class Done:
    """It happened; this is what it gave."""

    result: Any


@dataclass(frozen=True, slots=True)
class Unknown:
    """It was begun, and nobody said how it ended."""


class EffectLog(Protocol):
    """Where effects are written down before and after they happen."""

    async def begin(self, key: EffectKey) -> Fresh | Done | Unknown:
        """Claim the effect, or learn what became of it."""
        ...

    async def finish(self, key: EffectKey, result: Any) -> None:
        """Say that it happened, and what it gave (JSON)."""
        ...

    async def forget(self, key: EffectKey) -> None:
        """Say that it did not happen, so that it may be begun again."""
        ...
