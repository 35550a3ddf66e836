"""Rendering as Markdown. The proof contains this text, so its form is part of the proof format."""

import re
from collections.abc import Iterator

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

_SPACE = re.compile("[\u0000-\u0020\u007f-\u00a0\u2028\u2029]+")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")
_LEAD = re.compile(r"^([-+=]|[0-9]+[.)])")
_PLAIN_URL = re.compile(r"https?://[!-;=?-~]+")


def to_markdown(report: Report) -> str:
    """Render the report as Markdown; its text is escaped, and there are no images."""
    return "\n\n".join(part for block in blocks_of(report) for part in _write(block)) + "\n"


def escape(text: str) -> str:
    """Escape a text as Markdown, on one line."""
    text = _SPECIAL.sub(r"\\\1", _SPACE.sub(" ", text).strip(" "))
    return _LEAD.sub(lambda m: f"{m.group()[:-1]}\\{m.group()[-1]}", text)


def _write(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {escape(block.text)}"
    elif isinstance(block, Paragraph):
        marks = "".join(f" [{number}]" for number in block.marks)
        warning = f" **({escape(block.warning)})**" if block.warning else ""
        yield f"{escape(block.text)}{marks}{warning}"
    elif isinstance(block, Note):
        yield f"*{escape(block.text)}*"
    elif isinstance(block, Link):
        plain = _PLAIN_URL.fullmatch(block.url)
        yield f"{f'<{block.url}>' if plain else escape(block.url)}, {escape(block.facts)}"
    elif isinstance(block, Cited):
        yield f"> {escape(block.text)}\n>\n> ({escape(block.place)})"
    elif isinstance(block, Fold):
        yield f"## {escape(block.title)}"
        for inner in block.blocks:
            yield from _write(inner)
    else:
        yield _table(block)


def _table(table: Table) -> str:
    lines = [table.head, tuple("---" for _ in table.head)]
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    rows += ["| " + " | ".join(map(escape, row)) + " |" for row in table.rows]
    return "\n".join(rows)
