"""The path rules: what a person or a model may name a file. Reject, do not repair.

An object store takes a key as it is given; what reads the key later may not. A server folds a
backslash, a proxy decodes `%2e`, a disk drops a trailing dot, a screen hides a right-to-left
override. So a path must mean the same under each of those readings, or it is refused.

Two things are set right, because they change nothing about which file is meant: one leading slash
may be missing, and the text is brought to NFC (else `café` could be two files).
"""

import re
import unicodedata

from bathysphere.tenancy.errors import InvalidPath

MAX_SEGMENT_BYTES = 255
MAX_KEY_BYTES = 1024

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control, format (right-to-left override, zero width), surrogate, private, unassigned, breaks."""
_LOOKS_LIKE_A_SEPARATOR = frozenset("\u2044\u2215\u2216\u2571\u2572\u29f5\u29f8\u29f9")
_PLAIN = re.compile(r"(?:/[A-Za-z0-9_-]+(?:[. ][A-Za-z0-9_-]+)*)+\Z")
"""What most paths look like: nothing in it that a rule below is about."""
_ENCODED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)


def canonical(path: str) -> str:
    """The one form of a file's path: `/` and its segments, in NFC.

    Raises:
        InvalidPath: No file may have this path; the message says why.
    """
    if len(path) <= MAX_SEGMENT_BYTES and _PLAIN.match(path):
        return path
    return "/" + "/".join(_segments(path.removeprefix("/")))


def canonical_folder(path: str) -> str:
    """The one form of a folder's path: `/`, or as a file's. One trailing slash may be there.

    Raises:
        InvalidPath: No folder may have this path; the message says why.
    """
    return "/" if path == "/" else canonical(path.removesuffix("/"))


def _segments(relative: str) -> list[str]:
    _check_text(relative)
    normal = unicodedata.normalize("NFC", relative)
    segments = normal.split("/")
    for segment in segments:
        _check_segment(segment)
    if len(normal.encode()) > MAX_KEY_BYTES:
        raise InvalidPath(f"the path is longer than {MAX_KEY_BYTES} bytes")
    return segments


def _check_text(text: str) -> None:
    for character in text:
        if unicodedata.category(character) in _UNSEEN:
            raise InvalidPath(f"the path has a character that cannot be seen: {character!a}")
    if "\\" in text:
        raise InvalidPath("the path has a backslash in it", hint="separate folders with /")


def _check_segment(segment: str) -> None:
    if not segment:
        raise InvalidPath("the path has an empty part", hint="name a file, with single slashes")
    folded = unicodedata.normalize("NFKC", segment)
    if not folded.strip("."):
        raise InvalidPath("the path has a part made of dots", hint="name the file from the root /")
    if folded != folded.strip() or folded.endswith("."):
        raise InvalidPath("a part of the path begins or ends with a space, or ends with a dot")
    if segment.startswith("~"):
        raise InvalidPath("a part of the path begins with ~")
    if "/" in folded or "\\" in folded or _LOOKS_LIKE_A_SEPARATOR & set(folded):
        raise InvalidPath("the path has a character that looks like a separator")
    if _ENCODED.search(folded):
        raise InvalidPath("the path has an encoded separator, dot or NUL in it")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise InvalidPath(f"a part of the path is longer than {MAX_SEGMENT_BYTES} bytes")
