"""The moves of a Socratic tutor, and the form that the text of each must have.

The form is checked by rule, in any language that ends a question with a question mark: how many
questions the text asks, how long it is, and how it ends. Its quality is not judged.
"""

import re
from dataclasses import dataclass
from typing import Literal, get_args

Move = Literal[
    "clarify_term",
    "ask_premise",
    "ask_evidence",
    "test_implication",
    "counter_example",
    "steelman",
    "summarise",
    "concede",
    "hint",
    "tell",
    "work",
]
MOVES: tuple[Move, ...] = get_args(Move)


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """The purpose of a move and the form of its text."""

    purpose: str
    questions: Literal["one", "none", "any"]
    """Exactly one question at the end, no question, or up to the limit of a turn."""
    words: int = 120
    """Maximum number of words."""
    sentences: int = 1
    """Minimum number of sentences."""


FORMS: dict[Move, Form] = {
    "clarify_term": Form(purpose="ask what a word or the request means", questions="one"),
    "ask_premise": Form(purpose="ask what a claim rests on", questions="one"),
    "ask_evidence": Form(purpose="ask how one would know that it is so", questions="one"),
    "test_implication": Form(purpose="ask what would follow if it were so", questions="one"),
    "counter_example": Form(
        purpose="put a case that seems to go against it, and ask about it", questions="one"
    ),
    "steelman": Form(
        purpose="state the other side at its strongest, then ask what answers it",
        questions="one",
        words=160,
        sentences=2,
    ),
    "summarise": Form(purpose="say where the argument stands now", questions="any", words=250),
    "concede": Form(purpose="grant a point that the person has made good", questions="any"),
    "hint": Form(
        purpose="help one step on without giving the answer away",
        questions="one",
        sentences=2,
    ),
    "tell": Form(purpose="answer plainly", questions="none", words=400),
    "work": Form(
        purpose="do the work that was asked for, on files or with a seminar, and report it",
        questions="any",
        words=400,
    ),
}

_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_QUOTED = re.compile(r"“[^“”]*+”|«[^«»]*+»|\"[^\"\n]*+\"")
_QUESTION = re.compile(r"[?？؟]+")  # includes full-width and Arabic question marks
_SENTENCE = re.compile(r"(?<![.!?？؟。！…])[.!?？؟。！…]++(?=\s|$|[\"”’»)\]])")
_END = "?？؟"
_PIECE = re.compile(r"[^.!?？؟。！…\n]+[.!?？؟。！…]*")
_CLOSING = " \t\n\"'”’»)]*_"


def questions_in(text: str) -> int:
    """Count the questions of a text, except those inside quotes and code."""
    return len(_QUESTION.findall(_plain(text)))


def last_question_in(text: str) -> str:
    """Return the last question of a text, or ''."""
    pieces = _PIECE.findall(_plain(text))
    asked = [piece.strip() for piece in pieces if piece.rstrip().endswith(tuple(_END))]
    return asked[-1] if asked else ""


def sentences_in(text: str) -> int:
    """Count the sentences of a text."""
    plain = text.strip()
    ended = len(_SENTENCE.findall(plain))
    return ended if not plain or _SENTENCE.search(plain[-2:]) else ended + 1


def misfits(move: Move, text: str, *, questions_a_turn: int = 1) -> list[str]:
    """Return instructions for bringing a text into the form of a move; empty if it fits."""
    form, asked, words = FORMS[move], questions_in(text), len(text.split())
    found = []
    if not text.strip():
        return ["say something"]
    if form.questions == "none" and asked:
        found.append("tell it without asking anything")
    if form.questions == "one" and asked == 0:
        found.append("ask one question")
    most = max(1, questions_a_turn)
    if form.questions != "none" and asked > most:
        found.append(f"ask at most {most} question{'s' * (most > 1)}, not {asked}")
    if form.questions == "one" and asked and not text.rstrip(_CLOSING).endswith(tuple(_END)):
        found.append("end with the question")
    if words > form.words:
        found.append(f"use at most {form.words} words, not {words}")
    if sentences_in(text) < form.sentences:
        found.append(f"say at least {form.sentences} sentences: first say something, then ask")
    return found


def _plain(text: str) -> str:
    return _QUOTED.sub(" ", _CODE.sub(" ", text))
