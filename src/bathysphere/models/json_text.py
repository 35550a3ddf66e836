"""JSON in the text of an answer, with reasoning, fences or prose around it."""

import json
import re
from itertools import islice
from typing import Any

_THOUGHT = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_OBJECTS = 50
"""Maximum number of opening braces to try."""


def extract_json(text: str) -> dict[str, Any]:
    """Extract the first JSON object from text with reasoning, fences or prose around it.

    Raises:
        ValueError: No object was found.
    """
    text = without_thoughts(text)
    for found in islice(re.finditer(r"\{", text), _OBJECTS):
        value, _ = decode(text, found.start())
        if isinstance(value, dict):
            return value
    raise ValueError("no JSON object")


def decode(text: str, start: int = 0) -> tuple[Any, int]:
    """Decode the JSON value at a place; returns it and where it ends, or None and the place."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start


def without_thoughts(text: str) -> str:
    """Remove text between `<think>` and `</think>`; an unclosed tag is kept."""
    kept, start, opened = list[str](), 0, -1
    for tag in _THOUGHT.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened < 0 else opened
        elif opened >= 0:
            kept.append(text[start:opened])
            start, opened = tag.end(), -1
    return "".join((*kept, text[start:]))
