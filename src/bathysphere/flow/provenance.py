"""Where a value was read: searched when a question is asked, for the person who answers it.

Nothing depends on what is found here. Sources are searched newest first; in a result that is JSON
the texts in it are searched, not how JSON writes them.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bathysphere.core.invisible import reveal
from bathysphere.flow.judge import Reason
from bathysphere.flow.ledger import Entries, merge, trusted
from bathysphere.flow.occurrences import occurrences, whole_occurrences
from bathysphere.flow.sentences import source_name
from bathysphere.flow.values import JSON, canonical

MAX_EXCERPT = 200
MAX_SHOWN = 500
MIN_PART = 5
"""Characters of a value that is also looked for within words."""
DOCUMENT_TOOLS = frozenset({"read_user_file", "search_user_files"})
"""Tools whose results say which document of the person a text is from."""
_WINDOW = re.compile(
    r"@@ (?P<title>[^\n]{0,1000}) \((?P<file>[^()\s]{1,200})\) "
    r"(?P<start>\d{1,12})-(?P<end>\d{1,12})"
    r" of \d{1,12}(?: \| pages? \d{1,12}(?:-\d{1,12})?)?(?: \| next offset \d{1,12})? @@\n"
)
"""The head of a passage, as `client_files` writes it."""
_BETWEEN = "\n\n"
Places = Callable[[str, str], Iterator[int]]


@dataclass(frozen=True)
class Source:
    """The result of a call: what the tool was called with says what it is about.

    An attachment of the person's message has no tool.
    """

    call: str
    tool: str
    about: str
    text: str
    id: str | None = None
    """The tool and its exact arguments, as a hash; None if it cannot be trusted as a source."""


@dataclass(frozen=True)
class Passage:
    """A text within a source, and the document of the person that it is from, if any."""

    text: str
    file: str | None = None
    title: str = ""
    start: int = 0


def explain(reasons: Iterable[Reason], sources: Iterable[Source]) -> list[dict[str, Any]]:
    """The reasons as data for a question, each with the source of its value."""
    newest = list(sources)[::-1]
    return [_explained(reason, newest) for reason in reasons]


def _explained(reason: Reason, sources: list[Source]) -> dict[str, Any]:
    return {
        "why": reason.why,
        "arg": reason.argument,
        "value": reason.value,
        "kind": reason.kind,
        "said": reason.said,
        "source": None if reason.argument is None else locate(reason.value, sources),
    }


def locate(value: JSON, sources: Iterable[Source]) -> dict[str, Any] | None:
    """The first source that contains a value, with the line; None if the model made it up."""
    wanted, known = _fold(canonical(value).removeprefix("text ")), list(sources)
    found = _search(wanted, known, whole_occurrences) if wanted else None
    # A short value is part of many words; that says nothing about where it came from.
    if found is None and len(wanted) >= MIN_PART:
        found = _search(wanted, known, occurrences)
    return found


def _search(wanted: str, sources: Iterable[Source], places: Places) -> dict[str, Any] | None:
    for source in sources:
        for passage in passages(source):
            if (found := _in_passage(wanted, passage, places)) is not None:
                about = reveal(source.about)[:MAX_EXCERPT]
                named = {"call": source.call, "tool": source.tool, "about": about}
                return {**named, **found, **({"id": source.id} if source.id else {})}
    return None


def trusts(
    call: str, ids: Collection[str], reasons: Iterable[Mapping[str, Any]], known: Iterable[Source]
) -> Entries:
    """The trust of a person in sources that a question showed, as they were read."""
    asked = {found["call"]: found for r in reasons if (found := r["source"]) and found.get("id")}
    added: Entries = {}
    for source in known:
        shown = asked.get(source.call)
        if shown is not None and source.id and source.id == shown["id"] and source.id in ids:
            texts = [passage.text for passage in passages(source)]
            added = merge(added, trusted(call, source.id, source_name(shown), texts))
    return added


def passages(source: Source) -> list[Passage]:
    """The texts of a source: passages of documents, texts in its JSON, or all of it."""
    if source.tool in DOCUMENT_TOOLS and (found := list(_windows(source.text))):
        return found
    if source.text[:1] not in ("{", "["):
        return [Passage(source.text)]
    try:
        data = json.loads(source.text)
    except (ValueError, RecursionError):
        return [Passage(source.text)]
    return [Passage(text) for text in _texts(data)]


def _windows(text: str) -> Iterator[Passage]:
    """Passages of documents; each says how long it is, so that no text can imitate the next."""
    at = 0
    while head := _WINDOW.match(text, at):
        start, end = int(head["start"]), int(head["end"])
        at = head.end() + end - start
        title, file = head["title"], head["file"]
        yield Passage(text[head.end() : at], file, title, start)
        at += len(_BETWEEN)


def _texts(data: JSON) -> Iterator[str]:
    if isinstance(data, dict | list):
        for inner in data.values() if isinstance(data, dict) else data:
            yield from _texts(inner)
    elif data is not None:
        yield data if isinstance(data, str) else json.dumps(data)


def _in_passage(wanted: str, passage: Passage, places: Places) -> dict[str, Any] | None:
    begins = 0
    for number, line in enumerate(passage.text.splitlines(keepends=True), 1):
        at = next(places(_fold(line), wanted), -1)
        if at >= 0:
            found = line[at : at + len(wanted)]
            shown = {
                "line": number,
                "excerpt": _excerpt(line.rstrip("\r\n"), at, len(wanted)),
                "found": reveal(found[:MAX_SHOWN]),
            }
            return {**shown, **_document(passage, number, begins + at, found)}
        begins += len(line)
    return None


def _document(passage: Passage, line: int, at: int, found: str) -> dict[str, Any]:
    """Where a text is in a document of the person: enough to open it there."""
    if passage.file is None:
        return {}
    start = passage.start + at
    return {
        "line": line if passage.start == 0 else None,
        "document": {
            "file": passage.file,
            "title": reveal(passage.title)[:MAX_EXCERPT],
            "start": start,
            "end": start + len(found),
            "quote": found,
        },
    }


def _fold(text: str) -> str:
    """Fold case without changing the number of characters."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(c if len(c.casefold()) != 1 else c.casefold() for c in text)


def _excerpt(line: str, at: int, length: int) -> str:
    """The part of a line around a value, with invisible characters shown."""
    start = max(0, at - MAX_EXCERPT // 2)
    end = at + min(length, MAX_SHOWN) + MAX_EXCERPT // 2
    cut = f"{'…' if start else ''}{line[start:end].strip()}{'…' if end < len(line) else ''}"
    return reveal(cut)
