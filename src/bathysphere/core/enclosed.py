"""Text between two marks, found in linear time.

`<a>(.*?)</a>` as a pattern takes quadratic time on a text that opens often and never closes.
"""

from collections.abc import Iterator


def enclosed(text: str, opening: str, closing: str) -> Iterator[str]:
    """Return the text between each opening mark and the next closing one."""
    start = text.find(opening)
    while start >= 0:
        start += len(opening)
        end = text.find(closing, start)
        if end < 0:
            return
        yield text[start:end]
        start = text.find(opening, end + len(closing))


def first_enclosed(text: str, opening: str, closing: str) -> str:
    """Return the text between the first two marks; empty if there are none."""
    return next(enclosed(text, opening, closing), "")
