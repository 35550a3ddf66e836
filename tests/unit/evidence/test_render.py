"""A report in four formats: each has every claim, quote and source, and nothing runs in any."""

import io
import re
import zipfile
from html.parser import HTMLParser
from xml.etree import ElementTree

import pypdfium2
import pytest
from evidence_pages import page
from proofs import judged, report

from bathysphere.evidence.render.blocks import (
    APPENDIX,
    FOLLOWS,
    NOT_FOLLOWS,
    NOT_JUDGED,
    Note,
    answer_of,
    blocks_of,
)
from bathysphere.evidence.render.docx import to_docx
from bathysphere.evidence.render.html import to_html
from bathysphere.evidence.render.markdown import escape, to_markdown
from bathysphere.evidence.render.pdf import to_pdf
from bathysphere.evidence.report import Citation, Draft, DraftClaim, DraftSection, Judgement
from bathysphere.evidence.settle import settle
from bathysphere.evidence.snapshots import by_id

REPORT, _ = report()
DROPPED, _ = report("drop")
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def flat(text: str) -> str:
    return "".join(text.split())


def text_of_html(page: str) -> str:
    class Reader(HTMLParser):
        texts: list[str] = []  # noqa: RUF012

        def handle_data(self, data):
            self.texts.append(data)

    reader = Reader()
    reader.texts = []
    reader.feed(page)
    return "".join(reader.texts)


def text_of_docx(data: bytes) -> str:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        for name in archive.namelist():
            ElementTree.fromstring(archive.read(name))
        root = ElementTree.fromstring(archive.read("word/document.xml"))
    return "\n".join(
        "".join(text.text or "" for text in paragraph.iter(f"{W}t"))
        for paragraph in root.iter(f"{W}p")
    )


def text_of_pdf(data: bytes) -> str:
    document = pypdfium2.PdfDocument(data)
    pages = [document[n].get_textpage().get_text_range() for n in range(len(document))]
    document.close()
    return "\n".join(pages)


def unescaped(markdown: str) -> str:
    return re.sub(r"\\(.)", r"\1", markdown)


FORMATS = {
    "markdown": lambda made: unescaped(to_markdown(made)),
    "html": lambda made: text_of_html(to_html(made)),
    "docx": lambda made: text_of_docx(to_docx(made)),
    "pdf": lambda made: text_of_pdf(to_pdf(made)),
}


def expected(kind: str, text: str) -> str:
    if kind == "pdf":
        text = "".join(c if c not in "漢字🌊" else f"[U+{ord(c):04X}]" for c in text)
    return flat(text)


@pytest.mark.parametrize("kind", FORMATS)
def test_every_claim_quote_and_source_is_there(kind):
    shown = flat(FORMATS[kind](REPORT))
    for section in REPORT.sections:
        assert expected(kind, section.heading) in shown
        for claim in section.claims:
            assert expected(kind, claim.text) in shown
    for quote in REPORT.quotes:
        assert expected(kind, quote.text) in shown
    for source in REPORT.sources:
        assert f"[{source.number}]" in shown
        assert flat(source.snapshot.final_url) in shown
        assert source.snapshot.text_sha256 in shown
    assert flat("unsupported: a quote is not in the source, no quote") in shown
    assert flat("Where sources disagree") in shown
    assert "That does not prove" in FORMATS[kind](REPORT).replace("\r\n", " ").replace("\n", " ")


@pytest.mark.parametrize("kind", FORMATS)
def test_what_was_left_out_is_said(kind):
    shown = flat(FORMATS[kind](DROPPED))
    assert flat("Left out") in shown
    assert flat("Claim 1: a number is in none of its sources") in shown
    assert flat("3 left out") in shown
    assert flat("It cost $99.") not in shown


@pytest.mark.parametrize("make", [to_markdown, to_html, to_docx, to_pdf], ids=lambda f: f.__name__)
def test_the_same_report_is_the_same_bytes(make):
    assert make(report()[0]) == make(report()[0])


EVIL = (
    '<script>alert(1)</script> <img src=x onerror="alert(1)"> ![x](https://evil.example/p.png) '
    "[click](javascript:alert(1)) </w:t></w:r> ]]> &lt; <a href='x'>y</a> \x00\x08\x1b\ufffe text"
)


def evil_report():
    source = page(
        f"{EVIL} and a few honest words.", url="https://evil.example/'\"><script>", title=EVIL
    )
    draft = Draft(
        title=EVIL,
        sections=(
            DraftSection(
                heading=EVIL,
                claims=(
                    DraftClaim(text=EVIL, citations=(Citation(source=source.id, quote=EVIL),)),
                ),
            ),
        ),
    )
    made = settle(draft, by_id([source]), question=EVIL)
    assert made.quotes
    return made


def test_nothing_of_a_source_runs_in_html():
    page = to_html(evil_report())
    tags = re.findall(r"<(\w+)", page)
    assert set(tags) <= {
        *("html", "head", "meta", "title", "style", "body", "main"),
        *("h1", "h2", "h3", "p", "a", "span", "blockquote", "div"),
        *("details", "summary", "table", "thead", "tbody", "tr", "th", "td"),
    }
    assert "javascript:" not in re.findall(r'href="([^"]*)"', page)
    assert all(
        link.startswith(("#source-", "https://evil.example/"))
        for link in re.findall(r'href="([^"]*)"', page)
    )
    assert "default-src 'none'" in page


