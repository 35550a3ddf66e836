"""File names of exported reports, from the question."""

import re
import unicodedata

DEFAULT = "report"
_LONGEST = 60
_WORD = re.compile(r"[^\W_]+")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])")
"""Names that Windows reserves."""


def file_stem(question: str) -> str:
    """Name a file after a question, in lower case: `how-deep-did-it-go`.

    Only letters and digits of the question are used, so that no question names a path.
    """
    stem = ""
    for word in _WORD.findall(unicodedata.normalize("NFC", question.replace("'", "")).lower()):
        longer = f"{stem}-{word}" if stem else word[:_LONGEST]
        if len(longer) > _LONGEST:
            break
        stem = longer
    return DEFAULT if not stem or _DEVICES.fullmatch(stem) else stem
