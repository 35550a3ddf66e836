"""The scratch backend: files in graph state that concurrent subagents can edit safely.

deepagents' `StateBackend` gives every subagent a copy of the files and merges the copies with "last
write wins", so if two subagents edit the same file, one edit is silently lost. Here:

- During the tool calls of one step, the newest text of every file they touched is shared by the
  whole tree (`share`), and edits are applied to it under a lock. Both edits are kept.
- Every stored file has a revision and a list of its ancestors. When two versions are merged in
  graph state, the descendant wins. If neither descends from the other (a subagent continued in
  another process), both are kept: the later one as `<path>.conflict-<revision>`.
- A deletion is a revision as well, so a subagent's deletion reaches its parent.

An invalid path (`tenancy.paths`) or a missing file is an error result, never an exception.
"""

import hashlib
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from deepagents.backends import StateBackend
from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    FileData,
    FileDownloadResponse,
    FileOperationError,
    FileUploadResponse,
    ReadResult,
    WriteResult,
)
from langgraph.errors import GraphBubbleUp

from bathysphere.backends.conditional import ABSENT, Expectation, VersionedBackend
from bathysphere.backends.object_store.windows import window_of
from bathysphere.core.live import RecentRuns
from bathysphere.core.text_edits import match_line_ends
from bathysphere.tenancy.errors import InvalidPath
from bathysphere.tenancy.paths import canonical
from bathysphere.upstream import CONFIG_KEY_READ, file_type_of

StoredFile = dict[str, Any]
"""A `FileData` with `rev` (its revision) and `past` (its ancestors, newest first)."""

Files = dict[str, StoredFile]

REV_LENGTH = 8
PAST_REVS = 32


