"""Read a project's `langgraph.json`. Every key is honoured, or is an error that names it.

Keys that describe a container image (`python_version`, `dockerfile_lines` …) have no meaning for a
process that already runs; they are listed, so that a command can say so.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, TypeVar

from bathysphere.core.env_file import parse_env_file
from bathysphere.registry.errors import LoadError
from bathysphere.registry.project_sections import (
    Expiry,
    SectionProblem,
    StoreIndex,
    check_index,
    expiry_of,
)
from bathysphere.registry.targets import (
    AgentTarget,
    AttributeTarget,
    check_name,
    parse_agent,
    parse_attribute,
)

ParsedTarget = TypeVar("ParsedTarget", bound=AgentTarget)
IMAGE_KEYS = frozenset(
    {
        "api_version",
        "base_image",
        "dockerfile_lines",
        "image_distro",
        "internal_docker_tag",
        "keep_pkg_tools",
        "node_version",
        "pip_config_file",
        "pip_installer",
        "python_version",
    }
)
_SECTIONS: Mapping[str, Mapping[str, str]] = {
    "auth": {"cache": "remove it: every request is authenticated"},
    "store": {},
    "checkpointer": {},
    "http": {"cors": "set BATHYSPHERE_CORS_ORIGINS"},
}
"""Sections, and what to do instead of a setting that this server cannot honour."""
_HONOURED = frozenset(
    {
        "auth.path",
        "auth.disable_studio_auth",  # nobody bypasses authentication here
        "checkpointer.ttl",
        "http.app",
        "http.enable_custom_route_auth",
        "store.index",
        "store.ttl",
    }
)
_STORE_TTL = frozenset({"default_ttl", "refresh_on_read", "sweep_interval_minutes"})
_THREAD_TTL = frozenset({"default_ttl", "strategy", "sweep_interval_minutes"})
_UNSUPPORTED = frozenset({"encryption", "ui", "ui_config", "webhooks"})
_KEYS = frozenset({"$schema", "dependencies", "env", "graphs", *_SECTIONS, *_UNSUPPORTED})
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphEntry:
    """One graph of a project."""

    target: AgentTarget
    description: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """A project as its `langgraph.json` describes it."""

    file: Path
    graphs: tuple[GraphEntry, ...]
    paths: tuple[Path, ...] = ()
    """Folders for the import path."""
    env: Mapping[str, str] = field(default_factory=dict)
    env_file: Path | None = None
    """The file of the variables; None: they are in `langgraph.json` itself."""
    http_app: AttributeTarget | None = None
    """The project's own routes."""
    auth: AttributeTarget | None = None
    """The project's authentication and authorization."""
    store_index: StoreIndex | None = None
    store_ttl: Expiry | None = None
    thread_ttl: Expiry | None = None
    image_keys: tuple[str, ...] = ()
    """Keys that only describe a container image."""


def read_project(file: Path) -> Project:
    """Read and check a `langgraph.json`.

    Raises:
        LoadError: The file is not valid; the message names the file and the key.
    """
    reader = _Reader(file)
    data = reader.data()
    reader.check_keys(data)
    env, env_file = reader.env(data.get("env"))
    return Project(
        file=file,
        graphs=tuple(reader.graphs(data.get("graphs"))),
        paths=tuple(reader.paths(data.get("dependencies", []))),
        env=env,
        env_file=env_file,
        http_app=reader.attribute("http", "app", data),
        auth=reader.attribute("auth", "path", data),
        store_index=reader.store_index(data),
        store_ttl=reader.expiry("store", data, _STORE_TTL),
        thread_ttl=reader.expiry("checkpointer", data, _THREAD_TTL),
        image_keys=tuple(sorted(IMAGE_KEYS & data.keys())),
    )


