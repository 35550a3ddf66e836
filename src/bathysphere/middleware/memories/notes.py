"""Notes about a person: their names, bounds, changes, and how a prompt shows them. Plain Python."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from bathysphere.core.words import count

FOLDER = "/memories/"
MAX_NOTES = 20
MAX_TEXT = 500
MAX_NAME = 64

MemoryMode = Literal["off", "opt-in", "opt-out"]
"""The operator's setting: no memory, off until a person turns it on, or on until they turn it off.
"""
Author = Literal["agent", "person"]

_NAME = re.compile(r"\w[\w.\-]*")

# ── text for the person and the model ──

BAD_NAME = (
    f"A note's name has up to {MAX_NAME} letters, digits, dots, hyphens and underscores, "
    "and there are no folders"
)
EMPTY = "A note cannot be empty"
TOO_LONG = f"A note has at most {MAX_TEXT} characters, this one {{size:,}}"
TOO_MANY = f"There are {MAX_NOTES} notes, the most that are kept: change or delete one first"
UNKNOWN = "There is no note {path}"
NOT_ONCE = "`old_string` occurs {times} in {path}: it must occur once"
NOT_ENCODABLE = "A note must be valid Unicode"


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """A short text that an agent or the person wrote down."""

    name: str
    text: str
    by: Author
    changed: datetime | None = None

    @property
    def path(self) -> str:
        """Where the agent finds it."""
        return f"{FOLDER}{self.name}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """A person's switch and notes; the note changed last comes first."""

    is_on: bool = False
    notes: tuple[Note, ...] = field(default=())

    def find(self, name: str) -> Note | None:
        """Return the note of this name."""
        return next((note for note in self.notes if note.name == name), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A note to write, or to delete if it has no text."""

    name: str
    text: str | None


class InvalidNote(ValueError):
    """A change that is refused; the message says why."""


def checked(memory: Memory, name: str, text: str) -> Change:
    """Return the change that writes a note.

    Raises:
        InvalidNote: Its name or text is not valid, or there are too many notes.
    """
    _check_name(name)
    text = text.strip()
    if not text:
        raise InvalidNote(EMPTY)
    if len(text) > MAX_TEXT:
        raise InvalidNote(TOO_LONG.format(size=len(text)))
    if not text.isascii() and text.encode(errors="replace").decode() != text:
        raise InvalidNote(NOT_ENCODABLE)
    if memory.find(name) is None and len(memory.notes) >= MAX_NOTES:
        raise InvalidNote(TOO_MANY)
    return Change(name=name, text=text)


def deletion(memory: Memory, name: str) -> Change:
    """Return the change that deletes a note.

    Raises:
        InvalidNote: There is no such note.
    """
    return Change(name=_existing(memory, name).name, text=None)


def change_of(memory: Memory, tool: str, name: str, args: Mapping[str, Any]) -> Change:
    """Return the change that a call of `write_file`, `edit_file` or `delete` asks for.

    Raises:
        InvalidNote: It cannot be made.
    """
    if tool == "delete":
        return deletion(memory, name)
    if tool == "write_file":
        return checked(memory, name, str(args.get("content", "")))
    note = _existing(memory, name)
    old, new = str(args.get("old_string", "")), str(args.get("new_string", ""))
    found = note.text.count(old) if old else 0
    if found == 0 or (found > 1 and not args.get("replace_all")):
        raise InvalidNote(NOT_ONCE.format(times=count(found, "time"), path=note.path))
    return checked(memory, name, note.text.replace(old, new))


def rows(memory: Memory) -> str:
    """The notes as lines of a prompt, each quoted, so that none can pose as instructions."""
    shown = memory.notes[:MAX_NOTES]
    return "\n".join(
        f"- {note.path[: MAX_NAME * 2]}: {json.dumps(note.text[:MAX_TEXT], ensure_ascii=False)}"
        for note in shown
    )


def _existing(memory: Memory, name: str) -> Note:
    note = memory.find(name)
    if note is None:
        raise InvalidNote(UNKNOWN.format(path=f"{FOLDER}{name}"))
    return note


def _check_name(name: str) -> None:
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        raise InvalidNote(BAD_NAME)
