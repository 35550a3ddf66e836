"""Verification of quotes: whether a text occurs in a file or in the person's messages."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, TypedDict

MIN_QUOTE = 8
"""Minimum length; a shorter quote could occur anywhere."""


class Span(NamedTuple):
    """The position of a quote and the text found there."""

    start: int
    end: int
    text: str


class Passage(TypedDict):
    """A part of a document that was read, identified by position and hash."""

    file: str
    version: str
    start: int
    end: int
    bytes: int
    sha256: str


def passage_of(file: str, version: str, start: int, text: str) -> Passage:
    """Return the position and hash of a part of a document."""
    data = text.encode("utf-8", "surrogatepass")
    return {
        "file": file,
        "version": version,
        "start": start,
        "end": start + len(text),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def find_quote(quote: str, text: str, *, offset: int = 0) -> Span | None:
    """Find an exact quote, ignoring differences in white space.

    Args:
        quote: The text to find.
        text: A part of the document.
        offset: The position of that part in the document.
    """
    letters, places = _squeezed(text)
    wanted = " ".join(quote.split())
    at = letters.find(wanted) if wanted else -1
    if at < 0:
        return None
    start, end = places[at], places[at + len(wanted) - 1] + 1
    return Span(offset + start, offset + end, text[start:end])


def who_said(words: str, messages: Iterable[tuple[str, str]]) -> str | None:
    """Return the id of the newest message that contains a quote; messages are oldest first."""
    found = [message_id for message_id, text in messages if find_quote(words, text)]
    return found[-1] if found else None


def _squeezed(text: str) -> tuple[str, list[int]]:
    """Collapse white space, and return the original position of each character."""
    letters: list[str] = []
    places: list[int] = []
    for place, letter in enumerate(text):
        if not letter.isspace():
            letters.append(letter)
        elif letters and letters[-1] != " ":
            letters.append(" ")
        else:
            continue
        places.append(place)
    return "".join(letters), places
