"""Rendering as a Word document, with the few parts of Office Open XML that a report needs.

Written by hand because it is small: headings, paragraphs, quotations, tables and links, always with
the same bytes for the same report.
"""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from bathysphere.evidence.archive import build_archive
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

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OFFICE = "http://schemas.openxmlformats.org"
_W = f'xmlns:w="{_OFFICE}/wordprocessingml/2006/main"'
_R = f'xmlns:r="{_OFFICE}/officeDocument/2006/relationships"'
_RELATION = f"{_OFFICE}/officeDocument/2006/relationships"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'

_TYPES = (
    f'{_HEAD}<Types xmlns="{_OFFICE}/package/2006/content-types">'
    '<Default Extension="rels"'
    ' ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/'
    'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" ContentType="application/'
    'vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>'
)
_ROOT = (
    f'{_HEAD}<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_RELATION}/officeDocument" Target="word/document.xml"/>'
    "</Relationships>"
)


def to_docx(report: Report) -> bytes:
    """Render the report as a `.docx` file."""
    links: list[str] = []
    body = "".join(part for block in blocks_of(report) for part in _write(block, links))
    page = '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/></w:sectPr>'
    document = f"{_HEAD}<w:document {_W} {_R}><w:body>{body}{page}</w:body></w:document>"
    files = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _ROOT,
        "word/_rels/document.xml.rels": _relations(links),
        "word/document.xml": document,
        "word/styles.xml": _styles(),
    }
    return build_archive([(name, text.encode("utf-8")) for name, text in files.items()])


def _write(block: Block, links: list[str]) -> Iterator[str]:
    if isinstance(block, Heading):
        style = "Title" if block.level == 1 else f"Heading{block.level - 1}"
        yield _paragraph(_run(block.text), style)
    elif isinstance(block, Paragraph):
        marks = "".join(f" [{number}]" for number in block.marks)
        warning = _run(f" ({block.warning})", bold=True) if block.warning else ""
        yield _paragraph(_run(block.text + marks) + warning)
    elif isinstance(block, Note):
        yield _paragraph(_run(block.text), "Quote")
    elif isinstance(block, Link):
        yield _paragraph(_link(block.url, links) + _run(f", {block.facts}"))
    elif isinstance(block, Cited):
        yield _paragraph(_run(block.text), "Quote")
        yield _paragraph(_run(f"({block.place})"), "Quote")
    elif isinstance(block, Fold):
        yield _paragraph(_run(block.title), "Heading1")
        for inner in block.blocks:
            yield from _write(inner, links)
    else:
        yield _table(block)


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def _run(text: str, *, bold: bool = False) -> str:
    properties = "<w:rPr><w:b/></w:rPr>" if bold else ""
    lines = _text(text).replace("\n", '</w:t><w:br/><w:t xml:space="preserve">')
    return f'<w:r>{properties}<w:t xml:space="preserve">{lines}</w:t></w:r>'


def _paragraph(content: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}{content}</w:p>"


def _link(url: str, links: list[str]) -> str:
    if not url.startswith(("http://", "https://")):
        return _run(url)
    links.append(url)
    return f'<w:hyperlink r:id="link{len(links)}">{_run(url)}</w:hyperlink>'


def _table(table: Table) -> str:
    rows = [
        "<w:tr>" + "".join(f"<w:tc>{_paragraph(_run(cell))}</w:tc>" for cell in row) + "</w:tr>"
        for row in (table.head, *table.rows)
    ]
    borders = "".join(
        f'<w:{side} w:val="single" w:sz="4"/>'
        for side in ("top", "left", "bottom", "right", "insideH", "insideV")
    )
    grid = "".join("<w:gridCol/>" for _ in table.head)
    properties = f"<w:tblPr><w:tblBorders>{borders}</w:tblBorders></w:tblPr>"
    return f"<w:tbl>{properties}<w:tblGrid>{grid}</w:tblGrid>{''.join(rows)}</w:tbl><w:p/>"


def _relations(links: list[str]) -> str:
    targets = "".join(
        f'<Relationship Id="link{n}" Type="{_RELATION}/hyperlink"'
        f' Target={quoteattr(_NOT_XML.sub("", url))} TargetMode="External"/>'
        for n, url in enumerate(links, 1)
    )
    styles = f'<Relationship Id="styles" Type="{_RELATION}/styles" Target="styles.xml"/>'
    start = f'{_HEAD}<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
    return f"{start}{styles}{targets}</Relationships>"


def _styles() -> str:
    sizes = {"Title": 40, "Heading1": 32, "Heading2": 26}
    names = {"Title": "Title", "Heading1": "heading 1", "Heading2": "heading 2"}
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{style}"><w:name w:val="{names[style]}"/>'
        '<w:basedOn w:val="Normal"/>'
        f'<w:pPr><w:spacing w:before="240" w:after="120"/></w:pPr>'
        f'<w:rPr><w:b/><w:sz w:val="{size}"/></w:rPr></w:style>'
        for style, size in sizes.items()
    )
    quote = (
        '<w:style w:type="paragraph" w:styleId="Quote"><w:name w:val="Quote"/>'
        '<w:basedOn w:val="Normal"/>'
        '<w:pPr><w:ind w:left="567"/></w:pPr><w:rPr><w:i/></w:rPr></w:style>'
    )
    normal = (
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/>'
        '<w:pPr><w:spacing w:after="120"/></w:pPr><w:rPr><w:sz w:val="22"/></w:rPr></w:style>'
    )
    return f"{_HEAD}<w:styles {_W}>{normal}{styles}{quote}</w:styles>"
