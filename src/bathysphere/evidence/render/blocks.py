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

NOT_JUDGED = "Not judged"
FOLLOWS = "Judged by a model: follows from its quotes"
NOT_FOLLOWS = "Judged by a model: does not follow from its quotes"
NO_ANSWER = "No claim is supported by a checked quote."
APPENDIX = "Appendix: hashes of the sources and places of the quotes"
ANSWER_CLAIMS = 3
"""How many claims the short answer has."""
ORIGINS = {
    "web": "from the web",
    "corpus": "from the server's documents",
    "client": "from the person's documents",
}
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
class Note:
    """A remark about the claim before it."""

    text: str


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
    widths: tuple[int, ...] = (11, 16, 73)
    """Of the columns, in percent, where a format needs them."""


@dataclass(frozen=True)
class Fold:
    """A section of details: collapsed if the format supports it, otherwise at the end."""

    title: str
    blocks: "tuple[Block, ...]"


Block = Heading | Paragraph | Note | Link | Cited | Table | Fold


def blocks_of(report: Report) -> Iterator[Block]:
    """Convert a report to blocks: the answer, its evidence, the sources, then the details."""
    yield Heading(1, report.title)
    if report.question != report.title:
        yield Paragraph(f"Question: {report.question}")
    yield from _answer(report)
    for section in report.sections:
        shown = [claim for claim in section.claims if claim.status != "unsupported"]
        if shown:
            yield Heading(2, section.heading)
        for claim in shown:
            yield from _claim(claim, report)
    if report.contradictions:
        yield Heading(2, "Where sources disagree")
        for found in report.contradictions:
            yield Paragraph(found.topic)
            yield _sides(found, report)
    yield Heading(2, "Sources")
    for source in report.sources:
        yield from _source(source)
    yield Paragraph(CLOSING)
    yield from _not_supported(report)
    if report.sources:
        yield Fold(APPENDIX, (_hashes(report), _positions(report)))


def answer_of(report: Report) -> tuple[Claim, ...]:
    """Return the claims that answer first: supported ones, or repaired ones if there are none."""
    claims = [c for s in report.sections if s.kind == "findings" for c in s.claims]
    supported = [claim for claim in claims if claim.status == "supported"]
    repaired = [claim for claim in claims if claim.status == "repaired"]
    return tuple((supported or repaired)[:ANSWER_CLAIMS])


def _answer(report: Report) -> Iterator[Block]:
    yield Heading(2, "Answer")
    claims = answer_of(report)
    for claim in claims:
        yield _sentence(claim, report)
        if claim.judgement is not None and not claim.judgement.follows:
            yield Note(judgement_of(claim))
    if not claims:
        yield Paragraph(NO_ANSWER)
    yield Paragraph(_in_figures(report))


def _in_figures(report: Report) -> str:
    tally = report.tally
    return (
        f"{count(tally.claims, 'claim')}: {tally.supported} supported, {tally.repaired} repaired, "
        f"{tally.unsupported} unsupported, {tally.dropped} left out. "
        f"{count(tally.quotes, 'quote')} from {count(tally.sources, 'source')}, "
        f"{tally.quotes_refused} refused. {count(tally.contradictions, 'disagreement')}."
    )


def _claim(claim: Claim, report: Report) -> Iterator[Block]:
    yield _sentence(claim, report)
    for quote in map(report.quote, claim.quotes):
        yield Cited(quote.text, _place(quote, report))
    if claim.quotes and claim.status != "unsupported":
        yield Note(judgement_of(claim))


def judgement_of(claim: Claim) -> str:
    """What a model says about a claim, as text; a claim without a judgement is not judged."""
    if claim.judgement is None:
        return NOT_JUDGED
    reason = claim.judgement.reason
    return (FOLLOWS if claim.judgement.follows else NOT_FOLLOWS) + (f": {reason}" if reason else "")


def _sentence(claim: Claim, report: Report) -> Paragraph:
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


def _source(source: Source) -> Iterator[Block]:
    info = source.snapshot
    yield Heading(3, f"[{source.number}] {info.title or info.final_url}")
    facts = f"dated {info.published}, " if info.published else ""
    facts += f"read {info.fetched_at[:10]} {ORIGINS[info.origin]}"
    facts += "".join(f", {FLAGS[flag]}" for flag in source.flags)
    yield Link(info.final_url, facts)


def _place(quote: Quote, report: Report) -> str:
    source = next(one for one in report.sources if one.snapshot.id == quote.snapshot)
    info = source.snapshot
    dated = f", dated {info.published}" if info.published else ""
    number = report.quotes.index(quote) + 1
    return f"[{source.number}] {info.title or info.final_url}{dated}; quote {number}"


def _not_supported(report: Report) -> Iterator[Block]:
    claims = [c for s in report.sections for c in s.claims if c.status == "unsupported"]
    number = len(claims) + len(report.dropped)
    left = [
        Paragraph(f"Left out. Claim {n}: {_reasons(dropped.findings)}")
        for n, dropped in enumerate(report.dropped, 1)
    ]
    if number:
        shown = [block for claim in claims for block in _claim(claim, report)]
        yield Fold(f"Not supported ({number})", (*shown, *left))


def _hashes(report: Report) -> Table:
    rows = tuple(
        (f"[{one.number}]", one.snapshot.fetched_at, one.snapshot.text_sha256)
        for one in report.sources
    )
    return Table(("Source", "Read", "SHA-256 of the text"), rows, (11, 25, 64))


def _positions(report: Report) -> Table:
    rows = tuple(
        (str(n), f"[{report.number_of(quote.snapshot)}]", f"{quote.start} to {quote.end}")
        for n, quote in enumerate(report.quotes, 1)
    )
    return Table(("Quote", "Source", "Bytes of the text"), rows, (11, 25, 64))
