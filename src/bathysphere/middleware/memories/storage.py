"""Where a person's notes are kept: LangGraph's store, under a namespace of their own.

The namespace is reserved, so that clients reach the notes only by routes that check them, and it
includes the owner, so notes stay separate even in a store that several people share.
"""

from collections.abc import Sequence
from typing import Any

from langgraph.store.base import GetOp, Item, Op, PutOp, SearchOp

from bathysphere.core.identity import Owner
from bathysphere.core.writers import RESERVED_NAMESPACE
from bathysphere.middleware.memories.notes import (
    MAX_NOTES,
    Author,
    Change,
    Memory,
    MemoryMode,
    Note,
)

NOTES_ROOT = (RESERVED_NAMESPACE, "memories")
SWITCH = "switch"
LIMIT = 5 * MAX_NOTES
"""Notes that are read: more than the maximum, which two writers at once can exceed."""


class Notebook:
    """The operations on the notes of one person, for `BaseStore.batch` and `abatch`."""

    def __init__(self, owner: Owner, mode: MemoryMode) -> None:
        self._mode = mode
        self._settings = (*NOTES_ROOT, owner.digest)
        self._notes = (*self._settings, "notes")

    def read(self) -> list[Op]:
        """The operations whose results are a `memory`."""
        return [GetOp(self._settings, SWITCH), SearchOp(self._notes, limit=LIMIT)]

    def memory(self, results: Sequence[Any]) -> Memory:
        """The memory that the store returned."""
        switch, items = results
        is_on = self._mode == "opt-out" if switch is None else switch.value.get("is_on") is True
        newest_first = sorted(items, key=lambda item: item.updated_at, reverse=True)
        return Memory(is_on=is_on and self._mode != "off", notes=tuple(map(_note, newest_first)))

    def write(self, change: Change, by: Author) -> list[Op]:
        """The operation that makes a change."""
        value = None if change.text is None else {"text": change.text, "by": by}
        return [PutOp(self._notes, change.name, value, index=False)]

    def switch(self, *, is_on: bool) -> list[Op]:
        """The operation that turns the memory on or off."""
        return [PutOp(self._settings, SWITCH, {"is_on": is_on}, index=False)]


def _note(item: Item) -> Note:
    by: Author = "person" if item.value.get("by") == "person" else "agent"
    text = str(item.value.get("text", ""))
    return Note(name=item.key, text=text, by=by, changed=item.updated_at)
