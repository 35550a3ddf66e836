"""Whether an answer is in the language of the person, as far as that is plain.

Told apart are writing systems, and a few languages by their most frequent words. Whatever is short,
mixed or close is taken as right, and so is every answer to a person who names a language.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache

MIN_LETTERS = 16
MIN_WORDS = 6
MIN_SHARE = 0.15
"""The share of frequent words that makes a text plain."""

FREQUENT: Mapping[str, str] = {
    "en": "the and of to is in that it you for with this are was have not can",
    "de": "der die das und ist nicht ein eine zu den mit ich sie es auf für",
    "fr": "le la les et est des une un que pour dans pas je vous sur avec du",
    "es": "el los las y es que de una un para en no con por se lo del su",
    "it": "il lo gli e è che di una un per non con sono la del si nel come",
    "pt": "o os as e é que de uma um para não com em por se do da na no",
    "nl": "de het een en is niet van dat ik je op te met voor zijn aan er",
}
NAMES = (
    "english german french spanish italian portuguese dutch chinese japanese russian arabic korean"
    " translate translation englisch deutsch französisch spanisch italienisch chinesisch japanisch"
    " russisch übersetze übersetzen übersetzung anglais allemand français espagnol traduire"
    " traduis traduction inglés alemán francés español traduce traducir language sprache"
    " langue idioma"
)
"""Words of a person who may want another language than their own."""


def is_other_language(answer: str, asked: str) -> bool:
    """Whether an answer is plainly in another language than the question."""
    if not _set(NAMES).isdisjoint(_words(asked)):
        return False
    theirs, ours = _scripts(asked), _scripts(answer)
    if sum(ours.values()) < MIN_LETTERS or not theirs:
        return False
    script, letters = ours.most_common(1)[0]
    if letters > 0.6 * sum(ours.values()) and script not in theirs:
        return True
    spoken, wanted = _language(answer), _language(asked)
    return bool(spoken and wanted) and spoken != wanted


@cache
def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _scripts(text: str) -> Counter[str]:
    """Letters by writing system; Japanese and Chinese share one."""
    letters = (char for char in text[:4_000] if char.isalpha())
    return Counter("LATIN" if char.isascii() else _script(char) for char in letters)


def _script(char: str) -> str:
    name = unicodedata.name(char, "?").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


def _words(text: str) -> list[str]:
    return [word.strip(".,;:!?\"'()[]`*«»„“”").lower() for word in text[:4_000].split()]


def _language(text: str) -> str | None:
    """The language whose frequent words a text has, if it is clearly one."""
    words = _words(text)
    if len(words) < MIN_WORDS:
        return None
    (first, most), (_, second) = _ranked(words)[:2]
    return first if most >= MIN_SHARE * len(words) and most >= 2 * second + 1 else None


def _ranked(words: Iterable[str]) -> list[tuple[str, int]]:
    counts = Counter(words)
    found = {name: sum(counts[word] for word in _set(known)) for name, known in FREQUENT.items()}
    return sorted(found.items(), key=lambda pair: -pair[1])
