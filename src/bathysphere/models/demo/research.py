"""The demo as a researcher: rules, not an AI, so that a first look needs no key and no download.

Asked for JSON, it plans searches from the words of the question and reports the sentences of the
sources that share most words with it, word for word. Where two sources say nearly the same with
other numbers, it shows both. It reads what stands between `<question>` and `<source>` tags.
"""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

_QUESTION = re.compile(r"<question>\n(.*?)\n</question>", re.DOTALL)
_ADDRESSES = re.compile(r"<addresses>\n(.*?)\n</addresses>", re.DOTALL)
_SOURCE = re.compile(r'<source id="([^"]+)"[^>]*>\n(.*?)\n</source>', re.DOTALL)
_RULE = re.compile(r'<rule id="([^"]+)"')
_TOOL = re.compile(r"^(\w+): ", re.MULTILINE)
_TOOLS = re.compile(r"<tools>\n(.*?)\n</tools>", re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"[^.!?]*[^\s.!?](?:\.\d+[^.!?]*)*[.!?](?=\s|$)")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_WORD = re.compile(r"[^\W_]{3,}")
_DULL = frozenset(
    re.findall(
        r"\w+",
        """the and are was were how what which who when where why does did has have had with from
        for that this these those into about there their they will would could should can may its
        many much any all not but than then them been being out per""",
    )
)
_SHORTEST, _LONGEST = 30, 400
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
        """The figures in it."""
        return frozenset(_NUMBER.findall(self.text))


def answer(form: str, prompt: str) -> str:
    """The JSON that the form of this name asks for."""
    given = _RULES[form](prompt) if form in _RULES else {}
    return json.dumps(given, ensure_ascii=False)


def _plan(prompt: str) -> dict[str, Any]:
    question = _found(_QUESTION, prompt)
    words = _topic(question)
    addresses = _found(_ADDRESSES, prompt).split()
    searches = [" ".join(words)]
    if len(words) > 2:
        searches.append(" ".join(sorted(words, key=len)[-2:]))
    tools = _TOOL.findall(_found(_TOOLS, prompt))
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
    "Find sources that speak of all of it.",
    "Look at it again with fewer words, for sources that differ.",
)


def _report(prompt: str) -> dict[str, Any]:
    found = sorted(_sentences(prompt), key=lambda one: -one.score)
    least = max(1, found[0].score // 2) if found else 1
    found = [one for one in found if one.score >= least]
    claims: list[Sentence] = []
    for one in found:
        of_source = sum(known.source == one.source for known in claims)
        is_new = all(_likeness(one, known) < _SAME for known in claims)
        if of_source < _PER_SOURCE and is_new and len(claims) < _CLAIMS:
            claims.append(one)
    return {
        "claims": [_claim(one) for one in claims],
        "contradictions": list(_contradictions(found)),
    }


def _contradictions(sentences: list[Sentence]) -> Iterable[dict[str, Any]]:
    told = 0
    for at, one in enumerate(sentences):
        for other in sentences[at + 1 :]:
            if told == _CONTRADICTIONS:
                return
            if one.source == other.source or not (one.numbers and other.numbers):
                continue
            if one.numbers <= other.numbers or other.numbers <= one.numbers:
                continue
            if _likeness(one, other) >= _SHARED:
                told += 1
                about = " ".join(word for word in _topic(one.text) if word in other.words)
                yield {"about": about[:200] or "a figure", "sides": [_quote(one), _quote(other)]}


def _claim(one: Sentence) -> dict[str, Any]:
    return {"text": one.text, "quotes": [_quote(one)]}


def _quote(one: Sentence) -> dict[str, str]:
    return {"source": one.source, "quote": one.text}


def _sentences(prompt: str) -> Iterable[Sentence]:
    wanted = frozenset(_topic(_found(_QUESTION, prompt)))
    for source, text in _SOURCE.findall(prompt):
        for paragraph in _PARAGRAPH.split(text):
            for found in _SENTENCE.finditer(paragraph):
                sentence = " ".join(found.group().split())
                words = frozenset(_topic(sentence))
                if _SHORTEST <= len(sentence) <= _LONGEST:
                    yield Sentence(source, sentence, words, len(words & wanted))


def _likeness(one: Sentence, other: Sentence) -> float:
    return len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))


def _topic(text: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return list(dict.fromkeys(word for word in words if word not in _DULL))


def _found(pattern: re.Pattern[str], prompt: str) -> str:
    found = pattern.search(prompt)
    return found.group(1).strip() if found else ""


_RULES: dict[str, Callable[[str], dict[str, Any]]] = {
    "PlanForm": _plan,
    "AuditForm": lambda prompt: {
        "judgements": [{"rule": rule, "allowed": True} for rule in _RULE.findall(prompt)]
    },
    "MoreForm": lambda _: {"requests": []},
    "ReportForm": _report,
    "RepairForm": lambda _: {"quotes": []},
}
