"""The change log: who changed which file, who approved it, and its content before.

A change is recorded before it is made, with the file's content, and marked as finished after. An
unfinished change may or may not have been made; the file's version tells.
"""

import difflib
from dataclasses import dataclass
from typing import Literal, Protocol

Action = Literal["write", "edit", "delete", "undo"]
MAX_KEPT_BYTES = 8 << 20
"""The largest file whose previous content is stored; changes to a larger one cannot be undone."""
MAX_DIFFERENCE = 100_000
"""Maximum length of a diff shown for approval, in characters."""
CUT = "[diff truncated]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A change that is about to be made."""

    workspace: str
    call: str
    """The id of the tool call: one change per call, even if its step is executed again."""
    action: Action
    path: str
    before_version: str
    before: bytes | None
    """The file's content before; None if it did not exist."""
    approver: str


class ChangeLog(Protocol):
    """The change log of one run, which knows its tenant, user and thread."""

    async def begin(self, change: Change) -> None:
        """Record a change before it is made; idempotent."""
        ...

    async def finish(self, call: str, *, after_version: str) -> None:
        """Record that the change was made."""
        ...

    async def drop(self, call: str) -> None:
        """Record that the change was not made."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """A diff of a file, possibly truncated for display."""

    text: str
    """A unified diff, or the sizes if the file is not text."""
    is_whole: bool
    """Whether `text` is complete. A truncated diff must not be approved."""
    added: int = 0
    removed: int = 0


def difference(path: str, before: bytes | None, after: bytes | None) -> Difference:
    """Return the diff of a file for a person to read."""
    try:
        texts = [(data or b"").decode().splitlines(keepends=True) for data in (before, after)]
    except UnicodeDecodeError:
        sizes = f"{path}: {len(before or b'')} bytes → {len(after or b'')} bytes"
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
