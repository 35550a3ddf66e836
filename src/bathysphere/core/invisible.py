"""Control, direction and zero-width characters, made visible.

A person approves what they see. A right-to-left override or a zero-width space changes what a text
does without changing how it looks, so wherever foreign text is shown for a decision each of these
characters is written as its code. `tests/unit/core/invisible.json` lists them; the browser app uses
the same list.
"""

import re

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2"
    "\u115f-\u1160\u17b4-\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d"
    "\ufeff\uffa0\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U00013438\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)


def reveal(text: str) -> str:
    """Return the text with each invisible character replaced by its code, such as ⟨U+202E⟩."""
    return _INVISIBLE.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)


def without_invisible(text: str) -> str:
    """Return the text without its invisible characters."""
    return _INVISIBLE.sub("", text)
