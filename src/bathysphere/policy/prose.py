"""The sentences of a policy's prose: what the auditor is asked about every plan.

A list item is one sentence, however long; a paragraph is divided at its full stops. A sentence
keeps its context: the heading above it, the paragraph or item that introduces its list.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import NamedTuple

from bathysphere.policy.errors import BadPolicy

MAX_SENTENCES = 48
MAX_LENGTH = 1_000
"""Characters of a sentence, with its context."""

_HEADING = re.compile(r"#{1,6}[ \t]+")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_RULER = re.compile(r"[ \t]*(?:={3,}|-{3,}|\*{3,}|_{3,})[ \t]*")
_CLOSING = "\"')]*_”’»"
_OPENING = "\"'([*_“‘«"
_ABBREVIATIONS = frozenset(
    {"al", "approx", "ca", "cf", "dr", "eg", "etc", "ie", "mr", "mrs", "ms", "no", "prof", "vs"}
)


class _Block(NamedTuple):
    section: str
    indent: int
    """Columns before a list item, or a paragraph within one; -1 for other paragraphs."""
    text: str


def sentences_of(prose: str) -> tuple[str, ...]:
    """Return the sentences of a text in Markdown, in order.

    Raises:
        BadPolicy: There are too many, or one is too long.
    """
    found = tuple(_in_context([block for block in _blocks(prose) if block.text]))
    if len(found) > MAX_SENTENCES:
        raise BadPolicy(
            f"The policy has {len(found)} sentences for the auditor, {MAX_SENTENCES} are allowed",
            hint="shorten the prose, join sentences in one list item, or put notes in <!-- -->",
        )
    for number, sentence in enumerate(found, 1):
        if len(sentence) > MAX_LENGTH:
            raise BadPolicy(
                f"Sentence {number} has more than {MAX_LENGTH:,} characters: {sentence[:60]}…",
                hint="split it into shorter sentences",
            )
    return found


# ── blocks ──


def _blocks(prose: str) -> Iterator[_Block]:
    section, indent, lines = "", -1, list[str]()
    for raw in [*prose.split("\n"), ""]:
        line = raw.expandtabs(4).lstrip(">")
        heading, item = _HEADING.match(line), _ITEM.match(line)
        is_ruler = _RULER.fullmatch(line) is not None
        if is_ruler and indent < 0 and _is_title(lines):
            section, lines = _joined(lines), []
        if lines and (heading or item or is_ruler or not line.strip()):
            yield _Block(section, indent, _joined(lines))
            lines = []
        if heading:
            section, indent = line[heading.end() :].strip(" #"), -1
        elif item and not is_ruler:
            indent, lines = _indent(line), [line[item.end() :]]
        elif line.strip() and not is_ruler:
            if not lines:
                indent = _indent(line) if indent >= 0 and _indent(line) else -1
            lines.append(line)


def _is_title(lines: list[str]) -> bool:
    """Whether an underlined paragraph is a heading, and not a sentence above a ruler."""
    return len(lines) == 1 and not _ends(lines[0].split()[-1])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: Iterable[str]) -> str:
    return " ".join(" ".join(lines).split())


# ── sentences ──


def _in_context(blocks: list[_Block]) -> Iterator[str]:
    leads: list[_Block] = []
    for block, after in zip_longest(blocks, blocks[1:]):
        has_items = after is not None and after.indent > block.indent
        leads = [
            lead for lead in leads if lead.section == block.section and lead.indent < block.indent
        ]
        *before, last = [block.text] if block.indent >= 0 else divided(block.text)
        for sentence in before:
            yield _asked(block.section, [sentence])
        is_lead = has_items and (block.indent >= 0 or last.endswith(":"))
        if not (is_lead and last.endswith(":")):
            yield _asked(block.section, [*(lead.text for lead in leads), last])
        if is_lead:
            leads.append(block._replace(text=last))


def _asked(section: str, parts: list[str]) -> str:
    text = " ".join(parts)
    return f"{section.rstrip(':')}: {text}" if section else text


def divided(paragraph: str) -> list[str]:
    """Split a paragraph into sentences; abbreviations and decimals do not end one."""
    sentences, words = list[str](), paragraph.split()
    start = 0
    for at in range(1, len(words)):
        if _ends(words[at - 1]) and not words[at].lstrip(_OPENING)[:1].islower():
            sentences.append(" ".join(words[start:at]))
            start = at
    return [*sentences, " ".join(words[start:])]


def _ends(word: str) -> bool:
    bare = word.rstrip(_CLOSING)
    if not bare.endswith("."):
        return bare.endswith(("!", "?"))
    stem = bare.rstrip(".").lstrip(_OPENING).casefold()
    return len(stem) > 1 and "." not in stem and stem not in _ABBREVIATIONS
