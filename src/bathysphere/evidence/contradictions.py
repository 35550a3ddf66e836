"""Detection of contradictions: sources with different numbers, or that deny each other.

The rule compares the sentence around each cited quote with the sentences of the other sources: most
words in common, but different numbers or a negation on one side only. It finds obvious cases, not
all; contradictions that the model names are kept if each side is a verified quote.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from bathysphere.evidence.normal import Span
from bathysphere.evidence.quantities import differ_in_units_only, numbers_differ, without_units
from bathysphere.evidence.quotes import MIN_LETTERS, Quote, quote_at
from bathysphere.evidence.report import Contradiction, Side
from bathysphere.evidence.snapshots import Snapshot, Snapshots

ALIKE = 0.7
"""The share of content words that two sentences must have in common (of the larger set)."""
MAX_PER_QUOTE = 3
MAX_SENTENCES = 5_000
"""Per source; long sources are not read to their end."""

_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\S)[^.!?\n]*)*[.!?]?")
_WORD = re.compile(r"[^\W\d_]+")
_DENIES = re.compile(r"\b(?:not|no|never|none|neither|without|cannot|\w+n't)\b", re.IGNORECASE)
_EMPTY = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "for", "by", "with", "from", "and", "or"}
    | {"is", "are", "was", "were", "be", "been", "has", "have", "had", "it", "its", "about"}
    | {"that", "this", "these", "those", "as"}
)


class _Sentence(NamedTuple):
    snapshot: str
    span: Span
    words: frozenset[str]
    denies: bool
    text: str


class Disagreement(NamedTuple):
    """A contradiction and its quotes."""

    contradiction: Contradiction
    quotes: tuple[Quote, ...]


def find_contradictions(quotes: Iterable[Quote], snapshots: Snapshots) -> list[Disagreement]:
    """Find sentences of other sources that contradict cited quotes."""
    sentences = {
        key: list(islice(_sentences(snapshot), MAX_SENTENCES))
        for key, snapshot in snapshots.items()
    }
    index: dict[str, list[_Sentence]] = defaultdict(list)
    for sentence in chain.from_iterable(sentences.values()):
        for word in sentence.words:
            index[word].append(sentence)
    result: dict[frozenset[str], Disagreement] = {}
    for quote in quotes:
        for mine in sentences.get(quote.snapshot, ()):
            if mine.span.start < quote.end and quote.start < mine.span.end:
                for theirs in _against(mine, index):
                    found = _disagreement(mine, theirs, snapshots)
                    key = frozenset(side.id for side in found.quotes)
                    result.setdefault(key, found)
    return list(result.values())


def is_one_statement(one: str, other: str) -> bool:
    """Whether two texts state the same in different units: `1 km long`, `1,000 m long`."""
    if bool(_DENIES.search(one)) != bool(_DENIES.search(other)):
        return False
    mine, theirs = without_units(_content(one)), without_units(_content(other))
    is_alike = len(mine & theirs) >= ALIKE * max(len(mine), len(theirs), 1)
    return is_alike and differ_in_units_only(one, other)


def _disagreement(one: _Sentence, other: _Sentence, snapshots: Snapshots) -> Disagreement:
    quotes = tuple(quote_at(snapshots[s.snapshot], s.span) for s in (one, other))
    sides = tuple(
        Side(
            quote=quote.id,
            snapshot=quote.snapshot,
            published=snapshots[quote.snapshot].info.published,
        )
        for quote in quotes
    )
    common = one.words & other.words
    in_order = dict.fromkeys(word for word in _WORD.findall(one.text) if word.lower() in common)
    topic = " ".join(list(in_order)[:8])
    return Disagreement(Contradiction(topic=topic, sides=sides, found_by="rule"), quotes)


def _against(mine: _Sentence, index: dict[str, list[_Sentence]]) -> list[_Sentence]:
    counts: dict[tuple[str, Span], int] = defaultdict(int)
    known: dict[tuple[str, Span], _Sentence] = {}
    for word in sorted(mine.words):
        for sentence in index[word]:
            if sentence.snapshot != mine.snapshot:
                counts[sentence.snapshot, sentence.span] += 1
                known[sentence.snapshot, sentence.span] = sentence
    close = [
        known[key]
        for key, common in counts.items()
        if common >= ALIKE * max(len(mine.words), len(known[key].words))
    ]
    return [sentence for sentence in close if _disagree(mine, sentence)][:MAX_PER_QUOTE]


def _disagree(one: _Sentence, other: _Sentence) -> bool:
    if one.denies != other.denies:
        return True
    # One may give more numbers; they disagree if each has a number that the other lacks.
    return numbers_differ(one.text, other.text)


def _sentences(snapshot: Snapshot) -> Iterator[_Sentence]:
    offset, at = 0, 0
    for match in _SENTENCE.finditer(snapshot.text):
        raw = match.group()
        lead = len(raw) - len(raw.lstrip())
        start, end = match.start() + lead, match.start() + len(raw.rstrip())
        offset += len(snapshot.text[at:start].encode("utf-8"))
        at = start
        text = snapshot.text[start:end]
        if len(text) < MIN_LETTERS:
            continue
        span = Span(offset, offset + len(text.encode("utf-8")))
        words = _content(text)
        if len(words) < 3 or snapshot.is_injected(span):
            continue
        denials = frozenset(map(str.lower, _DENIES.findall(text)))
        yield _Sentence(snapshot.id, span, words - denials, bool(denials), text)


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in map(str.lower, _WORD.findall(text)) if word not in _EMPTY)