class _Reader:
    """Reads the keys of one file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._folder = file.parent

    def data(self) -> dict[str, Any]:
        try:
            data = json.loads(self._file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise LoadError(f"Invalid JSON in {self._file}: {error}", hint="correct it") from error
        if not isinstance(data, dict):
            raise LoadError(f"{self._file} is not an object", hint='it needs at least "graphs"')
        return data

    def check_keys(self, data: Mapping[str, Any]) -> None:
        for key, value in data.items():
            if key not in _KEYS and key not in IMAGE_KEYS:
                raise self._error(key, "is unknown", hint="correct or remove it")
            if key in _UNSUPPORTED and value:
                raise self._error(key, "is not supported", hint="remove it")
            if key in _SECTIONS and value:
                self._check_section(key, value)

    def _check_section(self, key: str, section: Any) -> None:
        """Refuse every other setting of a section that is switched on."""
        if not isinstance(section, dict):
            raise self._error(key, "must be an object")
        for name, value in section.items():
            if value and f"{key}.{name}" not in _HONOURED:
                hint = _SECTIONS[key].get(name, "remove it")
                raise self._error(f"{key}.{name}", "is not supported", hint=hint)

    def graphs(self, graphs: Any) -> Sequence[GraphEntry]:
        if not isinstance(graphs, dict) or not graphs:
            hint = 'use {"name": "./file.py:attribute"}'
            raise self._error("graphs", "must name at least one graph", hint=hint)
        return [self._graph(name, entry) for name, entry in graphs.items()]

    def _graph(self, name: str, entry: Any) -> GraphEntry:
        key = f"graphs.{name}"
        check_name(name, str(self._file))
        parts = {"path": entry} if isinstance(entry, str) else entry
        if not isinstance(parts, dict):
            raise self._error(key, "must be a path", hint='use "./file.py:attribute"')
        if unknown := parts.keys() - {"path", "description"}:
            raise self._error(f"{key}.{min(unknown)}", "is unknown", hint="correct or remove it")
        description = parts.get("description")
        if description is not None and not isinstance(description, str):
            raise self._error(f"{key}.description", "must be text")
        target = self._parse(parse_agent, key, parts.get("path"), name=name)
        return GraphEntry(target=target, description=description)

    def attribute(self, section: str, name: str, data: Mapping[str, Any]) -> AttributeTarget | None:
        """The object that a section names."""
        path = (data.get(section) or {}).get(name)
        return self._parse(parse_attribute, f"{section}.{name}", path) if path else None

    def store_index(self, data: Mapping[str, Any]) -> StoreIndex | None:
        section = (data.get("store") or {}).get("index")
        if not section:
            return None
        with self._named_problems():
            dims, embed, fields = check_index("store.index", section)
        is_file = ".py:" in embed
        parsed = self._parse(parse_attribute, "store.index.embed", embed) if is_file else embed
        return StoreIndex(dims=dims, embed=parsed, fields=fields)

    def expiry(
        self, section: str, data: Mapping[str, Any], allowed: frozenset[str]
    ) -> Expiry | None:
        with self._named_problems():
            ttl = (data.get(section) or {}).get("ttl")
            return expiry_of(f"{section}.ttl", ttl, allowed=allowed)

    @contextmanager
    def _named_problems(self) -> Iterator[None]:
        """Name the file in errors of a section."""
        try:
            yield
        except SectionProblem as error:
            raise self._error(error.key, error.problem) from error

    def _parse(
        self, parse: Callable[..., ParsedTarget], key: str, path: Any, **options: Any
    ) -> ParsedTarget:
        if not isinstance(path, str):
            raise self._error(key, "must be a path", hint='use "./file.py:attribute"')
        try:
            return parse(path, folder=self._folder, **options)
        except LoadError as error:
            raise self._error(key, f"cannot be used: {error.message}", hint=error.hint) from error

    def paths(self, dependencies: Any) -> Sequence[Path]:
        if not _is_texts(dependencies):
            raise self._error("dependencies", "must be a list of paths and packages")
        return [path for each in dependencies if (path := self._dependency(each)) is not None]

    def _dependency(self, text: str) -> Path | None:
        """The folder of a local dependency; None for a package, which must be installed."""
        if text.startswith(".") or "/" in text:
            folder = (self._folder / text).resolve()
            if not folder.is_dir():
                raise self._error("dependencies", f"names a folder that does not exist: {text}")
            return folder
        match = _REQUIREMENT.match(text)
        if match is None:
            raise self._error("dependencies", f"names no package: {text!r}")
        try:
            distribution(match.group())
        except PackageNotFoundError as error:
            hint = f'pip install "{text}"'
            raise self._error("dependencies", f"needs {text}", hint=hint) from error
        return None

    def env(self, env: Any) -> tuple[Mapping[str, str], Path | None]:
        if not env:
            return {}, None
        if isinstance(env, str):
            file = self._folder / env
            if not file.is_file() and file.name == ".env":  # optional everywhere
                return {}, None
            if not file.is_file():
                raise self._error("env", f"names a file that does not exist: {env}")
            return parse_env_file(file.read_text(encoding="utf-8"), name=str(file)), file
        if isinstance(env, dict) and _is_texts(list(env.values())):
            return env, None
        raise self._error("env", "must be a file or an object of texts")

    def _error(self, key: str, problem: str, *, hint: str | None = "correct it") -> LoadError:
        return LoadError(f"'{key}' in {self._file} {problem}", hint=hint)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
