"""The file that names the cells of a deployment, for its router and for moves."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from bathysphere.core.errors import ConfigError

_HINT = 'it has `default = "a"`, and `[cells.a]` with `url` and `database_url` for each cell'
CELL_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")
_URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")
_DATABASE_URL = re.compile(r"postgres(ql)?://\S+")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellAddress:
    """Where a cell's API and its database are."""

    name: str
    url: str
    database_url: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class CellsFile:
    """The cells, and the one that gets tenants without a cell."""

    cells: Mapping[str, CellAddress]
    default: str

    def cell(self, name: str) -> CellAddress:
        """Return a cell by its name.

        Raises:
            ConfigError: There is none.
        """
        found = self.cells.get(name)
        if found is None:
            raise ConfigError(f"Unknown cell '{name}'", hint=f"available: {', '.join(self.cells)}")
        return found

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file.

        Raises:
            ConfigError: It is invalid.
            OSError: It cannot be read.
        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError as error:
            raise ConfigError("Invalid cells file: not UTF-8", hint=_HINT) from error

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the contents of a file.

        Raises:
            ConfigError: They are invalid.
        """
        try:
            data = tomllib.loads(text)
            _check_keys(data, {"default", "cells"}, "the file")
            cells = {
                name: _cell(name, given) for name, given in _table(data["cells"], "cells").items()
            }
            if not isinstance(data["default"], str) or data["default"] not in cells:
                raise ValueError(f"default is not one of the cells: {data['default']!r}")
            for key in ("url", "database_url"):
                _check_unique(cells, key)
        except ValueError as error:
            raise ConfigError(f"Invalid cells file: {error}", hint=_HINT) from error
        return cls(cells=cells, default=data["default"])


def _cell(name: str, given: Any) -> CellAddress:
    if not CELL_NAME.fullmatch(name):
        raise ValueError(f"not lowercase letters, digits and hyphens: {name!r}")
    data = _table(given, f"cell '{name}'")
    _check_keys(data, {"url", "database_url"}, f"cell '{name}'")
    # Without the value of the second: it has a password.
    if not isinstance(data["url"], str) or not _URL.fullmatch(data["url"]):
        raise ValueError(f"url of cell '{name}' is not http://host:port: {data['url']!r}")
    url = data["database_url"]
    if not isinstance(url, str) or not _DATABASE_URL.fullmatch(url):
        raise ValueError(f"database_url of cell '{name}' is not postgresql://…")
    return CellAddress(name=name, url=data["url"], database_url=url)


def _table(given: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"not a table: {what}")
    return given


def _check_keys(data: Mapping[str, Any], expected: set[str], where: str) -> None:
    if unknown := data.keys() - expected:
        raise ValueError(f"unknown in {where}: {', '.join(sorted(unknown))}")
    if missing := expected - data.keys():
        raise ValueError(f"missing in {where}: {', '.join(sorted(missing))}")


def _check_unique(cells: Mapping[str, CellAddress], key: str) -> None:
    names: dict[str, str] = {}
    for name, cell in cells.items():
        other = names.setdefault(getattr(cell, key), name)
        if other != name:
            raise ValueError(f"cells '{other}' and '{name}' have the same {key}")
