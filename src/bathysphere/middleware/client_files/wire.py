"""Answers of a device: their schemas, disclosure records, and text for the model.

Positions count characters of the document's text; hashes are over its UTF-8 bytes.
"""

import hashlib
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bathysphere.core.words import count

MAX_ROWS = 200
MAX_TEXT = 20_000

BY_WORDS = "(This device finds words, not meanings: try other words for the same thing.)"


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore")


class Failed(_Wire):
    """The device could not run the tool."""

    model_config = ConfigDict(extra="forbid")
    error: str = Field(min_length=1, max_length=2_000)


class File(_Wire):
    """One document, without its text."""

    id: str
    title: str
    version: str
    type: str = "text"
    characters: int | None = None
    pages: int | None = Field(default=None, ge=1)


class FoundFiles(_Wire):
    """Documents that exist or match."""

    files: list[File] = Field(max_length=MAX_ROWS)
    truncated: bool = False


class Window(_Wire):
    """Part of a document's text."""

    file_id: str
    title: str = ""
    version: str
    start: int = Field(ge=0)
    total: int = Field(ge=0)
    text: str = Field(max_length=MAX_TEXT)
    page: int | None = Field(default=None, ge=1)
    """The page on which the part begins, of a document that has pages."""
    last_page: int | None = Field(default=None, ge=1)

    @property
    def end(self) -> int:
        """End position of the part."""
        return self.start + len(self.text)


class Hits(_Wire):
    """Passages found; `by` is the search method, since not every device has semantic search."""

    hits: list[Window] = Field(max_length=20)
    by: Literal["meaning", "words"] = "meaning"


class Match(_Wire):
    """A line that contains the search text."""

    file_id: str
    title: str = ""
    version: str
    line: int = Field(ge=1)
    start: int = Field(ge=0)
    text: str = Field(max_length=2_000)
    page: int | None = Field(default=None, ge=1)


class Matches(_Wire):
    """Lines that contain the search text."""

    matches: list[Match] = Field(max_length=MAX_ROWS)
    truncated: bool = False


class Refusal(_Wire):
    """A part of a proposal that the person refused."""

    text: str = Field(max_length=MAX_TEXT)
    reason: str = Field(default="", max_length=2_000)


# The checks of `Changed._check_complete` as JSON Schema, for other clients.
_NAMED = {"type": "string", "minLength": 1}
_WHOLE: dict[str, Any] = {
    "allOf": [
        {
            "if": {"properties": {"status": {"const": "refused"}}},
            "else": {
                "required": ["file_id", "version"],
                "properties": {"file_id": _NAMED, "version": _NAMED},
            },
        },
        {
            "if": {"properties": {"status": {"enum": ["partly", "conflict"]}}},
            "then": {"required": ["text"], "properties": {"text": {"type": "string"}}},
        },
    ]
}


class Changed(_Wire):
    """The outcome of a proposal.

    `conflict` means that the document is no longer at the version that the proposal was made for:
    nothing is changed, and the current version and text are returned.
    """

    model_config = ConfigDict(extra="ignore", json_schema_extra=_WHOLE)
    status: Literal["applied", "partly", "refused", "conflict"]
    file_id: str | None = None
    version: str | None = None
    text: str | None = Field(default=None, max_length=MAX_TEXT)
    """The text written (`partly`), or the current text (`conflict`)."""
    start: int = Field(default=0, ge=0)
    """Position of `text`, which may be part of a long document."""
    total: int | None = Field(default=None, ge=0)
    reason: str = Field(default="", max_length=2_000)
    refused: list[Refusal] = Field(default=[], max_length=MAX_ROWS)

    @model_validator(mode="after")
    def _check_complete(self) -> "Changed":
        if self.status != "refused" and not (self.file_id and self.version):
            message = f"status {self.status} requires file_id and version"
            raise ValueError(message)
        if self.status in ("partly", "conflict") and self.text is None:
            message = f"status {self.status} requires text"
            raise ValueError(message)
        return self

    @property
    def changed_nothing(self) -> bool:
        """Whether the document is unchanged."""
        return self.status in ("refused", "conflict")


Answered = FoundFiles | Window | Hits | Matches | Changed


