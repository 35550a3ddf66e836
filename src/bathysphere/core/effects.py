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
    """The effect has not been started: perform it, then call `finish`."""


@dataclass(frozen=True, slots=True)
class Done:
    """The effect was performed, with this result."""

    result: Any


@dataclass(frozen=True, slots=True)
class Unknown:
    """The effect was started, and its outcome is unknown."""


class EffectLog(Protocol):
    """The log of effects, written before and after they are performed."""

    async def begin(self, key: EffectKey) -> Fresh | Done | Unknown:
        """Claim the effect, or return its outcome."""
        ...

    async def finish(self, key: EffectKey, result: Any) -> None:
        """Record that the effect was performed, and its result (JSON)."""
        ...

    async def forget(self, key: EffectKey) -> None:
        """Record that the effect was not performed, so that it may be started again."""
        ...
