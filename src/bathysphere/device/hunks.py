"""Hunks: the differences between two texts, and the text that results from accepting some of them.

A hunk consists of whole lines, or of sentences in a text whose paragraphs are single long lines, so
that a person can accept one sentence without the others.
"""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

LONG_LINE = 160
"""A text with a longer line is compared sentence by sentence."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*[^\S\n]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """One part of a change: lines or sentences that replace others."""

    start: int
    """Its position in the old text, in characters."""
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def end(self) -> int:
        """Its end in the old text."""
        return self.start + len(self.old_text)

    @property
    def new_text(self) -> str:
        """The text after the change."""
        return "".join(self.new)

    @property
    def old_text(self) -> str:
        """The text before the change."""
        return "".join(self.old)


def lines_of(text: str) -> list[str]:
    """Split a text into lines, keeping their line endings."""
    return _LINE.findall(text)


def hunks_of(before: str, after: str) -> list[Hunk]:
    """Return the hunks of a change in order, separated by unchanged text."""
    lines = lines_of(before), lines_of(after)
    if any(len(line) > LONG_LINE for text in lines for line in text):
        lines = _sentences(lines[0]), _sentences(lines[1])
    old, new = lines
    starts = [0]
    for piece in old:
        starts.append(starts[-1] + len(piece))
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return [
        Hunk(start=starts[i], old=tuple(old[i:i_end]), new=tuple(new[j:j_end]))
        for tag, i, i_end, j, j_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def chosen(before: str, hunks: Sequence[Hunk], texts: Sequence[str | None]) -> str:
    """Return the text with the chosen replacement for each hunk; None keeps the old text."""
    pieces, at = [], 0
    for hunk, text in zip(hunks, texts, strict=True):
        pieces += [before[at : hunk.start], hunk.old_text if text is None else text]
        at = hunk.end
    return "".join([*pieces, before[at:]])


def _sentences(lines: list[str]) -> list[str]:
    pieces = []
    for line in lines:
        at = 0
        for end in _SENTENCE_END.finditer(line):
            pieces.append(line[at : end.end()])
            at = end.end()
        pieces.append(line[at:])
    return [piece for piece in pieces if piece]
