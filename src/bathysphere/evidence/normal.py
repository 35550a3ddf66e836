"""Text normalisation for comparing quotes with sources, with a mapping back to bytes.

Both sides go through the same steps, in this order:

1. Unicode NFKC, cluster by cluster (a character and the marks that follow it).
2. Soft hyphens, zero-width and direction characters are removed.
3. Typographic quotation marks and apostrophes become `"` and `'`, every dash becomes `-`.
4. A hyphen at the end of a line is removed with the line break if a lower-case letter follows.
5. Each run of white space becomes one space; leading and trailing space is removed.

Case is preserved. Each character of the result is mapped to the bytes of the UTF-8 source.
"""

import re
import unicodedata
from array import array
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

_STABLE = (
    "[!-_a-~\u00c0-\u0131\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0391-\u03a1\u03a3-\u03ce"
    "\u0400-\u0481\u048a-\u052f\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]+"
)
"""Characters that no step changes."""
_PLAIN = re.compile(f"{_STABLE}(?: {_STABLE})*")
"""Runs of words of such characters, separated by single spaces."""
_FOLD = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′‹›`´", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−﹘﹣－", "-"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\u2061\u2062\u2063\u2064\ufeff"),
        **dict.fromkeys("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    }
)


class Span(NamedTuple):
    """A range of bytes, excluding the end."""

    start: int
    end: int


class Normalised(NamedTuple):
    """A normalised text, and the source bytes of each of its characters."""

    text: str
    starts: "array[int]"
    ends: "array[int]"

    def span(self, start: int, end: int) -> Span:
        """Return the byte span of a non-empty range of characters."""
        return Span(self.starts[start], self.ends[end - 1])

    def find(self, words: str) -> Span | None:
        """Return the byte span of the first match of normalised words, as whole words."""
        at = next(self.places(words), None)
        return None if at is None else self.span(at, at + len(words))

    def places(self, words: str, start: int = 0) -> Iterator[int]:
        """Yield the character offsets of matches that split no word or number."""
        at = self.text.find(words, start) if words else -1
        while at >= 0:
            if not (self._cuts(at) or self._cuts(at + len(words))):
                yield at
            at = self.text.find(words, at + 1)

    def _cuts(self, at: int) -> bool:
        """Whether an offset is inside a word, a number or a cluster."""
        text = self.text
        if not 0 < at < len(text):
            return False
        before, after = text[at - 1], text[at]
        if (before.isalnum() and after.isalnum()) or self.starts[at - 1] == self.starts[at]:
            return True
        if before in ".," and after.isdigit():
            return at > 1 and text[at - 2].isdigit()
        return before.isdigit() and after in ".," and text[at + 1 : at + 2].isdigit()


def normalise(text: str) -> Normalised:
    """Normalise a text, as described in the module docstring."""
    writer = _Writer()
    at, place = 0, 0
    while at < len(text):
        end = _end_of_piece(text, at)
        piece = text[at:end]
        width = len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass"))
        following = text[end] if end < len(text) else ""
        writer.take(piece, place, place + width, following)
        at, place = end, place + width
    return writer.done()


def plain(text: str) -> str:
    """Return only the normalised text."""
    return normalise(text).text


class _Writer:
    """Collects the normalised characters and their source bytes."""

    def __init__(self) -> None:
        self.letters: list[str] = []
        self.starts = array("Q")
        self.ends = array("Q")

    def take(self, piece: str, start: int, end: int, following: str) -> None:
        """Add one piece: a run of white space, a run of plain characters, or one cluster."""
        if piece.isspace():
            if not self._joins_line(piece, following):
                self._space(start, end)
        elif _PLAIN.fullmatch(piece):
            self._each(piece, start)
        else:
            for letter in unicodedata.normalize("NFKC", piece.translate(_FOLD)).translate(_FOLD):
                if letter.isspace():
                    self._space(start, end)
                else:
                    self._add(letter, start, end)

    def done(self) -> Normalised:
        """Return the result, without trailing space."""
        while self.letters and self.letters[-1] == " ":
            self._drop()
        return Normalised("".join(self.letters), self.starts, self.ends)

    def _joins_line(self, space: str, following: str) -> bool:
        broken = "\n" in space or "\r" in space
        if not (broken and following.islower() and self.letters[-1:] == ["-"]):
            return False
        if len(self.letters) < 2 or not self.letters[-2].isalpha():
            return False
        self._drop()
        return True

    def _space(self, start: int, end: int) -> None:
        if self.letters and self.letters[-1] != " ":
            self._add(" ", start, end)

    def _each(self, letters: str, start: int) -> None:
        self.letters.extend(letters)
        if letters.isascii():
            self.starts.extend(range(start, start + len(letters)))
            self.ends.extend(range(start + 1, start + len(letters) + 1))
            return
        widths = (1 if letter < "\x80" else 2 if letter < "\u0800" else 3 for letter in letters)
        places = list(accumulate(widths, initial=start))
        self.starts.extend(places[:-1])
        self.ends.extend(places[1:])

    def _add(self, letter: str, start: int, end: int) -> None:
        self.letters.append(letter)
        self.starts.append(start)
        self.ends.append(end)

    def _drop(self) -> None:
        self.letters.pop()
        self.starts.pop()
        self.ends.pop()


def _end_of_piece(text: str, at: int) -> int:
    if text[at].isspace():
        end = at + 1
        while end < len(text) and text[end].isspace():
            end += 1
        return end
    if run := _PLAIN.match(text, at):
        end = run.end()
        # A mark combines with the character before it, which then starts a cluster.
        if end < len(text) and _is_mark(text[end]):
            end -= 2 if text[end - 2 : end - 1] == " " else 1
        if end > at:
            return end
    end = at + 1
    while end < len(text) and _is_mark(text[end]):
        end += 1
    return end


def _is_mark(letter: str) -> bool:
    return unicodedata.combining(letter) != 0 or "\u1160" <= letter <= "\u11ff"
