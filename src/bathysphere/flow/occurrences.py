"""Occurrences of a value in a text: whole ones, which are not part of a longer word or number."""

from collections.abc import Iterator

_SPACE = frozenset(" \t\r\n")
_AROUND = frozenset('"“”„«»()[]{}<>|*`')
"""Quotes, brackets and marks that may touch a value on either side."""
_AFTER = frozenset(".,;:!?")
"""Punctuation that may follow a value if a space or the end comes next."""


def occurrences(text: str, wanted: str) -> Iterator[int]:
    """The places at which a text contains another."""
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def whole_occurrences(text: str, wanted: str) -> Iterator[int]:
    """The places at which a text contains a value that does not go on to either side."""
    return (
        at
        for at in occurrences(text, wanted)
        if _begins(text, at) and _ends(text, at + len(wanted))
    )


def _begins(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in _SPACE or text[at - 1] in _AROUND


def _ends(text: str, at: int) -> bool:
    if at >= len(text) or text[at] in _SPACE or text[at] in _AROUND:
        return True
    return text[at] in _AFTER and (at + 1 >= len(text) or text[at + 1] in _SPACE)
