"""The record of changes: who changed which file, who approved it, and what was there before.

A change is written down before it is made, with what the file held, and finished after. One that
was begun and never finished may have happened; the version the file has says which.
"""

import difflib
from dataclasses import dataclass
from typing import Literal, Protocol

Action = Literal["write", "edit", "delete", "undo"]
MAX_KEPT_BYTES = 8 << 20
"""The largest file whose earlier content is kept; a larger one cannot be undone."""
MAX_DIFFERENCE = 100_000
"""The longest difference that a person can be asked about, in characters."""
CUT = "[the difference is longer]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One change, before it is made."""

    workspace: str
    call: str
    """The tool call that asked for it: one change a call, however often its step is run."""
    action: Action
    path: str
    before_version: str
    before: bytes | None
    """What the file held; None where there was none."""
    approver: str


class ChangeLog(Protocol):
    """Where a run's changes are written down; tenant, user, thread and run are the log's own."""

    async def begin(self, change: Change) -> None:
        """Write it down before it is made; a second time changes nothing."""
        ...

    async def finish(self, call: str, *, after_version: str) -> None:
        """It was made."""
        ...

    async def drop(self, call: str) -> None:
        """It was not made."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What becomes of a file: all of it, and as much of it as can be shown."""

    text: str
    """A unified diff, or the sizes of what is not text."""
    is_whole: bool
    """Whether `text` is all of it. Nobody may approve a difference that they cannot see whole."""
    added: int = 0
    removed: int = 0


def difference(path: str, before: bytes | None, after: bytes | None) -> Difference:
    """What becomes of a file, as the person reads it."""
    try:
        texts = [(data or b"").decode().splitlines(keepends=True) for data in (before, after)]
    except UnicodeDecodeError:
        sizes = f"{path}: {len(before or b'')} bytes become {len(after or b'')}"
        return Difference(text=sizes, is_whole=True)
    old, new = (path if data is not None else "/dev/null" for data in (before, after))
    lines = list(difflib.unified_diff(texts[0], texts[1], old, new))
    diff = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    is_whole = len(diff) <= MAX_DIFFERENCE
    return Difference(
        text=diff if is_whole else f"{diff[:MAX_DIFFERENCE]}\n{CUT}\n",
        is_whole=is_whole,
        added=sum(line.startswith("+") for line in lines[2:]),
        removed=sum(line.startswith("-") for line in lines[2:]),
    )
