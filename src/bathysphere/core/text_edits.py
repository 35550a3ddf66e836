"""Text edits that preserve line endings."""


def match_line_ends(text: str, old: str, new: str) -> tuple[str, str]:
    r"""What to replace and by what, with the line ends that the text has.

    A file with `\r\n` is read with plain newlines, so a replacement is written with them, too. One
    that names `\r\n` itself is left as it is.
    """
    if "\r\n" not in text or "\r\n" in old:
        return old, new
    return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
