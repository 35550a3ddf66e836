"""Rules for file paths: invalid ones are rejected, not corrected.

An object store accepts any key, but later readers may interpret it: a server converts a backslash,
a proxy decodes `%2e`, a disk drops a trailing dot, a screen hides a right-to-left override. So a
path must mean the same to all of them, or it is rejected.

Two things are normalised, because they do not change which file is meant: a missing leading slash
is added, and the text is converted to NFC (else `café` could be two files).
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
"""Common paths to which none of the rules below apply."""
_ENCODED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)


def canonical(path: str) -> str:
    """Return the canonical path of a file: `/` and its segments, in NFC.

    Raises:
        InvalidPath: No file may have this path.
    """
    if len(path) <= MAX_SEGMENT_BYTES and _PLAIN.match(path):
        return path
    return "/" + "/".join(_segments(path.removeprefix("/")))


def canonical_folder(path: str) -> str:
    """Return the canonical path of a folder: `/`, or like a file's. Allows one trailing slash.

    Raises:
        InvalidPath: No folder may have this path.
    """
    return "/" if path == "/" else canonical(path.removesuffix("/"))


def _segments(relative: str) -> list[str]:
    _check_text(relative)
    normal = unicodedata.normalize("NFC", relative)
    segments = normal.split("/")
    for segment in segments:
        _check_segment(segment)
    if len(normal.encode()) > MAX_KEY_BYTES:
        raise InvalidPath(f"The path is longer than {MAX_KEY_BYTES} bytes")
    return segments


def _check_text(text: str) -> None:
    for character in text:
        if unicodedata.category(character) in _UNSEEN:
            raise InvalidPath(f"The path contains an invisible character: {character!a}")
    if "\\" in text:
        raise InvalidPath("The path contains a backslash", hint="separate folders with /")


def _check_segment(segment: str) -> None:
    if not segment:
        raise InvalidPath("The path has an empty segment", hint="use single slashes")
    folded = unicodedata.normalize("NFKC", segment)
    if not folded.strip("."):
        raise InvalidPath("The path has a segment of dots", hint="use an absolute path")
    if folded != folded.strip() or folded.endswith("."):
        raise InvalidPath("A path segment begins or ends with a space, or ends with a dot")
    if segment.startswith("~"):
        raise InvalidPath("A path segment begins with ~")
    if "/" in folded or "\\" in folded or _LOOKS_LIKE_A_SEPARATOR & set(folded):
        raise InvalidPath("The path contains a character that looks like a separator")
    if _ENCODED.search(folded):
        raise InvalidPath("The path contains an encoded separator, dot or NUL")
    if len(segment.encode()) > MAX_SEGMENT_BYTES:
        raise InvalidPath(f"A path segment is longer than {MAX_SEGMENT_BYTES} bytes")


def is_sound(path: str) -> bool:
    """Whether a file may have this path."""
    try:
        canonical(path)
    except InvalidPath:
        return False
    return True
