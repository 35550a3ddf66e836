"""Check a draft: verify every citation, and turn the draft into a report."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bathysphere.evidence.contradictions import find_contradictions, is_one_statement
from bathysphere.evidence.normal import plain
from bathysphere.evidence.numbers import missing_numbers
from bathysphere.evidence.quotes import Quote, QuoteCheck, check_quote
from bathysphere.evidence.report import (
    Citation,
    Claim,
    ClaimStatus,
    Contradiction,
    Draft,
    DraftClaim,
    Dropped,
    Finding,
    FindingCode,
    Report,
    Section,
    Side,
    Source,
    Tally,
)
from bathysphere.evidence.snapshots import Snapshot, Snapshots
from bathysphere.evidence.sources import clusters, flags_of, independent

Unsupported = Literal["mark", "drop"]
"""Whether a claim without support is kept and marked, or dropped and counted."""

_URL = re.compile(r"https?://[^\s<>\"')\]]+", re.IGNORECASE)
_MARKER = re.compile(r"(?:(?<!\s)\s++)?\[(?:\d++(?:\s*+[,;-]\s*+\d++)*|q[0-9a-f]++)\]")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w'-]+(?:\s+[A-Z][\w'-]+)*")
_REFUSED: dict[str, FindingCode] = {
    "absent": "quote_absent",
    "altered": "quote_altered",
    "injected": "quote_injected",
    "too_short": "quote_too_short",
    "too_long": "quote_too_long",
    "unknown_source": "unknown_source",
}


def settle(
    draft: Draft,
    snapshots: Snapshots,
    *,
    question: str,
    unsupported: Unsupported = "mark",
    numbered: Mapping[str, str] | None = None,
) -> Report:
    """Check a draft against the snapshots and build the report.

    Args:
        draft: The model's draft.
        snapshots: The sources read in this run; nothing else can be cited.
        question: The user's question.
        unsupported: Whether claims without support are marked or dropped.
        numbered: The numbers under which the model saw the sources, e.g. `{"1": snapshot id}`; ids
            and URLs always work.
    """
    check = _DraftCheck(snapshots, dict(numbered or {}), unsupported)
    sections = []
    for section in draft.sections:
        is_finding = section.kind == "findings"
        claims = [c for d in section.claims if (c := check.claim(d, must_cite=is_finding))]
        sections.append(Section(heading=section.heading, kind=section.kind, claims=tuple(claims)))
    contradictions = check.contradictions(draft)
    return _report(draft, question, sections, contradictions, check)


@dataclass
class _DraftCheck:
    """Inputs and results of a draft check."""

    snapshots: Snapshots
    numbered: dict[str, str]
    unsupported: Unsupported
    quotes: dict[str, Quote] = field(default_factory=dict)
    dropped: list[Dropped] = field(default_factory=list)
    refused: int = 0
    count: int = 0

    def __post_init__(self) -> None:
        self.family = clusters(self.snapshots.values())
        self.addresses = {s.info.url: s.id for s in self.snapshots.values()}
        self.addresses |= {s.info.final_url: s.id for s in self.snapshots.values()}

    def claim(self, draft: DraftClaim, *, must_cite: bool) -> Claim | None:
        """Check one sentence; returns its claim, or None if it is dropped."""
        checks = [self.check(citation) for citation in draft.citations]
        quotes = _unique(quote for check in checks for quote in check.quotes)
        findings = [finding for check in checks for finding in _of_check(check)]
        text = _MARKER.sub("", draft.text).strip() or draft.text
        if text != draft.text:
            findings.append(Finding(code="dangling_marker", level="note"))
        findings += self._of_text(text, quotes, must_cite=must_cite)
        status = _status(findings, quotes, must_cite=must_cite)
        if status == "unsupported" and self.unsupported == "drop":
            self.dropped.append(Dropped(text=text, findings=tuple(findings)))
            return None
        self.count += 1
        self.quotes |= {quote.id: quote for quote in quotes}
        return Claim(
            id=f"c{self.count}",
            text=text,
            status=status,
            quotes=tuple(quote.id for quote in quotes),
            findings=tuple(findings),
            independent=independent((quote.snapshot for quote in quotes), self.family),
        )

    def check(self, citation: Citation) -> QuoteCheck:
        """Check one citation; a source may be given by number, id or URL."""
        name = citation.source.strip().strip("[]")
        cited = self.numbered.get(name) or self.addresses.get(name) or name or None
        check = check_quote(citation.quote, self.snapshots, cited)
        self.refused += not check.is_valid
        return check

    def contradictions(self, draft: Draft) -> list[Contradiction]:
        """Return contradictions: the model's with verified sides, then those found by rule."""
        kept = []
        for named in draft.contradictions:
            checks = [self.check(side) for side in named.sides]
            quotes = _unique(quote for check in checks for quote in check.quotes)
            if len({quote.snapshot for quote in quotes}) >= 2 and not _is_agreement(quotes):
                self.quotes |= {quote.id: quote for quote in quotes}
                sides = tuple(self._side(quote) for quote in quotes)
                kept.append(Contradiction(topic=named.topic, sides=sides, found_by="model"))
        for found in find_contradictions(list(self.quotes.values()), self.snapshots):
            kept.append(found.contradiction)
            for quote in found.quotes:
                self.quotes.setdefault(quote.id, quote)
        return kept

    def _side(self, quote: Quote) -> Side:
        published = self.snapshots[quote.snapshot].info.published
        return Side(quote=quote.id, snapshot=quote.snapshot, published=published)

    def _of_text(self, text: str, quotes: list[Quote], *, must_cite: bool) -> list[Finding]:
        """Find numbers, names and URLs in a claim that its sources do not contain."""
        found = [
            Finding(code="url_not_read", level="error", detail=url)
            for url in _URL.findall(text)
            if url.rstrip(".,;") not in self.addresses
        ]
        if not quotes:
            return [*found, Finding(code="no_quote", level="error")] if must_cite else found
        sources = [self.snapshots[quote.snapshot] for quote in quotes]
        return found + _numbers(text, quotes, sources) + _names(text, sources)


