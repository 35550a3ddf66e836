"""Paths to single values of a thread, such as `values.messages[-1].content`."""

import re
from collections.abc import Mapping
from typing import Any

_PART = re.compile(r"\.([^.\[\]]+)|\[(-?\d+)\]")


def extract(view: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of a thread in JSON; None if there is none."""
    found: Any = view
    for name, index in _PART.findall(f".{path}"):
        found = _item(found, int(index)) if index else _field(found, name)
    return found


def needs_state(path: str) -> bool:
    """Whether the value is part of the thread's state."""
    return path.startswith(("values", "interrupts"))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _item(value: Any, index: int) -> Any:
    is_there = isinstance(value, list) and -len(value) <= index < len(value)
    return value[index] if is_there else None
