"""Data types of a model's draft and of the checked report.

All are plain data: they go through state, events and the proof as JSON.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bathysphere.evidence.quotes import Quote
from bathysphere.evidence.snapshots import SnapshotInfo

ClaimStatus = Literal["supported", "repaired", "unsupported"]
"""All quotes verified as cited; a quote moved, repaired or removed, but one verified; none."""

FindingCode = Literal[
    "no_quote",
    "quote_absent",
    "quote_altered",
    "quote_injected",
    "quote_too_short",
    "quote_too_long",
    "unknown_source",
    "quote_moved",
    "quote_repaired",
    "number_absent",
    "number_outside_quote",
    "name_absent",
    "url_not_read",
    "dangling_marker",
]

FlagCode = Literal["thin", "soft_404", "paywall", "redirected", "injection", "copy_of_another"]
"""Warnings about a source, found by rule."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]

Count = Annotated[int, Field(ge=0)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# ── the draft ──


class Citation(_Data):
    """A quote attributed to a source: a snapshot's id, or its number in the list of sources."""

    source: str = Field(max_length=200)
    quote: str = Field(max_length=4_000)


class DraftClaim(_Data):
    """One sentence and its citations."""

    text: Text
    citations: tuple[Citation, ...] = Field(default=(), max_length=20)


class DraftSection(_Data):
    """A heading and its sentences. `remarks` (method, limits) need no quotes."""

    heading: Text
    claims: tuple[DraftClaim, ...] = Field(default=(), max_length=200)
    kind: Literal["findings", "remarks"] = "findings"


class DraftContradiction(_Data):
    """Sources that disagree according to the model; each side must be a verified quote."""

    topic: Text
    sides: tuple[Citation, ...] = Field(min_length=2, max_length=8)


class Draft(_Data):
    """A report before it is checked."""

    title: Text
    sections: tuple[DraftSection, ...] = Field(default=(), max_length=50)
    contradictions: tuple[DraftContradiction, ...] = Field(default=(), max_length=50)


# ── the report ──


class Finding(_Data):
    """A finding of a check about a claim; an `error` makes it unsupported, a `note` informs."""

    code: FindingCode
    level: Literal["error", "note"]
    detail: str = ""


class Judgement(_Data):
    """A model's answer to: does the claim follow from its quotes? No check depends on it."""

    follows: bool
    reason: str = ""


class Claim(_Data):
    """One sentence of the report and its quotes."""

    id: Annotated[str, StringConstraints(pattern=r"^c[0-9]+$")]
    text: str
    status: ClaimStatus
    quotes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    independent: Count = 0
    """The number of sources that support it, counting copies once."""
    judgement: Judgement | None = None
    """Not judged if None."""


class Section(_Data):
    """A heading and its claims; claims in `remarks` need no evidence."""

    heading: str
    kind: Literal["findings", "remarks"] = "findings"
    claims: tuple[Claim, ...] = ()


class Dropped(_Data):
    """A claim that was removed, and why."""

    text: str
    findings: tuple[Finding, ...]


class Side(_Data):
    """One side of a disagreement."""

    quote: str
    snapshot: str
    published: str | None = None


class Contradiction(_Data):
    """Quotes that disagree with each other."""

    topic: str
    sides: tuple[Side, ...]
    found_by: Literal["rule", "model"]


class Source(_Data):
    """A numbered source of the report."""

    number: Count
    snapshot: SnapshotInfo
    flags: tuple[FlagCode, ...] = ()


class Tally(_Data):
    """The counts of a report."""

    claims: Count
    supported: Count
    repaired: Count
    unsupported: Count
    dropped: Count
    quotes: Count
    quotes_refused: Count
    sources: Count
    contradictions: Count


class Report(_Data):
    """A checked report. Each quote is in its snapshot, byte for byte."""

    question: str
    title: str
    sections: tuple[Section, ...]
    quotes: tuple[Quote, ...]
    sources: tuple[Source, ...]
    contradictions: tuple[Contradiction, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    tally: Tally

    def quote(self, quote_id: str) -> Quote:
        """Return the quote with an id."""
        return next(quote for quote in self.quotes if quote.id == quote_id)

    def number_of(self, snapshot_id: str) -> int:
        """Return the number of a source in the report."""
        return next(s.number for s in self.sources if s.snapshot.id == snapshot_id)
