"""Client tools on a person's device: list, read, search, write and patch documents.

Every result has the form documented in docs/client-files.md. Reads run at once; a proposed change
goes to `decide`, where the person accepts all of it, parts of it or nothing. A document that has
changed since the agent read it is not modified; the result has its current text.
"""

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

from bathysphere.device.documents import (
    Document,
    DocumentChanged,
    DocumentError,
    Documents,
    Shelf,
)
from bathysphere.device.hunks import lines_of
from bathysphere.device.search import ranked

MAX_ROWS = 200
MAX_TEXT = 20_000
MAX_LINE = 500

Answer = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A new document or a change that an agent proposes."""

    document: str
    before: str | None
    """None for a new document."""
    after: str
    description: str


class Refused(NamedTuple):
    """A part of a proposal that the person rejected, with the reason."""

    text: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """The person's decision on a proposal."""

    text: str | None
    """The full new text of the document; None if the proposal was rejected."""
    refused: tuple[Refused, ...] = ()
    reason: str = ""


Decide = Callable[[Proposal], Verdict]


def take_all(proposal: Proposal) -> Verdict:
    """Accept every proposal in full."""
    return Verdict(text=proposal.after)


class Device:
    """Runs the calls of an agent's client tools."""

    def __init__(self, documents: Documents, *, decide: Decide = take_all) -> None:
        self.documents = documents
        self.decide = decide
        self.asked: list[str] = []
        """The names of the tools called, in order."""
        self._tools: dict[str, Callable[..., Answer]] = {
            "list_user_files": self._list,
            "read_user_file": self._read,
            "search_user_files": self._search,
            "grep_user_files": self._grep,
            "glob_user_files": self._glob,
            "write_user_file": self._write,
            "patch_user_file": self._patch,
        }

    def run(self, call: Mapping[str, Any]) -> Answer:
        """Run one tool call and return `{<call id>: result}`."""
        self.asked.append(call["name"])
        return {call["id"]: self._result(call["name"], call["args"])}

    def _result(self, name: str, args: Mapping[str, Any]) -> Answer:
        tool = self._tools.get(name)
        if tool is None:
            return {"error": f"Unknown tool: {name!r}"}
        try:
            signature(tool).bind(**args)
        except TypeError as error:
            return {"error": f"{name}: {error}"}
        try:
            return tool(**args)
        except DocumentError as error:
            return {"error": error.message}

    # ── reading ──

    def _list(self, file_type: str | None = None) -> Answer:
        return _files(self.documents.all(), lambda d: file_type in (None, _type(d.id)))

    def _glob(self, pattern: str) -> Answer:
        return _files(self.documents.all(), lambda d: _matches(d.id, pattern))

    def _read(self, file_id: str, offset: int = 0, limit: int = 8_000) -> Answer:
        document = self.documents.read(file_id)
        start = min(offset, len(document.text))
        return _window(document, start, document.text[start : start + min(limit, MAX_TEXT)])

    def _search(self, query: str, top_k: int = 8) -> Answer:
        shelf = self.documents.all()
        found = ranked(query, shelf.documents, most=min(top_k, 20))
        hits = [_window(p.document, p.start, p.text) for p in found]
        return {"hits": hits, "by": "words"}

    def _grep(self, pattern: str, glob: str | None = None, case_sensitive: bool = False) -> Answer:
        shelf = self.documents.all()
        rows: list[Answer] = []
        size = 0
        for document in shelf.documents:
            if glob and not _matches(document.id, glob):
                continue
            for row in _lines_with(document, pattern, case_sensitive=case_sensitive):
                size += len(row["text"])
                if len(rows) >= MAX_ROWS or size > MAX_TEXT:
                    return {"matches": rows, "truncated": True}
                rows.append(row)
        return {"matches": rows, "truncated": shelf.truncated}

    # ── proposals ──

    def _write(
        self, title: str, content: str, description: str, file_type: str = "markdown"
    ) -> Answer:
        name = self.documents.place(title, file_type)
        proposal = Proposal(document=name, before=None, after=content, description=description)
        return self._settle(proposal, lambda text: self.documents.create(name, text))

    def _patch(
        self, file_id: str, base_version: str, search: str, replace: str, description: str
    ) -> Answer:
        now = self.documents.read(file_id)
        if now.version != base_version:
            return _conflict(now, search)
        after = _patched(now.text, search, replace)
        proposal = Proposal(document=file_id, before=now.text, after=after, description=description)
        try:
            return self._settle(
                proposal,
                lambda text: self.documents.replace(file_id, text, base_version=base_version),
            )
        except DocumentChanged:  # changed while the person was deciding
            return _conflict(self.documents.read(file_id), search)

    def _settle(self, proposal: Proposal, write: Callable[[str], Document]) -> Answer:
        verdict = self.decide(proposal)
        refused = [{"text": r.text[:MAX_TEXT], "reason": r.reason} for r in verdict.refused]
        if verdict.text is None or verdict.text == proposal.before:
            reasons = [verdict.reason, *(r.reason for r in verdict.refused)]
            words = "; ".join(dict.fromkeys(filter(None, reasons)))
            return {"status": "refused", "reason": words, "refused": refused}
        written = write(verdict.text)
        about = {"file_id": written.id, "version": written.version}
        if verdict.text == proposal.after:
            return {"status": "applied", **about}
        part = _part(written, *_changed(proposal, written.text))
        return {"status": "partly", **part, "reason": verdict.reason, "refused": refused}


