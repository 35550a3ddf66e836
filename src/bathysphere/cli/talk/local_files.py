"""Write a file to the person's disk; nothing is replaced without asking."""

from pathlib import Path

from bathysphere.cli.talk.screen import Screen, safe


def write_local_file(screen: Screen, path: Path, content: bytes) -> bool:
    """Write a file and return whether it was written; if not, tell the person why."""
    is_new = not (path.exists() or path.is_symlink())
    if not is_new and screen.ask(f"  {safe(_question(path))} (y/n)").strip() != "y":
        screen.note("    not written")
        return False
    try:
        with path.open("xb" if is_new else "wb") as file:
            file.write(content)
    except OSError as error:
        screen.note(f"Cannot write {safe(str(path))}: {error.strerror}")
        return False
    return True


def _question(path: Path) -> str:
    if path.is_symlink():
        return f"{path} is a link to {path.resolve()}. Write there?"
    return f"{path} exists. Overwrite?"
