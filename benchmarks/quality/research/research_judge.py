"""A scripted judge that reads each claim and its quotes, and knows nothing of what was planted.

It compares numbers with the word after them, negations, names, words that claim more than others
(all, first, because), and how many words of the claim its quotes have.
"""

import json
import re
from collections.abc import Iterator

from bathysphere.core.enclosed import enclosed
from bathysphere.evidence.numbers import missing_numbers
from bathysphere.testing import ScriptedChatModel, says

FORM = '"title":"JudgeForm"'
NEGATION = re.compile(r"\b(?:not|no|never|none|nor|without|cannot|\w+n't)\b", re.IGNORECASE)
STRONGER = re.compile(
    r"\b(?:all|every|only|always|first|last|most|because|therefore|proves?|caused?|\w{3,}est)\b",
    re.IGNORECASE,
)
NAME = re.compile(r"\b[A-Z]\w+(?: [A-Z]\w+)+")
COUNTED = re.compile(r"(\d[\d,]*) ([a-z]+)")
WORD = re.compile(r"[a-z]{4,}")
SHARED = 0.6


def judge_model() -> ScriptedChatModel:
    """A chat model that judges by these rules, and allows every plan."""
    return ScriptedChatModel(answer=_answer, model_name="scripted judge")


def _answer(messages):
    if FORM not in messages[0].text:
        return says(json.dumps({"judgements": []}))
    prompt = messages[-1].text
    quotes = list(_parts("quote", "claim", prompt))
    judgements = []
    for claim, text in _parts("claim", "id", prompt):
        problem = lacking(text, " ".join(quote for of, quote in quotes if of == claim))
        judgements.append({"claim": claim, "follows": not problem, "reason": problem})
    return says(json.dumps({"judgements": judgements}))


def lacking(claim: str, quotes: str) -> str:
    """What the quotes lack for the claim to follow; '' if nothing."""
    if missing := missing_numbers(claim, quotes):
        return f"no quote has the number {missing[0]}"
    if bool(NEGATION.search(claim)) != bool(NEGATION.search(quotes)):
        return "a negation was added or dropped"
    if missing := [name for name in NAME.findall(claim) if name not in quotes]:
        return f"no quote is about {missing[0]}"
    said = {word.lower() for word in STRONGER.findall(quotes)}
    if missing := [w for w in STRONGER.findall(claim) if w.lower() not in said]:
        return f"no quote says “{missing[0]}”"
    counted = dict(COUNTED.findall(quotes))
    for number, word in COUNTED.findall(claim):
        if number in counted and counted[number] != word:
            return f"the quotes count {counted[number]}, not {word}"
    words, known = set(WORD.findall(claim.lower())), set(WORD.findall(quotes.lower()))
    if len(words & known) < SHARED * len(words):
        return "the quotes are about something else"
    return ""


def _parts(tag: str, key: str, prompt: str) -> Iterator[tuple[str, str]]:
    for part in enclosed(prompt, f'<{tag} {key}="', f"\n</{tag}>"):
        head, _, text = part.partition(">\n")
        yield head.partition('"')[0], text
