"""Large parts of events are stored once per thread.

A thread's state is in an event after every step, and most of it was in the one before: stored
whole, the events of a long conversation would grow with its square. So each message and each file
of a state is a part, stored under its digest, and the event has a mark in its place. Reading puts
the parts back: the event's bytes are what they were.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import orjson

Parts = Mapping[bytes, bytes]
"""Parts by their digests. A part may have marks of others."""

_SMALL_EVENT = 1024
"""Not worth the time: whole, it takes little."""
_LEAST = 256
"""A smaller part takes as much with its digest as without it."""
_GROUP = 16
"""So many items of a list are one part, so that a long list is not a long list of marks."""
_DIGEST_BYTES = 16
_MARK = b"\0"
"""It precedes a digest. JSON escapes it, so that it is never in the text of an event."""
_MARKED = re.compile(rb"\x00(.{16})", re.DOTALL)


def divide(body: bytes) -> tuple[bytes, dict[bytes, bytes]]:
    """Return the body with marks for its large parts, and these; without any if it has none."""
    division = _DIVISIONS.get(_channel_of(body)) if len(body) >= _SMALL_EVENT else None
    if division is None:
        return body, {}
    parts: dict[bytes, bytes] = {}
    try:
        event = orjson.loads(body)
        if not isinstance(event["data"], dict):
            return body, {}
        event["data"] = division(event["data"], parts)
        text = orjson.dumps(event)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # such as one that is very deep
        return body, {}
    # What `json` wrote in place of `orjson` would not be read back the same.
    return (text, parts) if parts and join(text, parts) == body else (body, {})


def _channel_of(body: bytes) -> bytes:
    _, _, rest = body[:40].partition(b'{"channel":"')
    return rest.partition(b'"')[0]


def join(text: bytes, parts: Parts) -> bytes:
    """Put the parts of an event back.

    Raises:
        KeyError: A part is missing.
    """
    while _MARK in text:
        text = _MARKED.sub(lambda found: parts[found[1]], text)
    return text


def digests_in(text: bytes) -> list[bytes]:
    """The digests of the parts that a text has marks of, not of those inside them."""
    return _MARKED.findall(text) if _MARK in text else []


def is_complete(text: bytes, parts: Parts) -> bool:
    """Whether all parts of a text are known."""
    return all(d in parts and is_complete(parts[d], parts) for d in digests_in(text))


def used_parts(text: bytes, parts: Parts) -> dict[bytes, bytes]:
    """The parts that a text consists of, as far as they are known."""
    found: dict[bytes, bytes] = {}
    texts = [text]
    while texts:
        digests = {digest for each in texts for digest in digests_in(each)} - found.keys()
        texts = [parts[digest] for digest in digests if digest in parts]
        found |= {digest: parts[digest] for digest in digests if digest in parts}
    return found


_Stored = dict[bytes, bytes]


def _state(data: dict[str, Any], parts: _Stored) -> dict[str, Any]:
    """A state, or changes of one: the items of its lists and dictionaries, and its long texts."""
    return {name: orjson.Fragment(_channel(value, parts)) for name, value in data.items()}


def _update(data: dict[str, Any], parts: _Stored) -> dict[str, Any]:
    changes = data.get("values")
    return {**data, "values": _state(changes, parts)} if isinstance(changes, dict) else data


def _message(data: dict[str, Any], parts: _Stored) -> dict[str, Any]:
    return _with_item("message", data, parts)


def _tool(data: dict[str, Any], parts: _Stored) -> dict[str, Any]:
    return _with_item("output", data, parts)


def _task(data: dict[str, Any], parts: _Stored) -> dict[str, Any]:
    state = data.get("input")
    return {**data, "input": _state(state, parts)} if isinstance(state, dict) else data


def _with_item(name: str, data: dict[str, Any], parts: _Stored) -> dict[str, Any]:
    return {**data, name: orjson.Fragment(_item(data[name], parts))} if name in data else data


def _channel(value: Any, parts: _Stored) -> bytes:
    if isinstance(value, list):
        return b"[" + b",".join(_groups([_item(item, parts) for item in value], parts)) + b"]"
    if isinstance(value, dict):
        items = {name: orjson.Fragment(_item(item, parts)) for name, item in value.items()}
        return orjson.dumps(items)
    return _item(value, parts)


def _groups(items: list[bytes], parts: _Stored) -> list[bytes]:
    """Replace each full group of items with one mark; the last ones are still to be a group."""
    full = len(items) - len(items) % _GROUP
    starts = range(0, full, _GROUP)
    groups = [_part(b",".join(items[start : start + _GROUP]), parts) for start in starts]
    return groups + items[full:]


def _item(value: Any, parts: _Stored) -> bytes:
    return _part(orjson.dumps(value), parts)


def _part(text: bytes, parts: _Stored) -> bytes:
    if len(text) < _LEAST:
        return text
    digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
    parts[digest] = bytes(memoryview(text))
    return _MARK + digest


_DIVISIONS = {
    b"values": _state,
    b"updates": _update,
    b"messages": _message,
    b"tools": _tool,
    b"tasks": _task,
}
