"""Which version a write may replace, said from outside the call.

A tool knows a path and a text. The layer that asked a person knows which version it showed. It
says so here, around the tool call; the backend reads it where it writes. Contexts follow threads,
so it reaches the one call and no other.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from bathysphere.tenancy.paths import canonical, is_sound

ABSENT = "absent"
"""The token of a file that is not there."""


@dataclass(slots=True)
class Expectation:
    """The one version that the file at `path` may have when it is written."""

    path: str
    token: str
    files: Mapping[str, str] | None = None
    """For a folder's deletion: the files that may go, each with its version token."""
    was_refused: bool = field(default=False)
    """Whether a write found another version there, and did not happen."""


_current: ContextVar[Expectation | None] = ContextVar("expectation", default=None)


@contextmanager
def expecting(
    path: str, token: str, *, files: Mapping[str, str] | None = None
) -> Iterator[Expectation]:
    """Let writes of this path happen only on this version, or delete only these files below it."""
    expectation = Expectation(path, token, files)
    given = _current.set(expectation)
    try:
        yield expectation
    finally:
        _current.reset(given)


def expectation_at(path: str) -> Expectation | None:
    """What is expected of the file that a path names, however it is written."""
    current = _current.get()
    is_named = current is not None and is_sound(path) and current.path == canonical(path)
    return current if is_named else None
