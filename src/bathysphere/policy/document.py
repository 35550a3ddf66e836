"""The two parts of a POLICY.md: the blocks of rules, and the prose around them.

Rules are in blocks that start with ` ```toml policy `. Any other block, and rules outside a block,
are errors: with a misspelt fence a file would otherwise count as prose, and lose its rules.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from bathysphere.policy.errors import BadPolicy

START = "```toml policy"
_END = "```"
_FENCE = re.compile(r"[ \t>]*(?:```|~~~)")
_TABLE = re.compile(
    r"[ \t]*\[{1,2}(?:tools|domains|limits|data|content|judge)[.a-z]{0,20}\]{1,2}[ \t]*"
)

MISSPELT = f"start a block of rules with {START}, without indentation, and write the rest as prose"


class Document(NamedTuple):
    """A policy's rules as TOML, None without a block of them, and its prose as Markdown."""

    rules: str | None
    prose: str


def split(text: str) -> Document:
    """Separate rules and prose.

    Raises:
        BadPolicy: A block that is not closed or not one of rules, or rules outside a block.
    """
    rules, prose = list[str](), list[str]()
    opened = blocks = 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if opened and line.rstrip() == _END:
            opened = 0
        elif opened:
            rules.append(line)
        elif line.rstrip() == START:
            opened, blocks = number, blocks + 1
            prose.append("")
        else:
            prose.append(line)
            _check_prose(line, number)
    if opened:
        raise BadPolicy(
            f"Line {opened}: the block of rules is not closed",
            hint=f"end it with a line {_END}",
        )
    return Document("\n".join(rules) if blocks else None, without_comments(prose))


def _check_prose(line: str, number: int) -> None:
    if _FENCE.match(line):
        raise BadPolicy(f"Line {number}: not a block of rules: {line.strip()[:60]}", hint=MISSPELT)
    if _TABLE.fullmatch(line):
        raise BadPolicy(f"Line {number}: a rule outside a block: {line.strip()}", hint=MISSPELT)


def without_comments(lines: Iterable[str]) -> str:
    """Remove HTML comments, which a reader of the rendered file does not see.

    Raises:
        BadPolicy: A comment is not closed.
    """
    shown, *hidden = "\n".join(lines).split("<!--")
    for part in hidden:
        _, closed, after = part.partition("-->")
        if not closed:
            raise BadPolicy("A comment is not closed", hint="end it with -->")
        shown += after
    return shown
