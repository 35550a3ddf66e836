"""Import what a target names.

A file is imported under its dotted name if its project can import it that way, so that relative
imports work and no module exists twice. Otherwise its name is made from its place in the project:
the same in every process, because checkpoints name the types that they contain.
"""

import difflib
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from bathysphere.registry.errors import LoadError, load_failure
from bathysphere.registry.targets import AttributeTarget


def add_to_import_path(folders: Iterable[Path]) -> None:
    """Put folders on the import path, in front, in their order."""
    new = [str(folder) for folder in dict.fromkeys(folders) if str(folder) not in sys.path]
    sys.path[:0] = new


def import_target(target: AttributeTarget) -> Any:
    """Import the attribute that a target names.

    Raises:
        LoadError: The module cannot be imported, or has no such attribute.
    """
    add_to_import_path([target.folder])
    try:
        module = _module(target)
    except (Exception, SystemExit) as error:  # the code of a target may raise anything
        raise load_failure(target.text, error, folder=target.folder) from error
    value: Any = module
    for name in target.attribute.split("."):
        if not hasattr(value, name):
            raise _missing(target, value, name)
        value = getattr(value, name)
    return value


def _module(target: AttributeTarget) -> ModuleType:
    if target.file is None:
        return importlib.import_module(target.module or "")
    dotted = _dotted_name(target.file)
    if dotted is not None:
        return importlib.import_module(dotted)
    name = _name_in_project(target.file, target.folder)
    if (known := sys.modules.get(name)) is not None:
        if known.__file__ != str(target.file):
            problem = f"{target.file} and {known.__file__} would be the same module"
            raise LoadError(f"Cannot load {target.text}: {problem}", hint="rename one of them")
        return known
    spec = importlib.util.spec_from_file_location(name, target.file)
    if spec is None or spec.loader is None:
        raise LoadError(f"Not a Python file: {target.file}", hint="use path/file.py:attribute")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _dotted_name(file: Path) -> str | None:
    """The name under which the import path leads to the file; None if it does not."""
    root = file.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    if str(root) not in sys.path:
        return None
    parts = file.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):  # another package has the name of the first part
        return None
    has_origin = found is not None and found.origin is not None
    return name if has_origin and found and Path(str(found.origin)).resolve() == file else None


def _name_in_project(file: Path, folder: Path) -> str:
    place = file.relative_to(folder) if file.is_relative_to(folder) else Path(file.name)
    return "target_" + re.sub(r"\W", "_", str(place.with_suffix("")))


def _missing(target: AttributeTarget, value: Any, name: str) -> LoadError:
    names = [each for each in dir(value) if not each.startswith("_")]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean '{close[0]}'?" if close else "correct the part after the colon"
    return LoadError(f"Cannot load {target.text}: there is no '{name}'", hint=hint)
