"""Parse the targets of a command line: `module:attribute`, `path/file.py:attribute`, a config file.

An agent folder is a target of its own kind: `parse_target` is the place to recognize it.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from bathysphere.registry.errors import LoadError

CONFIG_FILE = "langgraph.json"
_EXPECTED = f"use module:attribute, path/file.py:attribute or a {CONFIG_FILE}"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,99}")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_OWN_GRAPHS = Path(__file__).resolve().parents[1] / "graphs.py"
_OTHER_LANGUAGES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx")


@dataclass(frozen=True, kw_only=True, slots=True)
class AttributeTarget:
    """An attribute of a module or of a Python file."""

    text: str
    """As it was written, for messages."""
    attribute: str
    folder: Path
    """The project: relative paths start here, and it is on the import path."""
    module: str | None = None
    file: Path | None = None
    name: str | None = None
    """The agent's name; None: the spec's, or the attribute's."""

    @property
    def listed_name(self) -> str:
        """The agent's name as far as it is known without importing the target."""
        return self.name or self.attribute

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of our own agents, in the form that `langgraph dev` loads."""
        return self.module == "bathysphere.graphs" or self.file == _OWN_GRAPHS


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigTarget:
    """A `langgraph.json`."""

    file: Path


Target = AttributeTarget | ConfigTarget


def parse_target(text: str, *, folder: Path) -> Target:
    """Parse one target; `NAME=` in front gives the agent another name.

    Raises:
        LoadError: The text is not a target, or its file does not exist.
    """
    name, is_named, rest = text.partition("=")
    if not is_named:
        name, rest = "", text
    path = folder / rest
    if not is_named and (path.suffix == ".json" or (path / CONFIG_FILE).is_file()):
        file = path if path.suffix == ".json" else path / CONFIG_FILE
        return ConfigTarget(file=_existing(file, text))
    if path.is_dir():
        raise LoadError(f"No {CONFIG_FILE} in the folder {text}", hint=_EXPECTED)
    return parse_attribute(rest, folder=folder, name=name if is_named else None)


def parse_attribute(text: str, *, folder: Path, name: str | None = None) -> AttributeTarget:
    """Parse `module:attribute` or `path/file.py:attribute`.

    Raises:
        LoadError: The text has another form, or the file does not exist.
    """
    place, has_attribute, attribute = text.rpartition(":")
    if not has_attribute or not place or not _MODULE.fullmatch(attribute):
        raise LoadError(f"Not a target: {text}", hint=_EXPECTED)
    if name is not None:
        check_name(name, text)
    path = Path(place)
    if path.suffix in _OTHER_LANGUAGES:
        raise LoadError(f"Not a Python file: {place}", hint="only graphs in Python are served")
    if path.suffix == ".py" or "/" in place or "\\" in place:
        file = _existing(folder / path, text)
        return AttributeTarget(text=text, attribute=attribute, folder=folder, file=file, name=name)
    if not _MODULE.fullmatch(place):
        raise LoadError(f"Not a module: {place}", hint=_EXPECTED)
    return AttributeTarget(text=text, attribute=attribute, folder=folder, module=place, name=name)


def check_name(name: str, source: str) -> str:
    """Check the name of an agent: it is an argument of commands and a part of addresses.

    Raises:
        LoadError: The name has characters that do not fit there.
    """
    if not _NAME.fullmatch(name):
        raise LoadError(
            f"Invalid agent name {name!r} in {source}",
            hint="use letters, digits, spaces, '.', '_' and '-'",
        )
    return name


def _existing(file: Path, text: str) -> Path:
    if not file.is_file():
        raise LoadError(f"File not found: {file} (target {text})", hint="correct the path")
    return file.resolve()
