"""Excerpts of a source: the passages most relevant to the question, in their order."""

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w{3,}")
_BREAK = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_LONGEST = 1_200
GAP = "\n[…]\n"


def words_of(text: str) -> frozenset[str]:
    """The words of a text that indicate its topic, in lower case."""
    return frozenset(_WORD.findall(text.lower()))


def excerpt(text: str, question: str, limit: int) -> str:
    """At most `limit` characters: the whole text, or its best passages in order."""
    text = text.strip()
    if len(text) <= limit:
        return text
    wanted = words_of(question)
    passages = list(_passages(text))
    best = sorted(range(len(passages)), key=lambda index: (-_score(passages[index], wanted), index))
    chosen: list[int] = []
    room = limit
    for index in best:
        cost = len(passages[index]) + len(GAP)
        if cost <= room:
            chosen.append(index)
            room -= cost
    if not chosen:
        return text[:limit]
    shown = ""
    for index in sorted(chosen):
        glue = "" if not shown else "\n\n" if index - 1 in chosen else GAP
        shown += glue + passages[index]
    return shown


def _passages(text: str) -> Iterable[str]:
    for paragraph in _BREAK.split(text):
        piece = ""
        for sentence in _SENTENCE.split(paragraph.strip()):
            if piece and len(piece) + len(sentence) > _LONGEST:
                yield piece
                piece = ""
            piece = f"{piece} {sentence}".strip()
        if piece:
            yield piece


def _score(passage: str, wanted: frozenset[str]) -> float:
    found = words_of(passage)
    return len(found & wanted) / float(1 + len(found) ** 0.5)
