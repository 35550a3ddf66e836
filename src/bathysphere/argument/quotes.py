"""Whether words stand where they are said to: in a file, or in what the person said."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, TypedDict

MIN_QUOTE = 8
"""Shorter quotes could stand anywhere."""


class Span(NamedTuple):
    """Where a quote stands, and the text that stands there."""

    start: int
    end: int
    text: str


class Passage(TypedDict):
    """A part of a document that was seen, by its place and hash."""

    file: str
    version: str
    start: int
    end: int
    bytes: int
    sha256: str


def passage_of(file: str, version: str, start: int, text: str) -> Passage:
    """The place and hash of a part of a document."""
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
    """Find a quote to the letter; only runs of white space may differ.

    Args:
        quote: The words.
        text: A part of the document.
        offset: Where in the document that part begins.
    """
    letters, places = _squeezed(text)
    wanted = " ".join(quote.split())
    at = letters.find(wanted) if wanted else -1
    if at < 0:
        return None
    start, end = places[at], places[at + len(wanted) - 1] + 1
    return Span(offset + start, offset + end, text[start:end])


def who_said(words: str, messages: Iterable[tuple[str, str]]) -> str | None:
    """The id of the newest message that has these words, of messages given oldest first."""
    found = [message_id for message_id, text in messages if find_quote(words, text)]
    return found[-1] if found else None


def _squeezed(text: str) -> tuple[str, list[int]]:
    """The text with each run of white space as one space, and where each letter came from."""
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
