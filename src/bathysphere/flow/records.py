"""Records in the result of a tool: its artifact if that is plain data, or its text if that is JSON.

A record counts only if it is the one that has the name which was looked for: searches also find
what somebody else named to be found.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from bathysphere.flow.declarations import Lookup, ToolFlow
from bathysphere.flow.kinds import Kind
from bathysphere.flow.values import JSON, canonical, is_empty

MAX_NAMES = 2_000
MAX_NAME = 200


def data_of(artifact: Any, text: str) -> JSON:
    """The data of a result; None if it has none."""
    if isinstance(artifact, list | dict):
        return artifact
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, list | dict) else None


def find(lookup: Lookup, arguments: Mapping[str, JSON], data: JSON) -> dict[str, JSON] | None:
    """The declared fields of the one record that has a name which was looked for.

    Empty if several have it, None if none has.
    """
    given = [arguments[key] for key in lookup.keys if not is_empty(arguments.get(key))]
    wanted = {canonical(value) for value in given}
    found = [r for r in records(data, lookup.name) if canonical(r[lookup.name]) in wanted]
    if len(found) != 1:
        return {} if found else None
    return {name: found[0][name] for name in lookup.fields if not is_empty(found[0].get(name))}


def made(tool: ToolFlow, data: JSON) -> Iterator[tuple[Kind, JSON]]:
    """The ids that a call created, with their kinds."""
    for name, kind in tool.makes.items():
        for record in records(data, name):
            if isinstance(record[name], str | int) and not is_empty(record[name]):
                yield kind, record[name]


def records(data: JSON, name: str) -> list[Mapping[str, JSON]]:
    """The objects with a field of this name: the data itself, or those directly in it."""
    if isinstance(data, dict) and name in data:
        return [data]
    inner = list(data.values()) if isinstance(data, dict) else data
    flat: list[JSON] = []
    for item in inner if isinstance(inner, list) else []:
        flat += item if isinstance(item, list) else [item]
    return [item for item in flat if isinstance(item, dict) and name in item]


def names(data: JSON, text: str) -> list[str]:
    """The names in the result of a catalogue: whole texts of its data, or whole lines."""
    found = _texts(data) if data is not None else _lines(text)
    return list(dict.fromkeys(name for name in found if 0 < len(name) <= MAX_NAME))[:MAX_NAMES]


def _texts(data: JSON) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield str(key).strip()
            yield from _texts(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts(item)
    elif isinstance(data, str):
        yield data.strip()


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield line.strip()
        yield line.partition(": ")[2].strip()
