"""Documents do not say of something that is here that it is still to come."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
STALE = re.compile(
    r"not built yet|\bin progress\b|not covered yet|will ship|until [\w ]{1,40} exists?\b"
    r"|(?-i:\bTODO\b)|coming soon",
    re.IGNORECASE,
)
ALLOWED = ("one `in progress` at a time",)
"""Sentences that are about something else: the state of a todo item."""


def test_no_document_says_that_something_is_still_to_come():
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(documents) > 20
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in documents
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if STALE.search(line) and not any(sentence in line for sentence in ALLOWED)
    ]
    assert found == []
