"""The hint ladder: when a tutor asks, hints or tells, and how strong a hint may be.

While the person makes progress, the tutor asks. When they are stuck, it gives hints, each stronger
than the last. After the last rung it may tell. A person who asks to be told is always told at once,
and the request is recorded. `settle` applies these rules to a chosen move; `suggest` chooses one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

from bathysphere.argument.checks import Finding, check, in_titles
from bathysphere.argument.map import ArgumentMap, live_nodes
from bathysphere.argument.moves import FORMS, Move

RUNGS = (
    "point to where the answer could be looked for",
    "narrow it down to two ways to go",
    "work through a like case and leave the last step open",
)
"""What a hint may reveal, from the first hint to the last."""

CHOSEN = "Your move: {move}{node}. {purpose}. {form}"
FORM = {
    "one": "End with exactly one question",
    "none": "Ask nothing",
    "any": "Ask at most one question",
}
TOLD = "They asked to be told: tell them, all of it."
RUNG = "As a hint you may {rung}."

By = Literal["model", "rule", "person"]


class Played(TypedDict):
    """One move of a conversation, as stored in state and sent to clients."""

    turn: str
    """The person's message that the move answers."""
    move: Move
    why: str
    by: By
    """Who chose it: the model, the rules, or the person who asked to be told."""
    node: str
    rung: int
    """The strength of a hint, from 1; 0 for other moves."""
    stuck: bool
    asked_to_tell: bool
    wanted: NotRequired[Move]
    """The model's choice, if the rules changed it."""
    message: NotRequired[str]
    """The message in which the move was made."""
    fits: NotRequired[bool]
    misfits: NotRequired[list[str]]
    """Why the first wording did not fit the move."""
    draft: NotRequired[str]
    """The first wording, while it is being repaired."""
    question: NotRequired[str]
    """The question that the move asked."""
    takes_up: NotRequired[str]
    """The open question of an earlier conversation that the move continues."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """A chosen move, before the rules are applied."""

    move: Move
    why: str
    node: str = ""
    stuck: bool = False
    asked_to_tell: bool = False
    takes_up: str = ""


_TELL = re.compile(
    r"\b(just|simply) (tell|give|show) me\b(?! (a|another|one more) hint)"
    r"|\b(tell|give) me (the|your|an) (answer|solution|opinion|view)\b"
    r"|\bstop (asking|with the questions)\b|\bno more questions\b"
    r"|\bwhat('s| is) (the|your) answer\b|\bjust answer\b",
    re.IGNORECASE,
)
_STUCK = re.compile(
    r"\b(i (really )?(do ?n['’]?t|do not) (know|understand|get it)|no idea|no clue|idk"
    r"|i['’]?m (so |totally |really )?(stuck|lost|confused)|i am (stuck|lost|confused)"
    r"|i give up|i can['’]?t think|not sure (what|how|why)|it makes no sense)\b",
    re.IGNORECASE,
)


def asks_to_be_told(said: str) -> bool:
    """Whether the person explicitly asks for the answer (English phrases only)."""
    return bool(_TELL.search(said))


def sounds_stuck(said: str) -> bool:
    """Whether the person explicitly says that they are stuck (English phrases only)."""
    return bool(_STUCK.search(said))


def hints_in_a_row(played: Sequence[Played]) -> int:
    """Count the hints given since the person last made progress."""
    count = 0
    for move in reversed(played):
        if move["move"] != "hint" or not move["stuck"]:
            break
        count += 1
    return count


def may_tell(played: Sequence[Played], *, stuck: bool, asked: bool) -> bool:
    """Whether the answer may be given: the person asks for it, or is stuck after the last hint."""
    return asked or (stuck and hints_in_a_row(played) >= len(RUNGS))


def settle(
    choice: Choice,
    played: Sequence[Played],
    *,
    turn: str,
    said: str,
    by: By = "model",
) -> Played:
    """Apply the rules to a choice. If they change it, `why` has the reason, `wanted` the choice."""
    asked = choice.asked_to_tell or asks_to_be_told(said)
    stuck = not asked and (choice.stuck or sounds_stuck(said))
    move, why = choice.move, choice.why
    if asked and move not in ("tell", "work"):
        move, why, by = "tell", "the person asked to be told", "person"
    elif move == "tell" and not may_tell(played, stuck=stuck, asked=asked):
        move, why, by = "hint", "too early to tell: a hint first", "rule"
    elif stuck and move not in ("hint", "tell", "work"):
        told = may_tell(played, stuck=True, asked=False)
        move, by = ("tell" if told else "hint"), "rule"
        why = "the person is stuck"
    record: Played = {
        "turn": turn,
        "move": move,
        "why": why,
        "by": by,
        "node": choice.node,
        "rung": min(hints_in_a_row(played) + 1, len(RUNGS)) if move == "hint" else 0,
        "stuck": stuck,
        "asked_to_tell": asked,
    }
    if move != choice.move:
        record["wanted"] = choice.move
    elif choice.takes_up:
        record["takes_up"] = choice.takes_up
    return record


def suggest(known: ArgumentMap, played: Sequence[Played], *, said: str) -> Choice:
    """Choose a move by rule: help if the person is stuck, otherwise ask about a gap in the map."""
    if asks_to_be_told(said):
        return Choice(move="tell", why="the person asked to be told", asked_to_tell=True)
    if sounds_stuck(said):
        told = may_tell(played, stuck=True, asked=False)
        return Choice(move="tell" if told else "hint", why="the person is stuck", stuck=True)
    finding = _fresh(check(known), played)
    if finding is not None:
        return Choice(move=finding["move"], why=finding["says"], node=finding["nodes"][0])
    if not live_nodes(known):
        return Choice(move="clarify_term", why="nothing is on the map yet")
    return Choice(move="summarise", why="the map has no open point")


def instruction(move: Played) -> str:
    """Return the prompt for wording a move: the move, its form and its limits."""
    form = FORMS[move["move"]]
    node = f" on {move['node']}" if move["node"] else ""
    purpose = form.purpose[0].upper() + form.purpose[1:]
    shape = f"{FORM[form.questions]}; at most {form.words} words."
    parts = [CHOSEN.format(move=move["move"], node=node, purpose=purpose, form=shape)]
    if move["rung"]:
        parts.append(RUNG.format(rung=RUNGS[move["rung"] - 1]))
    if move["move"] == "tell" and move["asked_to_tell"]:
        parts.append(TOLD)
    return " ".join([*parts, f"Because: {move['why']}" if move["why"] else ""]).strip()


def open_questions(
    known: ArgumentMap, played: Sequence[Played], carried: Sequence[str] = ()
) -> list[str]:
    """Return the questions that a later conversation can continue with.

    These are the questions still open from earlier conversations, the gaps in the map, and the last
    question asked.
    """
    taken = {move.get("takes_up") for move in played}
    found = [question for question in carried if question not in taken]
    found += [in_titles(finding, known) for finding in check(known)]
    found += [move["question"] for move in played[-1:] if move.get("question")]
    return list(dict.fromkeys(found))


def _fresh(findings: Sequence[Finding], played: Sequence[Played]) -> Finding | None:
    """Return the first finding that was not just asked about, or the first one if all were."""
    last = {(move["move"], move["node"]) for move in played[-2:]}
    for finding in findings:
        if (finding["move"], finding["nodes"][0]) not in last:
            return finding
    return findings[0] if findings else None
