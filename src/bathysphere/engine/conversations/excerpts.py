"""Excerpts of a message around the words that a search has found."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bathysphere.engine.conversations.words import Span, matches

_LENGTH = 200
_BEFORE = 50
_MAX_PARTS = 25
_MAX_MATCHES = 200
_SPACE = re.compile(r"\s+")
_MARKS = re.compile(r"\*\*|__|`+|^#{1,6} ", re.MULTILINE)
"""Signs of Markdown that say nothing in a line of plain text."""


class ExcerptPart(NamedTuple):
    """A piece of an excerpt."""

    text: str
    is_match: bool


Excerpt = tuple[ExcerptPart, ...]


def excerpt_of(text: str, query: str) -> Excerpt:
    """Return the place of a text with the most matches, in at most `_LENGTH` characters.

    A message that is stored only in part may have its matches further on: then its beginning.
    """
    text = plain_line(text)
    found = matches(text, query)[:_MAX_MATCHES]
    start, end = _window(text, found)
    parts: list[ExcerptPart] = []
    at = start
    for span in found:
        if span.start < at or span.end > end or len(parts) >= _MAX_PARTS:
            continue
        parts += [ExcerptPart(text[at : span.start], False), ExcerptPart(text[slice(*span)], True)]
        at = span.end
    parts.append(ExcerptPart(text[at:end], False))
    if start > 0:
        parts.insert(0, ExcerptPart("… ", False))
    if end < len(text):
        parts.append(ExcerptPart(" …", False))
    return tuple(part for part in parts if part.text)


def plain_line(text: str) -> str:
    """Return a text in one line, without the commonest signs of Markdown."""
    return _SPACE.sub(" ", _MARKS.sub("", text)).strip()


def _window(text: str, found: Sequence[Span]) -> Span:
    """Where the excerpt starts and ends; between words, if there is a space nearby."""
    best = max(found, key=lambda span: _matches_after(span, found), default=Span(0, 0))
    start = max(0, best.start - _BEFORE)
    if start > 0:
        space = text.find(" ", start, best.start)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + _LENGTH)
    if end < len(text):
        space = text.rfind(" ", best.end, end)
        end = space if space >= 0 else end
    return Span(start, max(end, min(best.end, start + _LENGTH)))


def _matches_after(span: Span, found: Sequence[Span]) -> int:
    reach = span.start + _LENGTH - _BEFORE
    return sum(span.start <= other.start and other.end <= reach for other in found)
