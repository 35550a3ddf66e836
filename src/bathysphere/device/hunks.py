"""A change in parts: what differs between two texts, and the text that a choice of parts makes."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Hunk:
    """One part of a change: whole lines that would take the place of others."""

    start: int
    """The first of the old lines, counted from 0."""
    old: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def end(self) -> int:
        """The line after the last of the old ones."""
        return self.start + len(self.old)

    @property
    def new_text(self) -> str:
        """What would stand there."""
        return "".join(self.new)

    @property
    def old_text(self) -> str:
        """What stands there."""
        return "".join(self.old)


def lines_of(text: str) -> list[str]:
    """The lines of a text, each with its end; joined they are the text."""
    return _LINE.findall(text)


def hunks_of(before: str, after: str) -> list[Hunk]:
    """The parts of a change, in order; at least one line that stays is between two of them."""
    old, new = lines_of(before), lines_of(after)
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return [
        Hunk(start=i, old=tuple(old[i:i_end]), new=tuple(new[j:j_end]))
        for tag, i, i_end, j, j_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def chosen(before: str, hunks: Sequence[Hunk], texts: Sequence[str | None]) -> str:
    """The text with each hunk's place filled as chosen; None leaves what stands there."""
    lines, pieces, at = lines_of(before), [], 0
    for hunk, text in zip(hunks, texts, strict=True):
        pieces += lines[at : hunk.start]
        pieces.append(hunk.old_text if text is None else text)
        at = hunk.end
    return "".join([*pieces, *lines[at:]])
