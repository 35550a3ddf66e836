"""Parse the targets of a command line.

A target is `module:attribute`, `path/file.py:attribute`, an agent folder or a config file.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from bathysphere.registry.errors import LoadError

CONFIG_FILE = "langgraph.json"
AGENT_FILE = "agent.toml"
FORMS = "module:attribute, path/file.py:attribute, an agent folder"
_EXPECTED = f"use {FORMS} or a {CONFIG_FILE}"
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

    @property
    def listed_description(self) -> str | None:
        """The agent's description, which is not known without importing the target."""
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderTarget:
    """An agent folder: one with an `agent.toml`."""

    text: str
    """As it was written, for messages."""
    folder: Path
    project: Path
    """Where modules are imported from, and what paths in messages are relative to."""
    name: str | None = None
    """The agent's name; None: the one in `agent.toml`, or the folder's."""

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of our own agents; none of them is a folder."""
        return False

    @property
    def listed_name(self) -> str:
        """The agent's name."""
        return self.name or self._written("name") or self.folder.name

    @property
    def listed_description(self) -> str | None:
        """The agent's description."""
        return self._written("description")

    def label(self, file: str) -> str:
        """The name of one of its files in messages: its path in the project."""
        path = self.folder / file
        is_inside = path.is_relative_to(self.project)
        return str(path.relative_to(self.project) if is_inside else path)

    def _written(self, key: str) -> str | None:
        """A text in `agent.toml`; None if the file is not valid, which loading says."""
        import tomllib  # not for every command

        try:
            data = tomllib.loads((self.folder / AGENT_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        value = data.get(key)
        return value if isinstance(value, str) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigTarget:
    """A `langgraph.json`."""

    file: Path


AgentTarget = AttributeTarget | FolderTarget
Target = AgentTarget | ConfigTarget


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
    return parse_agent(rest, folder=folder, name=name if is_named else None)


def parse_agent(text: str, *, folder: Path, name: str | None = None) -> AgentTarget:
    """Parse the target of one agent: an attribute, or a folder with an `agent.toml`.

    Raises:
        LoadError: The text has another form, or the file does not exist.
    """
    path = folder / text
    path = path.parent if path.name == AGENT_FILE else path
    if not path.is_dir():
        return parse_attribute(text, folder=folder, name=name)
    if not (path / AGENT_FILE).is_file():
        raise LoadError(f"No {AGENT_FILE} or {CONFIG_FILE} in the folder {text}", hint=_EXPECTED)
    if name is not None:
        check_name(name, text)
    return FolderTarget(text=text, folder=path.resolve(), project=folder.resolve(), name=name)


def parse_attribute(
    text: str, *, folder: Path, name: str | None = None, label: str | None = None
) -> AttributeTarget:
    """Parse `module:attribute` or `path/file.py:attribute`.

    Args:
        text: The target.
        folder: The project.
        name: The agent's name.
        label: The target in messages; default: the text.

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
        file = _existing(folder / path, label or text)
        return AttributeTarget(
            text=label or text, attribute=attribute, folder=folder, file=file, name=name
        )
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
