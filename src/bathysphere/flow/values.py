"""Equality of values: exact, but for the ways in which data formats write one value.

A number equals the text that JSON writes for it; spaces and tabs around a text do not count; mail
addresses and the hosts of URLs have no case. Nothing else is folded: look-alike letters, full-width
forms, zero-width characters and parts of a value make another value.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

JSON = Any
"""A JSON value."""

_MAIL = re.compile(r"[!-?A-~]{1,64}@[-.0-9A-Za-z]{1,255}")
_URL = re.compile(r"([A-Za-z][-+.0-9A-Za-z]{1,20}://)([^/?#@\s]{1,255})([/?#].*)?", re.DOTALL)


def canonical(value: JSON) -> str:
    """Return a text that is the same for equal values, and only for those."""
    if isinstance(value, bool) or value is None:
        return f"constant {value}"
    if isinstance(value, int | float | Decimal):
        return f"text {_number(value)}"
    if isinstance(value, str):
        return f"text {_text(value)}"
    if isinstance(value, list | tuple):
        return "list " + json.dumps([canonical(item) for item in value])
    if isinstance(value, dict):
        pairs = sorted((str(key), canonical(inner)) for key, inner in value.items())
        return "object " + json.dumps(pairs)
    return f"other {value!r}"


def leaves(value: JSON) -> Iterator[JSON]:
    """The values of an argument, of which each must be vouched for; empty ones are left out.

    An object is one value: its parts must not be exchanged.
    """
    if isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif not is_empty(value):
        yield value


def is_empty(value: JSON) -> bool:
    """Whether a value is as good as an argument that was left out."""
    return value is None or (isinstance(value, str | list | tuple | dict) and len(value) == 0)


def _text(value: str) -> str:
    text = value.strip(" \t\r\n")
    if _MAIL.fullmatch(text):
        return text.lower()
    if (url := _URL.fullmatch(text)) is not None:
        scheme, host, rest = url.groups()
        return f"{_lower(scheme)}{_lower(host)}{rest or ''}"
    return text


def _lower(text: str) -> str:
    """Lower-case ASCII letters only: other letters may become ASCII, as the Kelvin sign does."""
    return "".join(char.lower() if char.isascii() else char for char in text)


def _number(value: float | Decimal) -> str:
    if isinstance(value, int):
        return str(value)
    number = Decimal(str(value))
    if not number.is_finite():
        return str(value)
    if number == number.to_integral_value():
        return str(int(number))
    return format(number.normalize(), "f")
