"""A report as a list of blocks, which every format renders in its own way.

The browser's verifier has the same order of blocks; a change here is a change there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from bathysphere.core.words import count
from bathysphere.evidence.quotes import Quote
from bathysphere.evidence.report import Claim, Contradiction, Finding, Report, Source

CLOSING = (
    "A checked quote stands in its source, byte for byte. That does not prove that the claim "
    "follows from it: read the quote."
)

FINDINGS = {
    "no_quote": "no quote",
    "quote_absent": "a quote is not in the source",
    "quote_altered": "a quote was altered",
    "quote_injected": "a quote is an instruction to the model",
    "quote_too_short": "a quote is too short",
    "quote_too_long": "a quote is too long",
    "unknown_source": "a source was not read",
    "quote_moved": "a quote was found in another source",
    "quote_repaired": "a quote was mended with the source's words",
    "number_absent": "a number is in none of its sources",
    "number_outside_quote": "a number is in the source but not in the quote",
    "name_absent": "a name is in none of its sources",
    "url_not_read": "an address was not read",
    "dangling_marker": "a marker was removed",
}
_ASIDE = frozenset({"number_outside_quote", "name_absent", "dangling_marker"})
"""Findings that explain nothing about a claim's status."""
FLAGS = {
    "thin": "very short page",
    "soft_404": "may be an error page",
    "paywall": "may be cut by a paywall",
    "redirected": "came from another host",
    "injection": "tries to instruct the model",
    "copy_of_another": "copy of another source",
}


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    level: Literal[1, 2, 3]
    text: str


@dataclass(frozen=True)
class Paragraph:
    """A line of text; `marks` are source numbers, `warning` is shown in bold."""

    text: str
    marks: tuple[int, ...] = ()
    warning: str = ""


@dataclass(frozen=True)
class Link:
    """A URL, followed by facts about it."""

    url: str
    facts: str


@dataclass(frozen=True)
class Cited:
    """A quote and its location."""

    text: str
    place: str


@dataclass(frozen=True)
class Table:
    """Rows under a header; all cells are text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Heading | Paragraph | Link | Cited | Table


def blocks_of(report: Report) -> Iterator[Block]:
    """Convert a report to blocks, from its title to its sources."""
    yield Heading(1, report.title)
    yield Paragraph(f"Question: {report.question}")
    yield Paragraph(_in_figures(report))
    for section in report.sections:
        yield Heading(2, section.heading)
        for claim in section.claims:
            yield _claim(claim, report)
    if report.contradictions:
        yield Heading(2, "Where sources disagree")
        for found in report.contradictions:
            yield Paragraph(found.topic)
            yield _sides(found, report)
    if report.dropped:
        yield Heading(2, "Left out")
        for number, dropped in enumerate(report.dropped, 1):
            yield Paragraph(f"Claim {number}: {_reasons(dropped.findings)}")
    yield Heading(2, "Sources")
    for source in report.sources:
        yield from _source(source, report)
    yield Paragraph(CLOSING)


def _in_figures(report: Report) -> str:
    tally = report.tally
    return (
        f"{count(tally.claims, 'claim')}: {tally.supported} supported, {tally.repaired} repaired, "
        f"{tally.unsupported} unsupported, {tally.dropped} left out. "
        f"{count(tally.quotes, 'quote')} from {count(tally.sources, 'source')}, "
        f"{tally.quotes_refused} refused. {count(tally.contradictions, 'disagreement')}."
    )


def _claim(claim: Claim, report: Report) -> Paragraph:
    snapshots = dict.fromkeys(report.quote(quote).snapshot for quote in claim.quotes)
    marks = tuple(sorted(report.number_of(snapshot) for snapshot in snapshots))
    warning = ""
    if claim.status != "supported":
        warning = f"{claim.status}: {_reasons(claim.findings)}"
    return Paragraph(claim.text, marks, warning)


def _reasons(findings: Sequence[Finding]) -> str:
    codes = dict.fromkeys(finding.code for finding in findings if finding.code not in _ASIDE)
    return ", ".join(FINDINGS[code] for code in codes)


def _sides(found: Contradiction, report: Report) -> Table:
    rows = tuple(
        (f"[{report.number_of(s.snapshot)}]", s.published or "no date", report.quote(s.quote).text)
        for s in found.sides
    )
    return Table(("Source", "Dated", "Says"), rows)


def _source(source: Source, report: Report) -> Iterator[Block]:
    info = source.snapshot
    yield Heading(3, f"[{source.number}] {info.title or info.final_url}")
    facts = f"read {info.fetched_at}"
    facts += f", dated {info.published}" if info.published else ""
    facts += f", {info.origin}, SHA-256 of the text {info.text_sha256}"
    facts += "".join(f", {FLAGS[flag]}" for flag in source.flags)
    yield Link(info.final_url, facts)
    for quote in report.quotes:
        if quote.snapshot == info.id:
            yield Cited(quote.text, _place(quote, report))


def _place(quote: Quote, report: Report) -> str:
    users = [c.id for s in report.sections for c in s.claims if quote.id in c.quotes]
    for_claims = f", for {', '.join(users)}" if users else ""
    return f"bytes {quote.start} to {quote.end}{for_claims}"