class _Shared:
    """The newest text of the files touched by a run in its current step."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.lock = threading.RLock()
        self.files: Files = {}
        self.finished: set[str] = set()


_live: RecentRuns[_Shared] = RecentRuns(_Shared, keep=256)


@contextmanager
def share(run_id: str, call: str) -> Iterator[None]:
    """Share a run's files among its agents for the duration of one tool call.

    `call` identifies the tool call across executions. If a finished call is made again, its step is
    being repeated: it starts from the files of its checkpoint.
    """
    if call in _live.of(run_id).finished:
        _live.forget(run_id)
    shared = _live.of(run_id)
    try:
        yield
    except GraphBubbleUp:  # paused: files that others finished in the meantime stay shared
        raise
    except BaseException:
        _live.forget(run_id)
        raise
    shared.finished.add(call)


def settle(run_id: str) -> None:
    """Stop sharing at the end of a step, when graph state has all files."""
    _live.forget(run_id)


def merge_files(files: Files | None, updates: Sequence[Mapping[str, StoredFile | None]]) -> Files:
    """Reducer of graph state: apply updates; of two versions, the descendant wins."""
    merged: Files = dict(files or {})
    for update in updates:
        for given_path, stored in update.items():
            path = given_path if given_path.startswith("/") else f"/{given_path}"
            if stored is None:
                merged.pop(path, None)
            else:
                _meet(merged, path, _as_stored(stored))
    return merged


def _as_stored(given: Any) -> StoredFile:
    """Return a file in its stored form; clients may send plain text."""
    return {"content": given, "encoding": "utf-8"} if isinstance(given, str) else given


def tombstones(files: Mapping[str, StoredFile] | None) -> list[str]:
    """Return the paths whose newest revision is a deletion."""
    return [path for path, stored in (files or {}).items() if stored.get("deleted")]


class ScratchBackend(StateBackend, VersionedBackend):
    """Files in graph state, with revisions. Usable only inside a run, like `StateBackend`."""

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines."""
        try:
            path = canonical(file_path)
        except InvalidPath as error:
            return ReadResult(error=f"Error: {error}")
        stored = self._read_files().get(path)
        is_lines = stored is not None and _is_text(path, stored)
        if stored is None or not is_lines or limit <= 0 or not str(stored["content"]).strip():
            return super().read(path, offset, limit)
        return _window(stored, path, max(int(offset), 0), int(limit))

    def seen(self, file_path: str) -> tuple[str, bytes] | None:
        """Return a file's version token and content, or None if it does not exist."""
        [found] = self.download_files([file_path])
        return None if found.content is None else (_token(found.content), found.content)

    def write(
        self, file_path: str, content: str, *, expect: Expectation | None = None
    ) -> WriteResult:
        """Write a file, or overwrite it."""
        try:
            path = canonical(file_path)
            content.encode()
        except (InvalidPath, UnicodeEncodeError) as error:
            return WriteResult(error=f"Error: {error}")
        with self._newest():
            if stale := self._refusal(path, expect):
                return WriteResult(error=stale)
            conflict = _conflict(self._read_files(), path)
            return WriteResult(error=conflict.text) if conflict else super().write(path, content)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expect: Expectation | None = None,
    ) -> EditResult:
        """Replace text in the newest version of a file, keeping its line endings."""
        try:
            path = canonical(file_path)
            new_string.encode()
        except (InvalidPath, UnicodeEncodeError) as error:
            return EditResult(error=f"Error: {error}")
        with self._newest():
            if stale := self._refusal(path, expect):
                return EditResult(error=stale)
            text = str(self._read_files().get(path, {}).get("content"))
            old, new = match_line_ends(text, old_string, new_string)
            return super().edit(path, old, new, replace_all)

    def delete(self, file_path: str, *, expect: Expectation | None = None) -> DeleteResult:
        """Delete a file, or a folder with its contents; never the root."""
        try:
            path = canonical(file_path.removesuffix("/"))
        except InvalidPath as error:
            return DeleteResult(error=f"Error: {error}")
        with self._newest():
            if stale := self._refusal(path, expect):
                return DeleteResult(error=stale)
            files = self._read_files()
            if path in files and _is_folder(files, path):
                return DeleteResult(error=f"Error: '{path}' is a file and a folder")
            return super().delete(path)

    def _refusal(self, path: str, expect: Expectation | None) -> str | None:
        """Why a change is refused: the file is not at the expected version."""
        if expect is None:
            return None
        found = self.seen(path)
        is_expected = (found[0] if found else ABSENT) == expect.token
        return None if is_expected else expect.refuse(path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store several files at once."""
        answers, fit = [], []
        with self._newest():
            there = dict.fromkeys(self._read_files())
            for path, data in files:
                error = _code(path)
                if error is None and (conflict := _conflict(there, canonical(path))):
                    error = conflict.code
                answers.append(FileUploadResponse(path=path, error=error))
                if error is None:
                    there[canonical(path)] = None
                    fit.append((canonical(path), data))
            super().upload_files(fit)
        return answers

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read several whole files."""
        found = super().download_files([path if _code(path) else canonical(path) for path in paths])
        return [
            FileDownloadResponse(path=path, content=one.content, error=_code(path) or one.error)
            for path, one in zip(paths, found, strict=True)
        ]

    # ── the only lines that touch graph state ──

    def _newest(self) -> AbstractContextManager[object]:
        shared = self._shared()
        return shared.lock if shared else threading.Lock()

    def _read_files(self) -> Files:
        return {p: stored for p, stored in self._all_files().items() if not stored.get("deleted")}

    def _all_files(self) -> Files:
        files: Files = super()._read_files()
        shared = self._shared()
        if shared is None or not shared.files:
            return files
        return merge_files(files, [shared.files])

    def _send_files_update(self, update: dict[str, Any]) -> None:
        current = self._all_files()
        stamped = {path: _stamp(stored, current.get(path)) for path, stored in update.items()}
        shared = self._shared()
        if shared is not None:
            shared.files.update(stamped)
        super()._send_files_update(stamped)

    def _shared(self) -> _Shared | None:
        read = self._get_config()["configurable"][CONFIG_KEY_READ]
        run_id = read("run_id", False)
        return _live.of(run_id) if run_id else None


class _Conflict(NamedTuple):
    """Why a path cannot be a file: a message for the model, and the upload protocol's code."""

    text: str
    code: FileOperationError


def _is_folder(files: Mapping[str, Any], path: str) -> bool:
    return any(other.startswith(f"{path}/") for other in files)


def _conflict(files: Mapping[str, Any], path: str) -> _Conflict | None:
    """Whether the path is a folder, or below a file."""
    place = path.find("/", 1)
    while place != -1:
        if path[:place] in files:
            text = f"Error: '{path[:place]}' is a file, not a folder"
            return _Conflict(text, "invalid_path")
        place = path.find("/", place + 1)
    return (
        _Conflict(f"Error: '{path}' is a folder", "is_directory")
        if _is_folder(files, path)
        else None
    )


def _code(path: str) -> FileOperationError | None:
    """Return the error code of an upload or download for an invalid path."""
    try:
        canonical(path)
    except InvalidPath:
        return "invalid_path"
    return None


def _token(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _is_text(path: str, stored: StoredFile) -> bool:
    return stored.get("encoding") != "base64" and file_type_of(path) == "text"


def _window(stored: StoredFile, path: str, offset: int, limit: int) -> ReadResult:
    window, total = window_of(str(stored["content"]), offset, limit)
    if not window.lines:
        return ReadResult(error=f"Error: Line offset {offset} exceeds the length of '{path}'")
    shown = FileData(content=window.text, encoding="utf-8")
    if "modified_at" in stored:
        shown["modified_at"] = stored["modified_at"]
    return ReadResult(
        file_data=shown,
        start_line=offset + 1,
        end_line=offset + window.lines,
        total_lines=total,
        next_offset=None if window.is_end else offset + window.lines,
    )


def _stamp(stored: StoredFile | None, current: StoredFile | None) -> StoredFile:
    """Create a new revision from the current one; `None` is a deletion."""
    deletion = {"content": "", "encoding": "utf-8", "deleted": True}
    fresh = {k: v for k, v in (stored or deletion).items() if k not in ("rev", "past")}
    past = (_rev(current) + current.get("past", "")) if current else ""
    return {
        **fresh,
        "rev": secrets.token_hex(REV_LENGTH // 2),
        "past": past[: PAST_REVS * REV_LENGTH],
    }


def _meet(files: Files, path: str, new: StoredFile) -> None:
    """Merge a version: the descendant is kept, a conflicting version is kept as a copy."""
    old = files.get(path)
    if old is None or _grew_from(new, old):
        files[path] = new
    elif _grew_from(old, new):
        return
    elif "rev" not in new or old.get("deleted"):
        # A client's version wins, and an edit wins over a deletion.
        files[path] = new
    elif not new.get("deleted"):
        _keep_beside(files, f"{path}.conflict-", new)


def _keep_beside(files: Files, prefix: str, rival: StoredFile) -> None:
    """Keep a conflicting version under its own path, once, at its newest revision."""
    rivals = {path: stored for path, stored in files.items() if path.startswith(prefix)}
    if any(_grew_from(stored, rival) for stored in rivals.values()):
        return
    for path, stored in rivals.items():
        if _grew_from(rival, stored):
            del files[path]
    files[prefix + _rev(rival)] = rival


def _grew_from(new: StoredFile, old: StoredFile) -> bool:
    """Whether `new` is `old` or a descendant of it."""
    rev = _rev(old)
    if rev == _rev(new):
        return True
    past = new.get("past", "")
    return any(past[i : i + REV_LENGTH] == rev for i in range(0, len(past), REV_LENGTH))


def _rev(stored: StoredFile) -> str:
    """Return the revision; for a file from a client, the hash of its content."""
    rev: str | None = stored.get("rev")
    return rev or hashlib.sha256(str(stored.get("content")).encode()).hexdigest()[:REV_LENGTH]