def test_nothing_of_a_source_is_markup_in_markdown():
    shown = to_markdown(evil_report())
    bare = re.sub(r"\\.", "", shown)
    assert "<script" not in bare
    assert "![" not in bare
    assert "](" not in bare


def test_nothing_of_a_source_breaks_docx_or_pdf():
    assert "alert(1)" in text_of_docx(to_docx(evil_report()))
    assert "alert(1)" in text_of_pdf(to_pdf(evil_report()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. x", "1\\. x"),
        ("12) x", "12\\) x"),
        ("- x", "\\- x"),
        ("a - b", "a - b"),
        ("a\nb\x00c", "a b c"),
        ("  x  ", "x"),
        ("*a* _b_ `c` #d", "\\*a\\* \\_b\\_ \\`c\\` \\#d"),
        ("", ""),
    ],
)
def test_text_stays_text_in_markdown(text, shown):
    assert escape(text) == shown


def test_one_of_a_kind_is_singular_in_every_format():
    tally = REPORT.tally.model_copy(
        update={"claims": 1, "quotes": 1, "sources": 1, "contradictions": 1}
    )
    one = REPORT.model_copy(update={"tally": tally})
    texts = {
        "md": to_markdown(one),
        "html": text_of_html(to_html(one)),
        "docx": text_of_docx(to_docx(one)),
        "pdf": text_of_pdf(to_pdf(one)),
    }
    for kind, text in texts.items():
        words = " ".join(text.split())
        assert "1 claim:" in words, kind
        assert "1 quote from 1 source," in words, kind
        assert "1 disagreement." in words, kind


# ── the order of what is shown ──


@pytest.mark.parametrize("kind", FORMATS)
def test_the_answer_comes_first_and_hashes_last(kind):
    shown = flat(FORMATS[kind](REPORT))
    places = [
        flat(words)
        for words in (
            "Answer",
            "It was finished in 1974.[1]",
            "6 claims:",
            "Age & size [1]",
            "Where sources disagree",
            "That does not prove",
            "Not supported (3)",
            "It cost $99.",
            "Appendix:",
            REPORT.sources[0].snapshot.text_sha256,
        )
    ]
    at = 0
    for words in places:
        assert words in shown[at:], words
        at = shown.index(words, at) + len(words)
    before = shown[: shown.index("Appendix:")]
    assert REPORT.sources[0].snapshot.text_sha256 not in before
    assert "bytes" not in before.lower().replace("byteforbyte", "")


def test_the_answer_has_supported_claims_only_and_few():
    def answer(*statuses):
        claims = tuple(
            REPORT.sections[0].claims[0].model_copy(update={"id": f"c{n}", "status": status})
            for n, status in enumerate(statuses, 1)
        )
        sections = (REPORT.sections[0].model_copy(update={"claims": claims}), REPORT.sections[1])
        made = REPORT.model_copy(update={"sections": sections})
        return [claim.id for claim in answer_of(made)]

    assert answer("unsupported", "repaired", "supported") == ["c3"]
    assert answer("unsupported", "repaired") == ["c2"]
    assert answer("unsupported") == []
    assert answer(*["supported"] * 9) == ["c1", "c2", "c3"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_report_without_support_says_so_where_the_answer_would_be(kind):
    draft = Draft(
        title="T", sections=(DraftSection(heading="F", claims=(DraftClaim(text="So it is."),)),)
    )
    shown = flat(FORMATS[kind](settle(draft, {}, question="Is it?")))
    assert shown.index(flat("Answer No claim is supported")) < shown.index(flat("So it is."))
    assert flat("Not supported (1)") in shown
    assert "Appendix" not in shown


def test_what_is_not_supported_and_the_hashes_are_folded_in_html():
    _, _, folded = to_html(REPORT).partition("<details>")
    titles = re.findall(r"<details>\n<summary>(.*?)</summary>", "<details>" + folded)
    assert titles == ["Not supported (3)", APPENDIX]
    assert "It cost $99." in folded
    assert to_html(REPORT).count("</details>") == 2


@pytest.mark.parametrize("kind", FORMATS)
def test_sources_and_quotes_have_their_dates(kind):
    shown = flat(FORMATS[kind](REPORT))
    assert flat("dated 1999-01-01, read 2026-11-15 from the web") in shown
    assert flat("dated 1999-01-01; quote 1") in shown
    assert flat("read 2026-11-15 from the person's documents") in shown


def test_the_question_is_said_once():
    same = REPORT.model_copy(update={"question": REPORT.title})
    assert "Question:" in to_markdown(REPORT)
    assert "Question:" not in to_markdown(same)


# ── judgements ──


@pytest.mark.parametrize("kind", FORMATS)
def test_a_judgement_is_shown_as_one_and_a_missing_one_as_not_judged(kind):
    shown = flat(FORMATS[kind](REPORT))
    assert flat(f"{NOT_FOLLOWS}: the <quote> says *less*") in shown
    assert shown.count(flat(FOLLOWS)) == 1
    assert flat(NOT_JUDGED) in shown
    none = flat(FORMATS[kind](judged(REPORT, [])))
    assert flat("Judged by a model") not in none
    assert none.count(flat(NOT_JUDGED)) == 3  # the claims that have support


@pytest.mark.parametrize("follows", [True, False])
def test_a_judgement_moves_no_claim(follows):
    claims = len(REPORT.sections[0].claims)
    made = judged(REPORT, [Judgement(follows=follows)] * claims)
    bare = [block for block in blocks_of(judged(REPORT, [])) if not isinstance(block, Note)]
    assert [block for block in blocks_of(made) if not isinstance(block, Note)] == bare