# ── private ──


def _files(shelf: Shelf, wanted: Callable[[Document], bool]) -> Answer:
    found = [document for document in shelf.documents if wanted(document)]
    rows = [
        {
            "id": document.id,
            "title": document.id,
            "version": document.version,
            "type": _type(document.id),
            "characters": len(document.text),
        }
        for document in found[:MAX_ROWS]
    ]
    return {"files": rows, "truncated": shelf.truncated or len(found) > MAX_ROWS}


def _type(document_id: str) -> str:
    return "markdown" if document_id.lower().endswith((".md", ".markdown")) else "text"


def _matches(document_id: str, pattern: str) -> bool:
    """Whether a pattern matches the whole path or the file name."""
    wanted, name = pattern.casefold(), document_id.casefold()
    last = name.rpartition("/")[2]
    return fnmatch.fnmatchcase(name, wanted) or fnmatch.fnmatchcase(last, wanted)


def _window(document: Document, start: int, text: str) -> Answer:
    about = {"file_id": document.id, "title": document.id, "version": document.version}
    return {**about, "start": start, "total": len(document.text), "text": text}


def _lines_with(document: Document, pattern: str, *, case_sensitive: bool) -> list[Answer]:
    found, start = [], 0
    wanted = pattern if case_sensitive else pattern.casefold()
    for number, line in enumerate(lines_of(document.text), 1):
        text = line.rstrip("\r\n")
        at = text.find(pattern) if case_sensitive else text.casefold().find(wanted)
        if at >= 0:
            cut = 0 if len(text) <= MAX_LINE else max(0, min(at, len(text)) - MAX_LINE // 4)
            place = {"line": number, "start": start + cut, "text": text[cut : cut + MAX_LINE]}
            about = {"file_id": document.id, "title": document.id, "version": document.version}
            found.append({**about, **place})
        start += len(line)
    return found


def _patched(text: str, search: str, replace: str) -> str:
    """Return the text with one occurrence replaced.

    Raises:
        DocumentError: The text to replace does not occur exactly once.
    """
    if search not in text and "\r\n" in text:  # the agent saw line endings as `\n`
        search, replace = _with_returns(search), _with_returns(replace)
    times = text.count(search)
    if times != 1:
        where = "was not found" if not times else f"occurs {times} times"
        raise DocumentError(
            f"The text to replace {where}: copy a unique passage from the document exactly"
        )
    if search == replace:
        raise DocumentError("The replacement is the same as the original text")
    return text.replace(search, replace)


def _with_returns(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


def _conflict(now: Document, search: str) -> Answer:
    """Return the current text around the place that the patch was for."""
    near = [now.text.find(line) for line in lines_of(search) if line.strip()]
    at = next((place for place in near if place >= 0), 0)
    start = 0 if len(now.text) <= MAX_TEXT else max(0, at - MAX_TEXT // 2)
    return {"status": "conflict", **_part(now, start, len(now.text))}


def _part(document: Document, start: int, end: int) -> Answer:
    text = document.text[start : min(end, start + MAX_TEXT)]
    about = {"file_id": document.id, "version": document.version}
    return {**about, "start": start, "total": len(document.text), "text": text}


def _changed(proposal: Proposal, written: str) -> tuple[int, int]:
    """Return the span of the written text that the proposal affects, in whole lines."""
    before = proposal.before or ""
    texts = [before, proposal.after, written]
    start = _common(texts)
    kept = _common([text[start:][::-1] for text in texts])
    end = len(written) - kept
    start = written.rfind("\n", 0, start) + 1
    if end == len(written) or written[end - 1 : end] == "\n":
        return start, end
    last = written.find("\n", end)
    return start, len(written) if last < 0 else last + 1


def _common(texts: list[str]) -> int:
    """Return the length of the texts' common prefix."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (one, other) in pairs if one != other), len(first))
