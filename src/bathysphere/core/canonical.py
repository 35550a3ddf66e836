"""Canonical JSON: equal data has equal bytes, and so one hash.

UTF-8, keys sorted by code point, no white space. Floats and integers above 2^53 are not allowed,
because languages parse and print them differently.
"""

import hashlib
import json
from typing import Any

from bathysphere.core.errors import CallerError

MAX_INTEGER = 2**53 - 1
"""The largest integer that JavaScript represents exactly."""


class NotCanonical(CallerError):
    """The data or bytes have no canonical form."""

    code = "not_canonical"


def canonical(value: Any) -> bytes:
    """Serialize a JSON value as canonical bytes.

    Raises:
        NotCanonical: The value contains a float, an integer above 2^53, a key that is not a string,
            a lone surrogate, or something other than JSON.
    """
    _check(value)
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return text.encode("utf-8")
    except (TypeError, ValueError, UnicodeEncodeError) as error:
        raise NotCanonical(f"Not representable in canonical JSON: {error}") from error


def from_canonical(data: bytes) -> Any:
    """Parse canonical bytes; any other serialization of the same value is rejected.

    Raises:
        NotCanonical: `data` is not exactly what `canonical` returns.
    """
    try:
        value = json.loads(data.decode("utf-8"))
        is_canonical = canonical(value) == data
    except (ValueError, RecursionError) as error:
        raise NotCanonical(f"Invalid JSON: {error}") from error
    if not is_canonical:
        raise NotCanonical("The JSON is not in canonical form")
    return value


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical form, in hex."""
    return sha256(canonical(value))


def sha256(data: bytes) -> str:
    """Return the SHA-256 of bytes, in hex."""
    return hashlib.sha256(data).hexdigest()


def _check(value: Any) -> None:
    if isinstance(value, float):
        raise NotCanonical("A float has no canonical form", hint="write it as text or as integers")
    if isinstance(value, int) and abs(value) > MAX_INTEGER:
        raise NotCanonical("Integer too large for canonical JSON", hint="write it as text")
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise NotCanonical(f"Key is not a string: {key!r}")
            _check(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check(inner)
