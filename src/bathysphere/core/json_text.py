"""JSON serialization of graph state: messages, models, interrupts, sets, dates."""

import dataclasses
import json
from collections import deque
from typing import Any

import orjson
from pydantic import BaseModel


def dumps(value: Any) -> bytes:
    """Serialize a value as JSON; unsupported types are serialized as their `repr`."""
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # a number above 64 bits, a lone surrogate, a structure too deep
        return json.dumps(value, default=_plain_slowly, skipkeys=True).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, set | frozenset | deque):
        return list(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return repr(value)


def _plain_slowly(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return _plain(value)
