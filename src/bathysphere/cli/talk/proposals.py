"""Review a proposed change to a document, part by part.

The person accepts, refuses or edits each part. When unattended, `--approve` decides; by default,
nothing is written.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from bathysphere.cli.talk.answers import UNATTENDED, Approve
from bathysphere.cli.talk.editor import edited_text
from bathysphere.cli.talk.screen import Row, Screen, choose
from bathysphere.device.device import Proposal, Refused, Verdict
from bathysphere.device.hunks import Hunk, chosen, hunks_of, lines_of

CHOICES = ("accept", "refuse", "edit")
BULK_CHOICES = ("take the rest", "drop the rest")
EDITED = "the person edited it"
CONTEXT = 2
LONG_CONTEXT = 100
MIN_SIMILARITY = 0.3
"""Minimum similarity of two lines for a word-by-word comparison."""

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposals:
    """Asks the person to decide on proposed changes."""

    screen: Screen
    approve: Approve = "ask"

    def decide(self, proposal: Proposal) -> Verdict:
        """Show a proposal and ask for a decision on each part."""
        hunks = hunks_of(proposal.before or "", proposal.after)
        verb = "create" if proposal.before is None else "change"
        self.screen.heading(
            f"The agent wants to {verb} {proposal.document}: {proposal.description}"
        )
        if self.approve != "ask":
            for number, hunk in enumerate(hunks, 1):
                self._show(proposal, hunk, number, len(hunks))
            return self._by_rule(proposal)
        if not hunks:  # a new document with nothing in it
            accepted = choose(self.screen, ("accept", "refuse")) == "accept"
            return Verdict(text=proposal.after if accepted else None)
        return self._part_by_part(proposal, hunks)

    def _by_rule(self, proposal: Proposal) -> Verdict:
        if self.approve == "all":
            self.screen.note("    accepted")
            return Verdict(text=proposal.after)
        self.screen.note("    refused: no one is available to accept it")
        return Verdict(text=None, reason=UNATTENDED)

    def _part_by_part(self, proposal: Proposal, hunks: list[Hunk]) -> Verdict:
        texts: list[str | None] = []
        refused: list[Refused] = []
        choice = ""
        for number, hunk in enumerate(hunks, 1):
            if choice not in BULK_CHOICES:
                self._show(proposal, hunk, number, len(hunks))
                more = BULK_CHOICES if number < len(hunks) else ()
                choice = choose(self.screen, (*CHOICES, *more))
            text, why = self._answer(choice, hunk, proposal)
            texts.append(text)
            if why is not None:
                refused.append(Refused(hunk.new_text or hunk.old_text, why))
        self._report_outcome(len(hunks), len(refused))
        if all(text is None for text in texts):
            return Verdict(text=None, refused=tuple(refused))
        return Verdict(text=chosen(proposal.before or "", hunks, texts), refused=tuple(refused))

    def _answer(self, choice: str, hunk: Hunk, proposal: Proposal) -> tuple[str | None, str | None]:
        """The text to put in a hunk's place, and the reason if it differs from the proposal."""
        if choice in ("accept", BULK_CHOICES[0]):
            return hunk.new_text, None
        if choice == BULK_CHOICES[1]:
            return None, ""
        if choice == "refuse":
            return None, self.screen.ask("    reason (optional)").strip()
        suffix = PurePosixPath(proposal.document).suffix or ".txt"
        text = with_original_ending(edited_text(self.screen, hunk.new_text, suffix=suffix), hunk)
        if text == hunk.new_text:
            return text, None
        return (None if text == hunk.old_text else text), EDITED

    def _report_outcome(self, parts: int, refused: int) -> None:
        if not refused:
            self.screen.note("    accepted")
        elif refused == parts == 1:
            self.screen.note("    declined; the agent has been told")
        else:
            self.screen.note(
                f"    {parts - refused} of {parts} parts accepted; the agent has been told"
            )

    def _show(self, proposal: Proposal, hunk: Hunk, number: int, of: int) -> None:
        text = proposal.before or ""
        if proposal.before is not None:
            which = f"part {number} of {of}, " if of > 1 else ""
            line = text.count("\n", 0, hunk.start) + 1
            self.screen.block([(f"{which}line {line}", "bold")])
        before, after = lines_of(text[: hunk.start]), lines_of(text[hunk.end :])
        cut = self.screen.marks["cut"]
        for line_before in before[-CONTEXT:]:
            bare = _bare(line_before)
            shown = bare if len(bare) <= LONG_CONTEXT else f"{cut}{bare[-LONG_CONTEXT:]}"
            self.screen.rows([((f"  {shown}", "dim"),)])
        self.screen.rows(changed_rows(hunk))
        for line_after in after[:CONTEXT]:
            bare = _bare(line_after)
            shown = bare if len(bare) <= LONG_CONTEXT else f"{bare[:LONG_CONTEXT]}{cut}"
            self.screen.rows([((f"  {shown}", "dim"),)])


def with_original_ending(text: str, hunk: Hunk) -> str:
    """Give an edited text the trailing whitespace of the hunk it replaces.

    Editors append a newline.
    """
    model = hunk.new_text or hunk.old_text
    end = model[len(model.rstrip()) :]
    if "\r\n" in model:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return text.rstrip() + end if text.strip() else ""


def changed_rows(hunk: Hunk) -> Iterator[Row]:
    """The lines of a hunk; in paired lines, the words that differ are highlighted."""
    pairs = [
        _compared(_bare(old), _bare(new)) for old, new in zip(hunk.old, hunk.new, strict=False)
    ]
    for number, line in enumerate(hunk.old):
        paired = pairs[number][0] if number < len(pairs) else ((_bare(line), "red"),)
        yield (("- ", "red"), *paired)
    for number, line in enumerate(hunk.new):
        paired = pairs[number][1] if number < len(pairs) else ((_bare(line), "green"),)
        yield (("+ ", "green"), *paired)


def _compared(old: str, new: str) -> tuple[Row, Row]:
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    matcher = difflib.SequenceMatcher(a=a, b=b, autojunk=False)
    if matcher.ratio() < MIN_SIMILARITY:
        return ((old, "red"),), ((new, "green"),)
    left: list[tuple[str, str]] = []
    right: list[tuple[str, str]] = []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        mark = "" if tag == "equal" else "bold reverse "
        left.append(("".join(a[i:i_end]), f"{mark}red"))
        right.append(("".join(b[j:j_end]), f"{mark}green"))
    return tuple(left), tuple(right)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")
