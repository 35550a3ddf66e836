"""The record of changes: who changed which file, who approved it, and what was there before.

A change is written down before it is made, with what the file held, and finished after. One that
was begun and never finished may have happened; the version the file has says which.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

Action = Literal["write", "edit", "delete", "undo"]
MAX_KEPT_BYTES = 8 << 20
"""The largest file whose earlier content is kept; a larger one cannot be undone."""


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
