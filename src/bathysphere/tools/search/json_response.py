"""Reads the JSON responses of search engines, which may contain anything."""

import json
from typing import Any

from bathysphere.tools.errors import SearchFailed


def object_of(body: bytes, engine: str) -> dict[str, Any]:
    """Parse a response that must be a JSON object.

    Raises:
        SearchFailed: It is not one.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise SearchFailed(f"{engine} returned invalid JSON") from error
    if not isinstance(answer, dict):
        raise unexpected(engine)
    return answer


def items_of(value: Any, engine: str) -> list[dict[str, Any]]:
    """Return the objects in a value that must be a list.

    Raises:
        SearchFailed: It is not one.
    """
    if not isinstance(value, list):
        raise unexpected(engine)
    return [item for item in value if isinstance(item, dict)]


def unexpected(engine: str) -> SearchFailed:
    """The error for a response that is not in the engine's format."""
    return SearchFailed(f"Unexpected response from {engine}")
