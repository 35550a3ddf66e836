"""The draft a model writes, and the report that comes out of checking it.

Everything here is plain data: it goes through state, events and the proof as JSON.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bathysphere.evidence.quotes import Quote
from bathysphere.evidence.snapshots import SnapshotInfo

ClaimStatus = Literal["supported", "repaired", "unsupported"]
"""Every quote as cited; a quote moved, mended or left out, but one stands; none that holds."""

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
"""What is odd about a source, found by rule."""

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4_000)]

Count = Annotated[int, Field(ge=0)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# ── what the model writes ──


class Citation(_Data):
    """Words that a source is said to contain: a snapshot's id, or its number in the list shown."""

    source: str = Field(max_length=200)
    quote: str = Field(max_length=4_000)


class DraftClaim(_Data):
    """One sentence, and what it stands on."""

    text: Text
    citations: tuple[Citation, ...] = Field(default=(), max_length=20)


class DraftSection(_Data):
    """A heading and its sentences. `remarks` (method, limits) need no quotes."""

    heading: Text
    claims: tuple[DraftClaim, ...] = Field(default=(), max_length=200)
    kind: Literal["findings", "remarks"] = "findings"


class DraftContradiction(_Data):
    """Sources that do not agree, as the model sees it; each side must be a quote that stands."""

    topic: Text
    sides: tuple[Citation, ...] = Field(min_length=2, max_length=8)


class Draft(_Data):
    """A whole report before it is checked."""

    title: Text
    sections: tuple[DraftSection, ...] = Field(default=(), max_length=50)
    contradictions: tuple[DraftContradiction, ...] = Field(default=(), max_length=50)


# ── what comes out ──


class Finding(_Data):
    """What a check said of a claim; `error` takes its support away, `note` informs."""

    code: FindingCode
    level: Literal["error", "note"]
    detail: str = ""


class Claim(_Data):
    """One sentence of the report and the quotes it stands on."""

    id: Annotated[str, StringConstraints(pattern=r"^c[0-9]+$")]
    text: str
    status: ClaimStatus
    quotes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    independent: Count = 0
    """How many sources that are no copies of one another it stands on."""


class Section(_Data):
    """A heading and its claims; remarks carry no proof and say so by their kind."""

    heading: str
    kind: Literal["findings", "remarks"] = "findings"
    claims: tuple[Claim, ...] = ()


class Dropped(_Data):
    """A claim that was left out, and why."""

    text: str
    findings: tuple[Finding, ...]


class Side(_Data):
    """One side of a disagreement."""

    quote: str
    snapshot: str
    published: str | None = None


class Contradiction(_Data):
    """Quotes that do not agree, side by side."""

    topic: str
    sides: tuple[Side, ...]
    found_by: Literal["rule", "model"]


class Source(_Data):
    """A numbered source of the report."""

    number: Count
    snapshot: SnapshotInfo
    flags: tuple[FlagCode, ...] = ()


class Tally(_Data):
    """The report in figures."""

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
    """A checked report. Each quote in it stands in its snapshot, byte for byte."""

    question: str
    title: str
    sections: tuple[Section, ...]
    quotes: tuple[Quote, ...]
    sources: tuple[Source, ...]
    contradictions: tuple[Contradiction, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    tally: Tally

    def quote(self, quote_id: str) -> Quote:
        """The quote of an id that a claim or a side names."""
        return next(quote for quote in self.quotes if quote.id == quote_id)

    def number_of(self, snapshot_id: str) -> int:
        """The number of a source in the list."""
        return next(s.number for s in self.sources if s.snapshot.id == snapshot_id)
