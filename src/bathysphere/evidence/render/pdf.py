"""Rendering as a PDF, with ReportLab and the Source Sans font (extra `research`).

The font has Latin, Greek and Cyrillic letters. A letter it lacks is shown as its code, so that a
quote never silently loses one.
"""

from collections.abc import Iterator
from importlib.resources import files
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from bathysphere.core.errors import missing_extra
from bathysphere.evidence.render.blocks import (
    Block,
    Cited,
    Fold,
    Heading,
    Link,
    Note,
    Paragraph,
    Table,
    blocks_of,
)
from bathysphere.evidence.report import Report

_FACES = {"Report": "Regular", "Report-Bold": "Bold"}
"""Its italics have only Latin letters, so quotes are set upright."""
_WIDTH = 450
"""Of a table, in points."""


def to_pdf(report: Report) -> bytes:
    """Render the report as a PDF; the same report gives the same bytes."""
    try:
        from reportlab.platypus import SimpleDocTemplate
    except ImportError as error:
        raise missing_extra("PDF reports", "research") from error

    out = BytesIO()
    template = SimpleDocTemplate(
        out, invariant=1, title=report.title, author="Bathysphere", lang="en"
    )
    writer = _Writer()
    template.build([part for block in blocks_of(report) for part in writer.write(block)])
    return out.getvalue()


class _Writer:
    """Converts blocks to ReportLab flowables."""

    def __init__(self) -> None:
        from reportlab.lib.styles import ParagraphStyle

        self._letters = _register_fonts()
        plain = ParagraphStyle("plain", fontName="Report", fontSize=10, leading=14, spaceAfter=6)
        self._plain = plain
        self._quote = ParagraphStyle("quote", plain, leftIndent=18, textColor="#222222")
        self._headings = {
            level: ParagraphStyle(
                f"h{level}",
                plain,
                fontName="Report-Bold",
                fontSize=size,
                leading=size + 4,
                spaceBefore=0 if level == 1 else 10,
            )
            for level, size in ((1, 18), (2, 14), (3, 11))
        }

    def write(self, block: Block) -> Iterator[Any]:
        """Return the flowables of one block."""
        from reportlab.platypus import Paragraph as Flowing

        if isinstance(block, Heading):
            yield Flowing(self._text(block.text), self._headings[block.level])
        elif isinstance(block, Paragraph):
            marks = "".join(f" [{number}]" for number in block.marks)
            warning = ""
            if block.warning:
                warning = f' <font name="Report-Bold">({self._text(block.warning)})</font>'
            yield Flowing(self._text(block.text) + marks + warning, self._plain)
        elif isinstance(block, Note):
            yield Flowing(f'<font color="#666666">{self._text(block.text)}</font>', self._plain)
        elif isinstance(block, Link):
            link = self._link(block.url)
            yield Flowing(f"{link}, {self._text(block.facts)}", self._plain)
        elif isinstance(block, Cited):
            text = self._text(block.text)
            place = self._text(block.place)
            yield Flowing(f'{text}<br/><font color="#666666">({place})</font>', self._quote)
        elif isinstance(block, Fold):
            yield Flowing(self._text(block.title), self._headings[2])
            for inner in block.blocks:
                yield from self.write(inner)
        else:
            yield self._table(block)

    def _table(self, table: Table) -> Any:
        from reportlab.platypus import Paragraph as Flowing
        from reportlab.platypus import Table as Grid

        rows = [
            [Flowing(self._text(cell), self._plain) for cell in row]
            for row in (table.head, *table.rows)
        ]
        widths = [_WIDTH * share / 100 for share in table.widths]
        style = [("GRID", (0, 0), (-1, -1), 0.5, "#888")]
        return Grid(rows, colWidths=widths, style=style, spaceAfter=12)

    def _link(self, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            return self._text(url)
        return f'<a href={quoteattr(url)} color="#0645ad">{self._text(url)}</a>'

    def _text(self, text: str) -> str:
        shown = (
            letter if letter in "\n\t" or ord(letter) in self._letters else f"[U+{ord(letter):04X}]"
            for letter in text
        )
        return escape("".join(shown)).replace("\n", "<br/>")


def _register_fonts() -> frozenset[int]:
    """Register the font, and return the characters it has."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    folder = files("font_source_sans_pro") / "files"
    letters: frozenset[int] = frozenset()
    for name, face in _FACES.items():
        font = TTFont(name, str(folder / f"SourceSansPro-{face}.ttf"))
        pdfmetrics.registerFont(font)
        has = frozenset(font.face.charToGlyph)
        letters = letters & has if letters else has
    return letters