class Disclosure(TypedDict):
    """A passage that left the device."""

    call: str
    tool: str
    file: str
    version: str
    start: int
    end: int
    bytes: int
    sha256: str


def disclosed(answer: Answered, *, call: str, tool: str) -> list[Disclosure]:
    """Disclosure records of the passages in an answer."""
    return [
        {
            "call": call,
            "tool": tool,
            "file": file,
            "version": version,
            "start": start,
            "end": start + len(text),
            "bytes": len(text.encode()),
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
        }
        for file, version, start, text in _passages(answer)
    ]


def versions_seen(answer: Answered) -> dict[str, str]:
    """Document → version that the agent has now read or written."""
    if isinstance(answer, Changed):
        if answer.status == "refused" or not answer.file_id or not answer.version:
            return {}
        return {answer.file_id: answer.version}
    return {file: version for file, version, _, _ in _passages(answer)}


def to_text(answer: Answered) -> str:
    """Format an answer for the model."""
    if isinstance(answer, FoundFiles):
        rows = [_file(file) for file in answer.files]
        return _lines(rows, "No documents.", truncated=answer.truncated)
    if isinstance(answer, Window):
        return _window(answer)
    if isinstance(answer, Hits):
        rows = list(map(_window, answer.hits)) or ["Nothing found."]
        return "\n\n".join([*rows, *([BY_WORDS] if answer.by == "words" else [])])
    if isinstance(answer, Matches):
        rows = [_match(match) for match in answer.matches]
        return _lines(rows, "Nothing found.", truncated=answer.truncated)
    return _change(answer)


def _passages(answer: Answered) -> list[tuple[str, str, int, str]]:
    if isinstance(answer, Window):
        return [(answer.file_id, answer.version, answer.start, answer.text)]
    if isinstance(answer, Hits):
        return [passage for hit in answer.hits for passage in _passages(hit)]
    if isinstance(answer, Matches):
        return [(m.file_id, m.version, m.start, m.text) for m in answer.matches]
    if isinstance(answer, Changed) and answer.text and answer.file_id and answer.version:
        return [(answer.file_id, answer.version, answer.start, answer.text)]
    return []


def _file(file: File) -> str:
    size = f", {file.characters} characters" if file.characters is not None else ""
    size += f", {count(file.pages, 'page')}" if file.pages is not None else ""
    return f"{file.id}: {file.title} ({file.type}{size})"


def _window(window: Window) -> str:
    more = f" | next offset {window.end}" if window.end < window.total else ""
    where = f"{window.start}-{window.end} of {window.total}{_pages(window)}{more}"
    return f"@@ {window.title or window.file_id} ({window.file_id}) {where} @@\n{window.text}"


def _pages(window: Window) -> str:
    if window.page is None:
        return ""
    if window.last_page is None or window.last_page <= window.page:
        return f" | page {window.page}"
    return f" | pages {window.page}-{window.last_page}"


def _match(match: Match) -> str:
    page = f" page {match.page}" if match.page is not None else ""
    where = f"{match.title or match.file_id} ({match.file_id}){page} line {match.line}"
    return f"{where}: {match.text}"


def _lines(rows: list[str], none: str, *, truncated: bool) -> str:
    return "\n".join([*rows, *(["(more were found)"] if truncated else [])]) or none


def _change(change: Changed) -> str:
    because = f" Reason: {change.reason}" if change.reason else ""
    if change.status == "applied":
        return f"Written ({change.file_id})."
    if change.status == "refused":
        return f"The person refused it: nothing was changed.{because}"
    if change.status == "conflict":
        return (
            "The person edited the document since you read it: nothing was changed."
            f"{because} It now reads{_span(change)}:\n{change.text}"
        )
    left = "".join(
        f"\n- refused{': ' + r.reason if r.reason else ''}: {r.text}" for r in change.refused
    )
    return (
        f"The person took part of it ({change.file_id}).{because} What was written"
        f"{_span(change)}:\n{change.text}{left}"
    )


def _span(change: Changed) -> str:
    """Position of the text, if it is not the whole document."""
    if change.total is None or change.text is None or len(change.text) == change.total:
        return ""
    return f" at {change.start}-{change.start + len(change.text)} of {change.total}"
