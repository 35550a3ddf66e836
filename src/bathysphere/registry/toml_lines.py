"""Find the line of a key or value in a TOML file.

`tomllib` parses values without positions. This scan follows table headers and keys, which is enough
to say where a mistake is; what it cannot place has the line of the table or key around it.
"""

import re
from collections.abc import Sequence
from typing import Any

Place = tuple[str | int, ...]

_PART = r"""(?:"[^"\n]*"|'[^'\n]*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=(?!=)(.*)$")
_QUOTES = re.compile(r"\"{3}|'{3}")
_PARTS = re.compile(rf"{_PART}")


class TomlLines:
    """Lines of the keys in a TOML text that is valid."""

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        self._lines = text.splitlines()
        self._data = data
        self._found: dict[Place, int] = {}
        self._scan()

    def line_of(self, place: Sequence[str | int]) -> int:
        """The line of a key, or of an item of its list; of what is around it if it has none."""
        known = self._existing(tuple(place))
        for length in range(len(known), 0, -1):
            line = self._found.get(known[:length])
            if line is not None:
                return self._item_line(line, known[length:], known)
        return 1

    def _existing(self, place: Place) -> Place:
        """The part of a place that the data has: checkers append names of types to it."""
        value: Any = self._data
        for index, part in enumerate(place):
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                return place[:index]
        return place

    def _item_line(self, line: int, rest: Place, place: Place) -> int:
        """The line of a list's item: the first one after the key that contains its text."""
        if not rest:
            return line
        value: Any = self._data
        for part in place:
            value = value[part]
        if isinstance(value, str):
            for number in range(line, len(self._lines) + 1):
                if value and value in self._lines[number - 1]:
                    return number
        return line

    def _scan(self) -> None:
        table: Place = ()
        closing: str | None = None
        for number, line in enumerate(self._lines, 1):
            if closing is not None:
                closing = None if closing in line else closing
                continue
            if header := _HEADER.match(line):
                place = _parts(header.group(1))
                if self._existing(place) == place:  # else it is an item of a list
                    table = place
                    self._found.setdefault(table, number)
                continue
            if key := _KEY.match(line):
                self._note(table, _parts(key.group(1)), number)
                closing = _open_quotes(key.group(2))

    def _note(self, table: Place, key: Place, number: int) -> None:
        place = (*table, *key)
        if self._existing(place) != place:
            return
        for length in range(len(table) + 1, len(place) + 1):
            self._found.setdefault(place[:length], number)


def _parts(dotted: str) -> Place:
    return tuple(part.strip("\"'") for part in _PARTS.findall(dotted))


def _open_quotes(value: str) -> str | None:
    """The quotes of a text that goes on in the next line."""
    found = _QUOTES.search(value)
    if found is None or value.find(found.group(), found.end()) >= 0:
        return None
    return found.group()
