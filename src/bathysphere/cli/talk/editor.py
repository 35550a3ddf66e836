"""Edit text in the person's $VISUAL or $EDITOR, or line by line."""

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from bathysphere.cli.talk.screen import Screen

END = "."


def available_editor() -> str | None:
    """The editor command, or None without an editor or a terminal."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    return editor if editor and sys.stdin.isatty() and sys.stdout.isatty() else None


def open_in(editor: str, path: Path) -> None:
    """Open a file in the editor and wait until it is closed."""
    subprocess.run([*shlex.split(editor), str(path)], check=False)  # noqa: S603


def edited_text(screen: Screen, text: str, *, suffix: str) -> str:
    """Let the person edit a text, in their editor or by typing its lines."""
    editor = available_editor()
    if editor is None:
        return _typed(screen)
    with tempfile.TemporaryDirectory(prefix="bathysphere-") as folder:
        path = Path(folder) / f"part{suffix}"
        path.write_text(text, encoding="utf-8", newline="")
        open_in(editor, path)
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()


def _typed(screen: Screen) -> str:
    screen.note(f"    type the new text; end with a line that contains only {END!r}")
    lines: list[str] = []
    while (line := screen.ask("    ")) != END:
        lines.append(f"{line}\n")
    return "".join(lines)
