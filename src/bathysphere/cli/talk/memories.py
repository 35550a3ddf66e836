"""The notes that agents keep about the person at the terminal: stored, listed and deleted.

They are kept in one file of the user's data folder, which other users cannot read. Everything else
that an agent stores lasts as long as the chat.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from langgraph.store.base import Item, Op, PutOp, Result, SearchOp
from langgraph.store.memory import InMemoryStore

from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.middleware.memories import MemoriesMiddleware
from bathysphere.middleware.memories.notes import FOLDER, InvalidNote, Memory, deletion
from bathysphere.middleware.memories.storage import NOTES_ROOT, Notebook

HELP = {
    "/memories": "what the agent noted about you; /memories on and off are its switch",
    "/memories delete NAME": "delete a note",
}
COMMAND = "/memories"
NONE = "This agent keeps no notes about you."


class LocalStore(InMemoryStore):
    """A store whose notes are written to a file, and read again when another chat changed it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._version = 0

    @classmethod
    def of_user(cls) -> Self:
        """The store of the user who runs this process."""
        return cls(Path("~/.local/share/bathysphere/memories.json").expanduser())

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute several operations; notes are read from the file and written to it.

        Raises:
            ConfigError: The file is not one of notes.
        """
        ops = list(ops)
        self._read()
        results = super().batch(ops)
        if any(isinstance(op, PutOp) and op.namespace[:2] == NOTES_ROOT for op in ops):
            self._write()
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute several operations; the file is small enough to read in the event loop."""
        return self.batch(ops)

    def _read(self) -> None:
        version = _version(self._path)
        if version == self._version:
            return
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8")) if version else []
            puts = [PutOp(tuple(space), str(key), dict(value)) for space, key, value in kept]
        except (OSError, ValueError, TypeError) as error:
            hint = "repair or remove it"
            raise ConfigError(f"Cannot read the notes in {self._path}", hint=hint) from error
        gone = [PutOp(space, key, None) for space, key, _ in self._kept()]
        super().batch([*gone, *puts])
        self._version = version

    def _write(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(f".{os.getpid()}.new")
        text = json.dumps([[list(space), key, value] for space, key, value in self._kept()])
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
        new.replace(self._path)
        self._version = _version(self._path)

    def _kept(self) -> list[tuple[tuple[str, ...], str, dict[str, Any]]]:
        (found,) = super().batch([SearchOp(NOTES_ROOT, limit=10_000)])
        items: list[Item] = found  # type: ignore[assignment]  # the result of a search
        return [
            (tuple(item.namespace), item.key, item.value)
            for item in sorted(items, key=lambda item: item.updated_at)
        ]


def _version(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime_ns
    return 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Memories:
    """Runs the command on the agent's notes."""

    store: LocalStore
    notebook: Notebook
    screen: Screen

    @classmethod
    def of_chat(cls, spec: Any, store: LocalStore, owner: Owner, screen: Screen) -> Self | None:
        """The notes of a chat with an agent; None if it keeps none."""
        for layer in getattr(spec, "middleware", ()):  # a custom graph has no layers
            if isinstance(layer, MemoriesMiddleware):
                return cls(store=store, notebook=Notebook(owner, layer.mode), screen=screen)
        return None

    def handle(self, rest: str) -> None:
        """Run `/memories`, with what follows it."""
        verb, _, name = rest.partition(" ")
        if verb in ("on", "off"):
            self.store.batch(self.notebook.switch(is_on=verb == "on"))
            self._show()
        elif verb == "delete":
            self._delete(name.strip().removeprefix(FOLDER))
        elif verb:
            self.screen.note("Use /memories, /memories on, /memories off or /memories delete NAME.")
        else:
            self._show()

    def _memory(self) -> Memory:
        return self.notebook.memory(self.store.batch(self.notebook.read()))

    def _delete(self, name: str) -> None:
        try:
            change = deletion(self._memory(), name)
        except InvalidNote as error:
            self.screen.note(f"{safe(str(error))}. /memories lists them.")
            return
        self.store.batch(self.notebook.write(change, "person"))
        self.screen.note(f"Deleted {safe(change.name)}.")

    def _show(self) -> None:
        memory = self._memory()
        self.screen.block([(f"{n.name}: {safe(n.text)}", "") for n in memory.notes])
        if memory.is_on:
            state = "Memory is on: agents see these notes in every chat. /memories off stops that."
        else:
            state = "Memory is off: no notes are kept or shown to agents. /memories on starts it."
        self.screen.note(state if memory.notes else state.replace("these notes", "your notes"))
