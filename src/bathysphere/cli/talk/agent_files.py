"""The files that the agent keeps in the conversation: listed, shown and saved to disk.

Their names and contents are the agent's, so neither reaches the terminal with control characters,
and a name chooses a place on disk only within the working folder.
"""

import base64
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from bathysphere.cli.talk.local_files import write_local_file
from bathysphere.cli.talk.screen import Screen, safe
from bathysphere.core.words import count

HELP = {
    "/files": "the agent's files",
    "/show PATH": "one of the agent's files",
    "/save PATH [TO]": "write one of the agent's files to disk, here or as TO",
}
COMMANDS = tuple(name.split()[0] for name in HELP)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentFiles:
    """Runs the commands on the agent's files."""

    screen: Screen
    values: Callable[[], Mapping[str, Any]]
    """Returns the current state of the thread."""

    def handle(self, command: str, rest: str) -> None:
        """Run one of `COMMANDS`."""
        files = _files(self.values())
        if not files:
            self.screen.note("The agent has no files in this conversation.")
        elif command == "/files":
            rows = [f"{path}  {count(len(files[path].content), 'byte')}" for path in sorted(files)]
            self.screen.block([(row, "") for row in rows])
        elif command == "/show":
            self._show(files, rest)
        else:
            self._save(files, rest)

    def _show(self, files: "Mapping[str, _File]", path: str) -> None:
        file = self._find(files, path)
        if file is None:
            return
        if file.is_binary:
            size = count(len(file.content), "byte")
            self.screen.note(f"A binary file of {size}; /save writes it to disk.")
            return
        lines = safe(file.content.decode()).removesuffix("\n").split("\n")
        self.screen.block([(line, "") for line in lines])

    def _save(self, files: "Mapping[str, _File]", rest: str) -> None:
        path, to = _path_and_destination(files, rest)
        file = self._find(files, path)
        if file is None:
            return
        place = _place(PurePosixPath(path).name, to)
        if place is None:
            self.screen.note("This name does not fit here; add another: /save PATH TO")
        elif write_local_file(self.screen, place, file.content):
            size = count(len(file.content), "byte")
            self.screen.note(f"Wrote {safe(str(place.resolve()))} ({size}).")

    def _find(self, files: "Mapping[str, _File]", path: str) -> "_File | None":
        file = files.get(path) or files.get(f"/{path}")
        if file is None:
            which = f"Unknown file: {safe(path)}." if path else "No file given."
            self.screen.note(f"{which} /files lists them.")
        return file


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes
    is_binary: bool


def _files(values: Mapping[str, Any]) -> dict[str, _File]:
    """The files of the state; none if the graph uses `files` for something else."""
    stored = values.get("files")
    if not isinstance(stored, Mapping):
        return {}
    read = {str(path): _read(file) for path, file in stored.items()}
    return {path: file for path, file in read.items() if file is not None}


def _read(stored: Any) -> _File | None:
    """One file: plain text, or deepagents' dict with text, lines or base64."""
    file = {"content": stored} if isinstance(stored, str) else stored
    if not isinstance(file, Mapping) or file.get("deleted"):
        return None
    content = file.get("content")
    text = "\n".join(map(str, content)) if isinstance(content, list) else str(content)
    if file.get("encoding") == "base64":
        with suppress(ValueError):  # not base64: shown as the text it is
            return _File(base64.b64decode(text), is_binary=True)
    return _File(text.encode(errors="replace"), is_binary=False)


def _path_and_destination(files: Mapping[str, _File], rest: str) -> tuple[str, str]:
    """Split `PATH [TO]`; a path with spaces needs quotes only if TO follows."""
    if rest in files or f"/{rest}" in files:
        return rest, ""
    try:
        words = shlex.split(rest)
    except ValueError:  # an apostrophe
        words = rest.split()
    path, *to = words or [""]
    return path, " ".join(to)


def _place(name: str, to: str) -> Path | None:
    """Where to write; None if no target is given and the agent's file name is unusable."""
    place = Path(to).expanduser()
    if to and not to.endswith("/") and not place.is_dir():
        return place
    is_plain = name not in ("", ".", "..") and Path(name).name == name and safe(name) == name
    return place / name if is_plain else None
