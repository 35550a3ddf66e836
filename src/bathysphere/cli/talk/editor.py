"""The person's own editor, where they have set one and sit at a terminal."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from bathysphere.cli.talk.screen import Screen

END = "."


def chosen_editor() -> str | None:
    """The command of the editor that can be used now."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    return editor if editor and sys.stdin.isatty() and sys.stdout.isatty() else None


def open_in(editor: str, path: Path) -> None:
    """Let the person edit a file, until they close the editor."""
    subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603


def edited_text(screen: Screen, text: str, *, suffix: str) -> str:
    """The text as the person wants it: from their editor, or typed line by line."""
    editor = chosen_editor()
    if editor is None:
        return _typed(screen)
    with tempfile.TemporaryDirectory(prefix="bathysphere-") as folder:
        path = Path(folder) / f"part{suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        open_in(editor, path)
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()


def _typed(screen: Screen) -> str:
    screen.note(f"    type what shall stand there; a line with only {END!r} ends it")
    lines: list[str] = []
    while (line := screen.ask("    ")) != END:
        lines.append(f"{line}\n")
    return "".join(lines)
