"""Quotes: verified words of a snapshot, at known byte offsets.

A quote written by a model goes through `check_quote`. The result carries the source's own bytes, so
that a third party can compare bytes and needs no normalisation.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bathysphere.core.canonical import digest
from bathysphere.evidence.normal import Normalised, Span, plain
from bathysphere.evidence.numbers import numbers_in
from bathysphere.evidence.snapshots import Snapshot, Snapshots

MIN_LETTERS = 12
"""Shorter quotes could be found anywhere."""
MAX_LETTERS = 2_000
NEAR = 0.85
"""The share of a quote's words that must be in one passage of the source to repair it."""
MAX_GAP = 600
"""Maximum number of characters between two pieces joined by an ellipsis."""

HowFound = Literal["exact", "moved", "repaired"]
"""As cited; verbatim, but in another source; inexact, so replaced by the source's words."""
Refusal = Literal["unknown_source", "too_short", "too_long", "absent", "altered", "injected"]

_ELLIPSIS = re.compile(r"(?:(?<!\s)\s++)?(?:\[\s*+)?(?:\.{3,}+|…|\. \. \.)(?:\s*+\])?\s*+")
_WORD = re.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_DENIALS = frozenset({"not", "no", "never", "none", "neither", "nor", "without", "cannot", "n't"})


class Quote(BaseModel):
    """A passage of a snapshot, by byte offsets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^q[0-9a-f]{16}$")]
    snapshot: str
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    text: str = Field(min_length=1)
    found: HowFound = "exact"


class QuoteCheck(NamedTuple):
    """The result of checking a quote: the quotes found, or the reason for refusing it."""

    written: str
    cited: str | None
    quotes: tuple[Quote, ...] = ()
    refusal: Refusal | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the words were found in a source."""
        return bool(self.quotes)


def check_quote(written: str, snapshots: Snapshots, cited: str | None = None) -> QuoteCheck:
    """Find a written quote in the snapshots of this run, or refuse it with a reason.

    Args:
        written: The quote as the model wrote it; an ellipsis joins pieces that occur in order.
        snapshots: Everything read in this run.
        cited: The id of the snapshot it is attributed to; it may be found in another one.
    """
    words = plain(written)
    if cited is not None and cited not in snapshots:
        cited = None
        elsewhere = list(snapshots.values())
        refusal: Refusal = "unknown_source"
    else:
        elsewhere = [s for s in snapshots.values() if s.id != cited]
        refusal = "absent"
    if len(words) < MIN_LETTERS:
        return QuoteCheck(written, cited, refusal="too_short")
    if len(words) > MAX_LETTERS:
        return QuoteCheck(written, cited, refusal="too_long")
    return _search(written, snapshots.get(cited or ""), elsewhere, refusal)


def quote_at(snapshot: Snapshot, span: Span, found: HowFound = "exact") -> Quote:
    """Create the quote of a span; its id is derived from its location."""
    location = [snapshot.id, span.start, span.end]
    return Quote(
        id="q" + digest(location)[:16],
        snapshot=snapshot.id,
        start=span.start,
        end=span.end,
        text=snapshot.slice(*span),
        found=found,
    )


def stands(quote: Quote, snapshots: Snapshots) -> bool:
    """Whether a quote's text equals its snapshot's bytes at its offsets."""
    snapshot = snapshots.get(quote.snapshot)
    if snapshot is None or quote.end > len(snapshot.text_bytes):
        return False
    right_id = "q" + digest([quote.snapshot, quote.start, quote.end])[:16]
    at_place = snapshot.text_bytes[quote.start : quote.end]
    return quote.id == right_id and at_place == quote.text.encode("utf-8")


def _search(
    written: str, cited: Snapshot | None, elsewhere: Sequence[Snapshot], refusal: Refusal
) -> QuoteCheck:
    cited_id = cited.id if cited else None
    candidates = [(cited, "exact")] if cited else []
    injected = False
    for snapshot, found in [*candidates, *((s, "moved") for s in elsewhere)]:
        if spans := _exact(written, snapshot.normalised):
            if any(snapshot.is_injected(span) for span in spans):
                injected = True
                continue
            how: HowFound = "exact" if found == "exact" else "moved"
            quotes = tuple(quote_at(snapshot, span, how) for span in spans)
            return QuoteCheck(written, cited_id, quotes)
    if injected:
        return QuoteCheck(written, cited_id, refusal="injected")
    if cited is None:
        return QuoteCheck(written, cited_id, refusal=refusal)
    return _repair(written, cited)


def _exact(written: str, source: Normalised) -> list[Span]:
    """Return the span of the whole quote, or of its pieces in order; empty if one is missing."""
    whole = source.find(plain(written))
    if whole:
        return [whole]
    pieces = [plain(piece) for piece in _ELLIPSIS.split(written) if piece.strip()]
    if len(pieces) < 2 or any(len(piece) < MIN_LETTERS for piece in pieces):
        return []
    return next(_in_order(pieces, source), [])


def _in_order(pieces: Sequence[str], source: Normalised) -> Iterator[list[Span]]:
    """Yield the spans of pieces that follow one another with small gaps."""
    for start in source.places(pieces[0]):
        at, spans = start, list[Span]()
        for piece in pieces:
            place = next(source.places(piece, at), None)
            if place is None or place - at > MAX_GAP:
                break
            spans.append(source.span(place, place + len(piece)))
            at = place + len(piece)
        else:
            yield spans


def _repair(written: str, cited: Snapshot) -> QuoteCheck:
    span = _nearest(written, cited.normalised)
    if span is None:
        return QuoteCheck(written, cited.id, refusal="absent")
    text = cited.slice(*span)
    if _facts(written) != _facts(text):
        # The words are close, but a number or negation differs: a different statement.
        return QuoteCheck(written, cited.id, refusal="altered")
    if cited.is_injected(span):
        return QuoteCheck(written, cited.id, refusal="injected")
    return QuoteCheck(written, cited.id, (quote_at(cited, span, "repaired"),))


def _nearest(written: str, source: Normalised) -> Span | None:
    """Return the passage with most of the words in order, if there are enough."""
    wanted = [word.casefold() for word in _WORD.findall(plain(written))]
    places = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(source.text)]
    words = [place[0] for place in places]
    if len(wanted) < 4 or not words:
        return None
    seed = SequenceMatcher(None, wanted, words, autojunk=False).find_longest_match()
    first = max(0, seed.b - seed.a - 2)
    window = words[first : seed.b + (len(wanted) - seed.a) + 2]
    blocks = SequenceMatcher(None, wanted, window, autojunk=False).get_matching_blocks()
    matched = [block for block in blocks if block.size]
    if sum(block.size for block in matched) < NEAR * len(wanted):
        return None
    start = places[first + matched[0].b][1]
    end = places[first + matched[-1].b + matched[-1].size - 1][2]
    if end - start < MIN_LETTERS:
        return None
    return source.span(start, end)


def _facts(text: str) -> tuple[list[frozenset[object]], int]:
    """Return what a repair must not change: the numbers in order, and the count of negations."""
    words = [word.casefold() for word in _WORD.findall(plain(text))]
    denials = sum(word in _DENIALS or word.endswith("n't") for word in words)
    return [frozenset(number.values) for number in numbers_in(text)], denials