def _numbers(text: str, quotes: list[Quote], sources: list[Snapshot]) -> list[Finding]:
    outside = missing_numbers(text, *(quote.text for quote in quotes))
    absent = missing_numbers(text, *(source.text for source in sources)) if outside else []
    found = [Finding(code="number_absent", level="error", detail=number) for number in absent]
    return found + [
        Finding(code="number_outside_quote", level="note", detail=number)
        for number in outside
        if number not in absent
    ]


def _names(text: str, sources: list[Snapshot]) -> list[Finding]:
    read = " ".join(f"{s.info.title} {s.normalised.text}" for s in sources).casefold()
    missing = [
        name
        for name in _NAME.findall(plain(text))
        if any(word.casefold() not in read for word in name.split())
    ]
    return [Finding(code="name_absent", level="note", detail=name) for name in missing]


def _of_check(check: QuoteCheck) -> list[Finding]:
    shown = " ".join(check.written.split())[:200]
    if check.refusal:
        return [Finding(code=_REFUSED[check.refusal], level="note", detail=shown)]
    how = {quote.found for quote in check.quotes}
    if "moved" in how:
        return [Finding(code="quote_moved", level="note", detail=shown)]
    if "repaired" in how:
        return [Finding(code="quote_repaired", level="note", detail=shown)]
    return []


def _status(findings: list[Finding], quotes: list[Quote], *, must_cite: bool) -> ClaimStatus:
    if any(finding.level == "error" for finding in findings):
        return "unsupported"
    if not quotes and must_cite:
        return "unsupported"
    mended = {"quote_moved", "quote_repaired", *_REFUSED.values()}
    return "repaired" if any(finding.code in mended for finding in findings) else "supported"


def _is_agreement(quotes: list[Quote]) -> bool:
    """Whether all sides state the same in different units."""
    first, *others = (quote.text for quote in quotes)
    return all(is_one_statement(first, other) for other in others)


def _unique(quotes: Iterable[Quote]) -> list[Quote]:
    return list({quote.id: quote for quote in quotes}.values())


def _report(
    draft: Draft,
    question: str,
    sections: list[Section],
    contradictions: list[Contradiction],
    check: _DraftCheck,
) -> Report:
    quotes = tuple(check.quotes.values())
    cited = list(dict.fromkeys(quote.snapshot for quote in quotes))
    sources = tuple(
        Source(
            number=number,
            snapshot=check.snapshots[key].info,
            flags=tuple(flags_of(check.snapshots[key], check.snapshots, check.family)),
        )
        for number, key in enumerate(cited, 1)
    )
    return Report(
        question=question,
        title=draft.title,
        sections=tuple(sections),
        quotes=quotes,
        sources=sources,
        contradictions=tuple(contradictions),
        dropped=tuple(check.dropped),
        tally=tally(sections, check.dropped, quotes, check.refused, len(sources), contradictions),
    )


def tally(
    sections: Iterable[Section],
    dropped: Iterable[Dropped],
    quotes: Iterable[Quote],
    refused: int,
    sources: int,
    contradictions: Iterable[Contradiction],
) -> Tally:
    """Count the parts of a report; remarks do not count as claims."""
    statuses = [c.status for s in sections if s.kind == "findings" for c in s.claims]
    gone = len(list(dropped))
    return Tally(
        claims=len(statuses) + gone,
        supported=statuses.count("supported"),
        repaired=statuses.count("repaired"),
        unsupported=statuses.count("unsupported"),
        dropped=gone,
        quotes=len(list(quotes)),
        quotes_refused=refused,
        sources=sources,
        contradictions=len(list(contradictions)),
    )
