"""Words of a text, as they are indexed and searched: without case and accents.

PostgreSQL's own parsers depend on the language and on the locale of the database, and a
conversation has neither. So words are found here, the same way everywhere. Chinese and Japanese
have no spaces: of a run of their characters, every pair is a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MAX_TEXT = 200_000
"""Characters of a message whose words are found."""
MAX_WORDS = 10_000
"""Different words of a message; PostgreSQL limits a row of them to 1 MB."""
MAX_QUERY_WORDS = 12
_MAX_LENGTH = 40
_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUN = re.compile(f"[{_UNSPACED}]+|[^\\W{_UNSPACED}]+")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_ACCENTS = re.compile("[\u0300-\u036f]")


class Span(NamedTuple):
    """A part of a text."""

    start: int
    end: int


def fold(text: str) -> str:
    """Return the text without case and accents."""
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).casefold()


def words_of(text: str) -> list[str]:
    """Return the different words of a text, in their order."""
    found: dict[str, None] = {}
    for run in _RUN.finditer(fold(text[:MAX_TEXT])):
        for word in _split(run[0]):
            found[word] = None
        if len(found) >= MAX_WORDS:
            break
    return list(found)[:MAX_WORDS]


def query_words(query: str) -> list[str]:
    """Return the words to look for; each may be the beginning of a longer one."""
    found: dict[str, None] = {}
    for run in _RUN.findall(fold(query)):
        # The last character of a run is a word only in texts: a pair says more.
        words = list(_split(run))
        for word in words[:-1] if _is_unspaced(run) and len(words) > 1 else words:
            found[word] = None
    return list(found)[:MAX_QUERY_WORDS]


def matches(text: str, query: str) -> list[Span]:
    """Return the parts of a text that a query has found."""
    wanted = _RUN.findall(fold(query))
    return [span for run in _RUN.finditer(text) for span in _matches_in(run, wanted)]


def _matches_in(run: re.Match[str], wanted: Sequence[str]) -> Iterator[Span]:
    folded = fold(run[0])
    if not _is_unspaced(folded):
        if any(folded.startswith(word) for word in wanted):
            yield Span(*run.span())
        return
    for word in wanted:
        at = folded.find(word)
        if at >= 0 and len(folded) == len(run[0]):
            yield Span(run.start() + at, run.start() + at + len(word))


def _split(run: str) -> Iterator[str]:
    if not _is_unspaced(run):
        yield run[:_MAX_LENGTH]
        return
    yield from (run[at : at + 2] for at in range(len(run)))


def _is_unspaced(run: str) -> bool:
    return _IS_UNSPACED.match(run) is not None
