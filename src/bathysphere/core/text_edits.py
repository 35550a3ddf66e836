"""Text edits that preserve line endings."""


def match_line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    r"""Adapt the search and replacement texts to the line endings of a text.

    A file with `\r\n` is shown with plain newlines, so replacements are written with them as well.
    A search text that contains `\r\n` is left unchanged.
    """
    if "\r\n" not in text or "\r\n" in old:
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
