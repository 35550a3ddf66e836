"""The demo's research answers: rules, not an AI, so that a first look needs no key or download.

It plans searches from the words of the question and reports, verbatim, the source sentences that
share the most words with it. If two sources make nearly the same statement with different numbers,
it reports a contradiction. It reads the `<question>` and `<source>` tags of the prompt.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from bathysphere.core.enclosed import enclosed, first_enclosed
from bathysphere.evidence.quantities import numbers_differ

_ASKED = re.compile(r'<(?:rule|sentence) id="([^"]+)"')
_TOOL = re.compile(r"^(\w+): ", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(
    r"(?:\A|(?<=[!?])|(?<=\.)(?!\d))(?:[^.!?]|\.(?=\d))[^.!?]*+(?:\.(?=\d)[^.!?]*+)*[.!?](?=\s|\Z)"
)
"""Ends at a mark followed by a space; a decimal point does not end a sentence."""
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_WORD = re.compile(r"[^\W_]{3,}")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """the and are was were how what which who when where why does did has have had with from
        for that this these those into about there their they will would could should can may its
        many much any all not but than then them been being out per""",
    )
)
_MIN_LENGTH, _MAX_LENGTH = 30, 400
_SHARED, _SAME = 0.5, 0.8
_CLAIMS, _PER_SOURCE, _CONTRADICTIONS = 6, 2, 3


class Sentence(NamedTuple):
    """One sentence of a source."""

    source: str
    text: str
    words: frozenset[str]
    score: int

    @property
    def numbers(self) -> frozenset[str]:
        """The numbers in the sentence."""
        return frozenset(_NUMBER.findall(self.text))


def answer(form: str, prompt: str) -> str:
    """Return the JSON for the form with this name."""
    fields = _RULES[form](prompt) if form in _RULES else {}
    return json.dumps(fields, ensure_ascii=False)


def _plan(prompt: str) -> dict[str, Any]:
    question = _tagged("question", prompt)
    words = _topic(question)
    addresses = _tagged("addresses", prompt).split()
    searches = [" ".join(words) or question]
    if len(words) > 2:
        searches.append(" ".join(sorted(words, key=len)[-2:]))
    tools = _TOOL.findall(_tagged("tools", prompt))
    search = "search_corpus" if "search_corpus" in tools else "web_search"
    steps = [
        {"tool": search, "input": words, "rationale": why, "after": []}
        for words, why in zip(searches, _WHY, strict=False)
        if words
    ]
    steps += [
        {"tool": "fetch_page", "input": url, "rationale": "You asked for it.", "after": []}
        for url in addresses[:4]
        if "fetch_page" in tools
    ]
    objective = f"Find what the sources say about: {question}"
    return {"objective": objective[:300], "steps": steps, "estimated_token_budget": 4_000}


_WHY = (
    "Find sources that cover the whole question.",
    "Search again with fewer words, for differing sources.",
)


def _report(prompt: str) -> dict[str, Any]:
    found = sorted(_sentences(prompt), key=lambda one: -one.score)
    least = max(1, found[0].score // 2) if found else 1
    found = [one for one in found if one.score >= least]
    claims: list[Sentence] = []
    for one in found:
        of_source = sum(known.source == one.source for known in claims)
        is_new = all(_similarity(one, known) < _SAME for known in claims)
        if of_source < _PER_SOURCE and is_new and len(claims) < _CLAIMS:
            claims.append(one)
    return {
        "claims": [_claim(one) for one in claims],
        "contradictions": list(_contradictions(found)),
    }


def _contradictions(sentences: list[Sentence]) -> Iterable[dict[str, Any]]:
    count = 0
    for at, one in enumerate(sentences):
        for other in sentences[at + 1 :]:
            if count == _CONTRADICTIONS:
                return
            if one.source == other.source or not (one.numbers and other.numbers):
                continue
            if not numbers_differ(one.text, other.text):
                continue
            if _similarity(one, other) >= _SHARED:
                count += 1
                about = " ".join(word for word in _topic(one.text) if word in other.words)
                yield {"about": about[:200] or "a figure", "sides": [_quote(one), _quote(other)]}


def _claim(one: Sentence) -> dict[str, Any]:
    return {"text": one.text, "quotes": [_quote(one)]}


def _quote(one: Sentence) -> dict[str, str]:
    return {"source": one.source, "quote": one.text}


def _sentences(prompt: str) -> Iterable[Sentence]:
    wanted = frozenset(_topic(_tagged("question", prompt)))
    for source, text in _sources(prompt):
        for paragraph in _PARAGRAPH.split(text):
            for found in _SENTENCE.finditer(paragraph):
                sentence = " ".join(found.group().split())
                words = frozenset(_topic(sentence))
                if _MIN_LENGTH <= len(sentence) <= _MAX_LENGTH:
                    yield Sentence(source, sentence, words, len(words & wanted))


def _similarity(one: Sentence, other: Sentence) -> float:
    return len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))


def _topic(text: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return list(dict.fromkeys(word for word in words if word not in _STOP_WORDS))


def _tagged(name: str, prompt: str) -> str:
    return first_enclosed(prompt, f"<{name}>\n", f"\n</{name}>").strip()


def _sources(prompt: str) -> Iterable[tuple[str, str]]:
    """Yield the id and text of each source."""
    for source in enclosed(prompt, '<source id="', "\n</source>"):
        head, _, text = source.partition(">\n")
        yield head.partition('"')[0], text


_WANTED = {
    "new": re.compile(r"\b(?:new research|start over|new topic|another topic)\b", re.IGNORECASE),
    "extend": re.compile(
        r"\b(?:extend|more sources|search for|find more|look for|look further|keep searching)\b",
        re.IGNORECASE,
    ),
    "answer": re.compile(
        r"\b(?:from the sources|already read|you read|summari[sz]e)\b", re.IGNORECASE
    ),
}
"""What the person asks for in so many words."""


def _route(prompt: str) -> dict[str, Any]:
    """Follow an explicit request; otherwise count how many of its words the sources contain."""
    message = _tagged("message", prompt)
    for kind, words in _WANTED.items():
        if words.search(message):
            return {"kind": kind, "reason": "you asked for it"}
    wanted = set(_topic(message))
    read = {word for text in enclosed(prompt, "<source", "\n</source>") for word in _topic(text)}
    if 2 * len(wanted & read) >= len(wanted):
        return {"kind": "answer", "reason": "the sources have most of these words"}
    if wanted & {*read, *_topic(_tagged("earlier", prompt))}:
        return {"kind": "extend", "reason": "the sources have some of these words"}
    return {"kind": "new", "reason": "the sources have none of these words"}


def _judge(prompt: str) -> dict[str, Any]:
    """Judge only what a rule can: a claim that is one of its quotes, word for word."""
    quotes = list(_tagged_parts("quote", "claim", prompt))
    judgements = [
        {"claim": claim, "follows": True, "reason": "it repeats its quote word for word"}
        for claim, text in _tagged_parts("claim", "id", prompt)
        if (claim, text) in quotes
    ]
    return {"judgements": judgements}


def _tagged_parts(tag: str, key: str, prompt: str) -> Iterable[tuple[str, str]]:
    for part in enclosed(prompt, f'<{tag} {key}="', f"\n</{tag}>"):
        head, _, text = part.partition(">\n")
        yield head.partition('"')[0], text


_NOT_JUDGED = "no model is configured, and a script allows everything"

_RULES: dict[str, Callable[[str], dict[str, Any]]] = {
    "PlanForm": _plan,
    "AuditForm": lambda prompt: {
        "judgements": [
            {"rule": rule, "allowed": True, "reason": _NOT_JUDGED}
            for rule in _ASKED.findall(prompt)
        ]
    },
    "MoreForm": lambda _: {"requests": []},
    "ReportForm": _report,
    "RepairForm": lambda _: {"quotes": []},
    "RouteForm": _route,
    "FollowUpForm": lambda prompt: {"claims": _report(prompt)["claims"]},
    "JudgeForm": _judge,
}
