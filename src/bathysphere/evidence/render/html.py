"""Rendering as one HTML page: no scripts, no external resources, all text escaped."""

from collections.abc import Iterator
from html import escape

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

_STYLE = """
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid #888 }
blockquote { white-space: pre-wrap }
table { border-collapse: collapse }
table { margin: 1rem 0 }
td, th { border: 1px solid #888; padding: .3rem .6rem; text-align: left }
td { overflow-wrap: anywhere }
summary { margin: 1.5rem 0 .5rem; font-size: 1.2rem; font-weight: bold; cursor: pointer }
.warning { font-weight: bold; color: #a40000 }
.place { color: #555; font-size: .85rem }
a { overflow-wrap: anywhere }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def to_html(report: Report) -> str:
    """Render the report as a self-contained page."""
    body = "\n".join(part for block in blocks_of(report) for part in _write(block))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{escape(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _write(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        anchor = _anchor(block)
        yield f"<h{block.level}{anchor}>{escape(block.text)}</h{block.level}>"
    elif isinstance(block, Paragraph):
        marks = "".join(f' <a href="#source-{n}">[{n}]</a>' for n in block.marks)
        warning = ""
        if block.warning:
            warning = f' <span class="warning">({escape(block.warning)})</span>'
        yield f"<p>{escape(block.text)}{marks}{warning}</p>"
    elif isinstance(block, Note):
        yield f'<p class="place">{escape(block.text)}</p>'
    elif isinstance(block, Link):
        yield f'<p class="place">{_link(block.url)}, {escape(block.facts)}</p>'
    elif isinstance(block, Cited):
        place = f'<div class="place">{escape(block.place)}</div>'
        yield f"<blockquote>{escape(block.text)}{place}</blockquote>"
    elif isinstance(block, Fold):
        yield f"<details>\n<summary>{escape(block.title)}</summary>"
        for inner in block.blocks:
            yield from _write(inner)
        yield "</details>"
    else:
        yield _table(block)


def _anchor(heading: Heading) -> str:
    if heading.level != 3:
        return ""
    return f' id="source-{heading.text[1 : heading.text.index("]")]}"'


def _link(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        return escape(url)
    return f'<a href="{escape(url)}" rel="noopener nofollow noreferrer">{escape(url)}</a>'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
