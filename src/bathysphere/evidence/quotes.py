"""Quotes: words that stand in a snapshot at known bytes, or that are refused.

What a model writes as a quote goes through `check_quote`. What comes out carries the source's own
bytes, so that a third party can compare bytes with bytes and needs no normalisation at all.
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
"""Shorter quotes could stand anywhere."""
MAX_LETTERS = 2_000
NEAR = 0.85
"""The share of a quote's words that must stand in one run of the source to repair it."""
MAX_GAP = 600
"""How many letters may lie between two pieces that are joined by an ellipsis."""

HowFound = Literal["exact", "moved", "repaired"]
"""As cited; word for word, but in another source; nearly, so the source's words replace it."""
Refusal = Literal["unknown_source", "too_short", "too_long", "absent", "altered", "injected"]

_ELLIPSIS = re.compile(r"\s*(?:\[\s*)?(?:\.\.\.+|…|\. \. \.)(?:\s*\])?\s*")
_WORD = re.compile(r"[^\W_]+(?:['.,-][^\W_]+)*")
_DENIALS = frozenset({"not", "no", "never", "none", "neither", "nor", "without", "cannot", "n't"})


class Quote(BaseModel):
    """Words of a snapshot, by their bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^q[0-9a-f]{16}$")]
    snapshot: str
    start: int = Field(ge=0)
    end: int = Field(gt=0)
    text: str = Field(min_length=1)
    found: HowFound = "exact"


class QuoteCheck(NamedTuple):
    """The quotes that were found, or why there are none, and what was written."""

    written: str
    cited: str | None
    quotes: tuple[Quote, ...] = ()
    refusal: Refusal | None = None

    @property
    def is_valid(self) -> bool:
        """Whether the words stand in a source."""
        return bool(self.quotes)


def check_quote(written: str, snapshots: Snapshots, cited: str | None = None) -> QuoteCheck:
    """Find written words in the snapshots of this run, or say why they are refused.

    Args:
        written: The quote as the model wrote it; an ellipsis joins pieces that stand in order.
        snapshots: Everything that was read in this run.
        cited: The id of the snapshot it is said to be from; another one may turn out to have it.
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
    """The quote of a span; its id follows from the place."""
    place = [snapshot.id, span.start, span.end]
    return Quote(
        id="q" + digest(place)[:16],
        snapshot=snapshot.id,
        start=span.start,
        end=span.end,
        text=snapshot.slice(*span),
        found=found,
    )


def stands(quote: Quote, snapshots: Snapshots) -> bool:
    """Whether a quote's text is, byte for byte, what its snapshot has at its place."""
    snapshot = snapshots.get(quote.snapshot)
    if snapshot is None or quote.end > len(snapshot.text_bytes):
        return False
    right_id = "q" + digest([quote.snapshot, quote.start, quote.end])[:16]
    at_place = snapshot.text_bytes[quote.start : quote.end]
    return quote.id == right_id and at_place == quote.text.encode("utf-8")


def _search(
    written: str, cited: Snapshot | None, elsewhere: Sequence[Snapshot], refusal: Refusal
) -> QuoteCheck:
    told = cited.id if cited else None
    candidates = [(cited, "exact")] if cited else []
    injected = False
    for snapshot, found in [*candidates, *((s, "moved") for s in elsewhere)]:
        if spans := _exact(written, snapshot.normalised):
            if any(snapshot.is_injected(span) for span in spans):
                injected = True
                continue
            how: HowFound = "exact" if found == "exact" else "moved"
            quotes = tuple(quote_at(snapshot, span, how) for span in spans)
            return QuoteCheck(written, told, quotes)
    if injected:
        return QuoteCheck(written, told, refusal="injected")
    if cited is None:
        return QuoteCheck(written, told, refusal=refusal)
    return _repair(written, cited)


def _exact(written: str, source: Normalised) -> list[Span]:
    """The spans of the whole quote, or of its pieces in order; nothing if a piece is missing."""
    whole = source.find(plain(written))
    if whole:
        return [whole]
    pieces = [plain(piece) for piece in _ELLIPSIS.split(written) if piece.strip()]
    if len(pieces) < 2 or any(len(piece) < MIN_LETTERS for piece in pieces):
        return []
    return next(_in_order(pieces, source), [])


def _in_order(pieces: Sequence[str], source: Normalised) -> Iterator[list[Span]]:
    """Places where the pieces follow one another with small gaps."""
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
        # The words are close but a number or a denial differs: that is another statement.
        return QuoteCheck(written, cited.id, refusal="altered")
    if cited.is_injected(span):
        return QuoteCheck(written, cited.id, refusal="injected")
    return QuoteCheck(written, cited.id, (quote_at(cited, span, "repaired"),))


def _nearest(written: str, source: Normalised) -> Span | None:
    """The window of the source that has most of the words in order, if that is enough."""
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
    """What a repair must not change: the numbers in order, and how often it denies."""
    words = [word.casefold() for word in _WORD.findall(plain(text))]
    denials = sum(word in _DENIALS or word.endswith("n't") for word in words)
    return [frozenset(number.values) for number in numbers_in(text)], denials
