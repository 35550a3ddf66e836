"""Score a conversation by rule, from its messages and its state.

The tutor's own verdicts are not used: form, ladder and quotes are checked again.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from bathysphere.argument.checks import unanswered_objections
from bathysphere.argument.ladder import Played, asks_to_be_told, may_tell
from bathysphere.argument.map import merge
from bathysphere.argument.moves import misfits, questions_in
from bathysphere.argument.quotes import find_quote

QUOTED = re.compile(r"“([^”]*)”|«([^»]*)»|\"([^\"\n]*)\"")
LONG_QUOTE = 4
"""The minimum words of a quote; shorter ones only name a term."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Counts of a conversation; those of several can be added."""

    turns: int = 0
    asking_turns: int = 0
    questions: int = 0
    fitting: int = 0
    repaired: int = 0
    by_rule: int = 0
    given_away: int = 0
    asked_to_tell: int = 0
    told_when_asked: int = 0
    quotes: int = 0
    valid_quotes: int = 0
    refused_quotes: int = 0
    made_up_quotes: int = 0
    nodes: int = 0
    unanswered_objections: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        mine, theirs = asdict(self), asdict(other)
        return Counts(**{name: mine[name] + theirs[name] for name in mine})

    def figures(self) -> dict[str, float]:
        """The reported figures."""
        turns = max(1, self.turns)
        return {
            "turns": self.turns,
            "question_rate": round(self.asking_turns / turns, 3),
            "questions_per_turn": round(self.questions / turns, 3),
            "form_share": round(self.fitting / turns, 3),
            "repaired": self.repaired,
            "chosen_by_rule": self.by_rule,
            "given_away": self.given_away,
            "told_when_asked": _share(self.told_when_asked, self.asked_to_tell),
            "quote_validity": _share(self.valid_quotes, self.quotes),
            "quote_accuracy": _share(self.quotes, self.quotes + self.refused_quotes),
            "made_up_quotes": self.made_up_quotes,
            "nodes": self.nodes,
            "unanswered_objections": self.unanswered_objections,
        }


def measure(state: dict[str, Any], documents: Mapping[str, str], secret: Sequence[str]) -> Counts:
    """Count one conversation."""
    known = merge(state.get("argument_map"), None)
    messages = state["messages"]
    counts = Counts(
        nodes=len(known["nodes"]),
        unanswered_objections=len(unanswered_objections(known)),
        refused_quotes=_refused(messages),
    )
    played: list[Played] = state.get("moves") or []
    for number, move in enumerate(played):
        counts += _turn(messages, move, played[:number], secret)
        counts += Counts(made_up_quotes=_made_up(_shown_text(messages, move), messages, documents))
    for node in known["nodes"].values():
        if "file" in node["source"]:
            counts += Counts(quotes=1, valid_quotes=_is_valid(node["source"], documents))
    return counts


def _turn(
    messages: list[Any], move: Played, before: Sequence[Played], secret: Sequence[str]
) -> Counts:
    text = _shown_text(messages, move)
    heard = _heard(messages, move)
    said = heard[-1] if heard else ""
    asked = asks_to_be_told(said) or move["asked_to_tell"]
    allowed = may_tell(before, stuck=move["stuck"], asked=asked)
    told = any(earlier["move"] == "tell" for earlier in before)
    known = " ".join(heard).casefold()
    leaks = [s for s in secret if s in text.casefold() and s not in known]
    questions = questions_in(text)
    return Counts(
        turns=1,
        asking_turns=int(questions > 0),
        questions=questions,
        fitting=int(not misfits(move["move"], text)),
        repaired=int("misfits" in move),
        by_rule=int(move["by"] == "rule"),
        given_away=int(bool(leaks) and not allowed and not told),
        asked_to_tell=int(asked),
        told_when_asked=int(asked and move["move"] == "tell" and not questions),
    )


def _shown_text(messages: list[Any], move: Played) -> str:
    """The text shown to the person: the message, or a tool's question."""
    for message in messages:
        if isinstance(message, AIMessage) and message.id == move.get("message"):
            asked = [call["args"].get("question", "") for call in message.tool_calls]
            return " ".join([message.text, *asked]).strip()
    return ""


def _heard(messages: list[Any], move: Played) -> list[str]:
    """Everything the student had said when a move was chosen, oldest first."""
    heard = []
    for message in messages:
        if isinstance(message, HumanMessage):
            heard.append(message.text)
        if move["turn"] in (message.id, getattr(message, "tool_call_id", None)):
            break
    return heard


def _refused(messages: list[Any]) -> int:
    return sum("That quote does not stand in" in m.text for m in messages if m.type == "tool")


def _made_up(text: str, messages: list[Any], documents: Mapping[str, str]) -> int:
    """Count the tutor's quotes that are in no document and no message."""
    said = [m.text for m in messages if isinstance(m, HumanMessage)]
    sources = [*said, *documents.values()]
    quoted = ["".join(found) for found in QUOTED.findall(text)]
    long = [words for words in quoted if len(words.split()) >= LONG_QUOTE]
    return sum(not any(find_quote(words, source) for source in sources) for words in long)


def _is_valid(source: Any, documents: Mapping[str, str]) -> int:
    text = documents.get(source["file"], "")
    return int(text[source["start"] : source["end"]] == source["quote"] != "")


def _share(part: int, whole: int) -> float:
    """A share; 1 if there is nothing to share."""
    return round(part / whole, 3) if whole else 1.0
