"""Effect log: lets a tool with side effects act only once.

A run may be repeated from its last checkpoint, so a tool's code can run twice. A tool with side
effects calls `begin` first. `Fresh` means: act, then call `finish`. `Done` carries the result of
the first execution. `Unknown` means that it was started and not finished: only the affected system
or a person can tell whether it happened, so it is never guessed.
"""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectKey:
    """The key of a tool call: the same when its step is repeated, different in a new step.

    The thread is not part of the key, because each log belongs to one thread.
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
