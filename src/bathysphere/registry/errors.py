"""The error of loading: which target, where in its file, what is wrong."""

import traceback
from pathlib import Path

from bathysphere.core.errors import BathysphereError, ConfigError


class LoadError(ConfigError):
    """An agent cannot be loaded: its target, its code or its configuration is wrong."""

    code = "load_error"


def load_failure(source: str, error: BaseException, *, folder: Path | None = None) -> LoadError:
    """Convert an error of the loaded code: its text, and the line of the project that raised it."""
    if isinstance(error, LoadError):
        return error
    if isinstance(error, BathysphereError):
        return LoadError(f"Cannot load {source}: {error.message}", hint=error.hint)
    if isinstance(error, ModuleNotFoundError) and error.name:
        reason = f"No module named '{error.name}'"
        hint = f"install {error.name.partition('.')[0]}, or add its folder to `dependencies`"
    else:
        text = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
        hint = "correct the code; BATHYSPHERE_DEBUG=1 shows the whole traceback"
    place = _place(error, folder)
    return LoadError(f"Cannot load {source}: {reason}{f' ({place})' if place else ''}", hint=hint)


def _place(error: BaseException, folder: Path | None) -> str | None:
    """The file and line of the error: in the project, if any of its lines took part."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "importlib" not in frame.filename and "bathysphere/registry" not in frame.filename
    ]
    own = [f for f in frames if folder is not None and _is_project_file(f.filename, folder)]
    for frame in (own or frames)[-1:]:
        return f"{frame.filename}, line {frame.lineno}"
    return None


def _is_project_file(filename: str, folder: Path) -> bool:
    path = Path(filename)
    return path.is_relative_to(folder) and "site-packages" not in path.parts
