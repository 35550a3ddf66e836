"""Two scripted tutors: a careful one that follows its rules, and a careless one.

Both are rules over the messages, so that they work with every persona. The careful one takes the
move that the planner suggests, sometimes in a broken form, and words it in the required form; its
first wording of a steelman is wrong on purpose, so that the repair is exercised. It quotes the
student's notes once correctly and once wrongly. The careless one tells, asks twice and misquotes.
"""

import json
import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from bathysphere.argument.map import node_id_of
from bathysphere.testing.turns import Turn, calls, says

SUGGESTED = re.compile(r"The rules suggest `(\w+)`")
MOVE = re.compile(r"^Your move: (\w+)")
CLAIM = re.compile(r"\*\*(claim-\w+)\*\*")
OBJECTION = re.compile(r"\*\*(objection-\w+)\*\*")
RIGHT_QUOTE = "People went on taking dollars in shops and banks."
WRONG_QUOTE = "People stopped taking dollars in shops and banks."

WORDS = {
    "clarify_term": "What do you mean by value here?",
    "ask_premise": "What does that rest on?",
    "ask_evidence": "How would you know that it is so?",
    "test_implication": "If that is so, what would follow for a note in your pocket?",
    "counter_example": "Think of a state whose notes nobody takes. What does it show?",
    "steelman": "The best case against you is that shops decide for themselves. What answers it?",
    "summarise": "You hold that money has value, and you have said what it rests on.",
    "concede": "You are right about that.",
    "hint": "Think of the last time you paid with a note. What did the shop count on?",
    "tell": "A note is worth something because others accept it, and expect to go on doing so.",
    "work": "I have done that.",
}


def careful(messages: Sequence[BaseMessage]) -> Turn:
    """The next turn of a tutor that follows its rules."""
    system = messages[0].text
    if system.startswith("You plan the next turn"):
        return _choose(system, messages[-1].text)
    said, since = _this_turn(messages)
    results = [m for m in since if isinstance(m, ToolMessage)]
    move = next((found[1] for m in results if (found := MOVE.match(m.text))), "concede")
    wanted = _map_work(system, said)
    done = len(results) - 1
    if move != "tell" and done < len(wanted):
        return wanted[done]
    if move == "steelman" and "## Word it again" not in system:
        return says("Shops decide for themselves.")
    return says(WORDS[move])


def careless(messages: Sequence[BaseMessage]) -> Turn:
    """The next turn of a tutor that tells, asks twice and quotes wrongly."""
    system = messages[0].text
    if system.startswith("You plan the next turn"):
        return says('{"move": "ask_premise", "why": "whatever"}')
    said, since = _this_turn(messages)
    if "notes" in said and not any("quote" in m.text for m in since):
        return _quote(WRONG_QUOTE, "")
    if "worthless" in said and not any("on the map" in m.text for m in since):
        return calls("propose_node", kind="objection", text="Gold is worth something.")
    return says("“It is all about gold, they say.” Others accept it. Do you see? Is it not so?")


def _choose(system: str, talk: str) -> Turn:
    found = SUGGESTED.search(system)
    move = found[1] if found else "ask_premise"
    if "weather" in talk.rsplit("Person:", 1)[-1]:
        return says("The weather is fine.")  # not a valid choice: the rules must step in
    if "silly question" in talk.rsplit("Person:", 1)[-1]:
        move = "tell"  # too early: the ladder must step in
    return says(json.dumps({"move": move, "why": "It is the next thing to ask."}))


def _map_work(system: str, said: str) -> list[Turn]:
    """The map changes for what the student said."""
    claim = CLAIM.search(system)
    target = claim[1] if claim else ""
    if said.startswith(("I hold", "Paper money", "All right. I think")):
        return [calls("propose_node", kind="claim", text=said, said=said)]
    bond = {"relation": "supports", "target": target}
    if said.startswith(("A law", "Every note")) and target:
        return [calls("propose_node", kind="premise", text=said, said=said, **bond)]
    if "otes" in said and target:
        node = node_id_of("evidence", "They went on taking dollars.")
        return [_quote(WRONG_QUOTE, target), _quote(RIGHT_QUOTE, target), _review(node)]
    if said.startswith("Then people") and target:
        bond = {"relation": "attacks", "target": target}
        words = {"kind": "objection", "text": "It is people, not the state.", **bond}
        return [calls("propose_node", **words)]
    objection = OBJECTION.search(system)
    if said.startswith("They have") and objection:
        bond = {"relation": "answers", "target": objection[1]}
        return [calls("propose_node", kind="reply", text=said, said=said, **bond)]
    return []


def _quote(quote: str, target: str) -> Turn:
    words = "They went on taking dollars."
    return calls("propose_quote", text=words, file_id="notes.md", quote=quote, target=target)


def _review(node: str) -> Turn:
    return calls("review_nodes", nodes=[node])


def _this_turn(messages: Sequence[BaseMessage]) -> tuple[str, Sequence[BaseMessage]]:
    """What the student said last, and all messages since."""
    last = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    return messages[last].text, messages[last + 1 :]
