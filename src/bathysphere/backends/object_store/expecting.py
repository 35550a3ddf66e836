"""Which version a write may replace, said from outside the call.

A tool knows a path and a text. The layer that asked a person knows which version it showed. It
says so here, around the tool call; the backend reads it where it writes. Contexts follow threads,
so it reaches the one call and no other.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

ABSENT = "absent"
"""The token of a file that is not there."""


@dataclass(slots=True)
class Expectation:
    """The one version that the file at `path` may have when it is written."""

    path: str
    token: str
    was_refused: bool = field(default=False)
    """Whether a write found another version there, and did not happen."""


_current: ContextVar[Expectation | None] = ContextVar("expectation", default=None)


@contextmanager
def expecting(path: str, token: str) -> Iterator[Expectation]:
    """Let writes of this path happen only on this version."""
    expectation = Expectation(path, token)
    given = _current.set(expectation)
    try:
        yield expectation
    finally:
        _current.reset(given)


def expectation_of(path: str) -> Expectation | None:
    """What is expected of the file at this path, if anything is."""
    current = _current.get()
    return current if current is not None and current.path == path else None
