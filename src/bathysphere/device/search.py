"""Full-text search in documents, ranked by BM25."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bathysphere.device.documents import Document

MAX_PASSAGE = 1_000

_WORD = re.compile(r"\w+")
_BLOCK = re.compile(r"^[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*\n?+", re.MULTILINE)
_SATURATION = 1.5
_LENGTH = 0.75


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A part of a document."""

    document: Document
    start: int
    text: str


def passages_of(document: Document) -> Iterator[Passage]:
    """Split a document into paragraphs, and long paragraphs into pieces."""
    for block in _BLOCK.finditer(document.text):
        for start in range(block.start(), block.end(), MAX_PASSAGE):
            text = document.text[start : min(start + MAX_PASSAGE, block.end())]
            yield Passage(document=document, start=start, text=text)


def ranked(query: str, documents: Iterable[Document], *, most: int) -> list[Passage]:
    """Return the passages that contain words of the query, best first."""
    wanted = set(_words(query))
    counted = [(p, Counter(_words(p.text))) for d in documents for p in passages_of(d)]
    if not wanted or not counted:
        return []
    average = sum(words.total() for _, words in counted) / len(counted)
    rarity = {
        word: math.log(1 + (len(counted) - found + 0.5) / (found + 0.5))
        for word in wanted
        if (found := sum(word in words for _, words in counted))
    }

    def score(words: Counter[str]) -> float:
        long = _SATURATION * (1 - _LENGTH + _LENGTH * words.total() / (average or 1))
        return sum(
            rare * words[word] * (_SATURATION + 1) / (words[word] + long)
            for word, rare in rarity.items()
        )

    scored = [(score(words), passage) for passage, words in counted]
    scored = [row for row in scored if row[0] > 0]
    scored.sort(key=lambda row: (-row[0], row[1].document.id, row[1].start))
    return [passage for _, passage in scored[:most]]


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())
