"""Sources that say the same thing with other numbers, or deny what another says.

The rule compares the sentence around each cited quote with the sentences of the other sources: most
of the words in common, but other numbers or a denial on one side only. It finds plain cases, not
all; what the model names as a contradiction is kept where each side is a quote that stands.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import NamedTuple

from bathysphere.evidence.normal import Span
from bathysphere.evidence.numbers import numbers_in
from bathysphere.evidence.quotes import MIN_LETTERS, Quote, quote_at
from bathysphere.evidence.report import Contradiction, Side
from bathysphere.evidence.snapshots import Snapshot, Snapshots

ALIKE = 0.7
"""The share of content words two sentences must have in common (of the larger set)."""
MAX_PER_QUOTE = 3

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
    values: tuple[frozenset[Decimal], ...]
    denies: bool


def find_contradictions(quotes: Iterable[Quote], snapshots: Snapshots) -> list[Contradiction]:
    """What the other sources say against cited quotes, by rule."""
    sentences = {key: list(_sentences(snapshot)) for key, snapshot in snapshots.items()}
    index: dict[str, list[_Sentence]] = defaultdict(list)
    for found in sentences.values():
        for sentence in found:
            for word in sentence.words:
                index[word].append(sentence)
    result: dict[frozenset[str], Contradiction] = {}
    for quote in quotes:
        for mine in sentences.get(quote.snapshot, ()):
            if mine.span.start < quote.end and quote.start < mine.span.end:
                for theirs in _against(mine, index):
                    sides = _sides([mine, theirs], snapshots)
                    key = frozenset(side.quote for side in sides)
                    topic = _topic(mine, theirs)
                    result.setdefault(key, Contradiction(topic=topic, sides=sides, found_by="rule"))
    return list(result.values())


def quotes_of(contradictions: Iterable[Contradiction], snapshots: Snapshots) -> list[Quote]:
    """The quotes that rule-found contradictions stand on."""
    wanted = {side.quote for found in contradictions for side in found.sides}
    quotes = {}
    for snapshot in snapshots.values():
        for sentence in _sentences(snapshot):
            quote = quote_at(snapshot, sentence.span)
            if quote.id in wanted:
                quotes[quote.id] = quote
    return list(quotes.values())


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
    if not one.values or not other.values:
        return False
    mine, theirs = _all_values(one), _all_values(other)
    # One may say more than the other; they disagree where each has a number the other lacks.
    lacks = [v for v in one.values if not v & theirs], [v for v in other.values if not v & mine]
    return bool(lacks[0] and lacks[1])


def _all_values(sentence: _Sentence) -> frozenset[Decimal]:
    return frozenset[Decimal]().union(*sentence.values)


def _sentences(snapshot: Snapshot) -> Iterator[_Sentence]:
    place, at = 0, 0
    for match in _SENTENCE.finditer(snapshot.text):
        raw = match.group()
        lead = len(raw) - len(raw.lstrip())
        start, end = match.start() + lead, match.start() + len(raw.rstrip())
        place += len(snapshot.text[at:start].encode("utf-8"))
        at = start
        text = snapshot.text[start:end]
        if len(text) < MIN_LETTERS:
            continue
        span = Span(place, place + len(text.encode("utf-8")))
        words = frozenset(w for w in map(str.lower, _WORD.findall(text)) if w not in _EMPTY)
        if len(words) < 3 or snapshot.is_injected(span):
            continue
        values = tuple(number.values for number in numbers_in(text))
        denials = frozenset(map(str.lower, _DENIES.findall(text)))
        yield _Sentence(snapshot.id, span, words - denials, values, bool(denials))


def _sides(sentences: Iterable[_Sentence], snapshots: Snapshots) -> tuple[Side, ...]:
    return tuple(
        Side(
            quote=quote_at(snapshots[sentence.snapshot], sentence.span).id,
            snapshot=sentence.snapshot,
            published=snapshots[sentence.snapshot].info.published,
        )
        for sentence in sentences
    )


def _topic(one: _Sentence, other: _Sentence) -> str:
    return " ".join(sorted(one.words & other.words)[:8])
