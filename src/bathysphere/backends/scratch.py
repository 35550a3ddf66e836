"""Scratch: the agent's own files, kept in graph state, safe to edit from many subagents at once.

deepagents' `StateBackend` gives every subagent a copy of the files and merges what comes back by
"the last one wins", so of two subagents that edit one file one edit is lost without a word. Here:

- While the tool calls of one step are under way, the newest text of every file they touched is
  shared by the whole tree (`share`), and an edit is applied to it under a lock. Both edits stay.
- Every stored file carries its revision and those it grew from. When two versions meet in graph
  state, the descendant wins. Where neither descends from the other (a subagent that went on in
  another process), both are kept: the one that came later under `<path>.conflict-<revision>`.
- A deletion is a revision too, so a subagent's deletion reaches its parent.

A bad path (`tenancy.paths`) or a missing file is a result the model can read, never an exception.
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
"""A `FileData` with `rev` (its revision) and `past` (the revisions it grew from, newest first)."""

Files = dict[str, StoredFile]

REV_LENGTH = 8
PAST_REVS = 32


class _Shared:
    """The newest text of the files that a run touched in its present step."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.lock = threading.RLock()
        self.files: Files = {}
        self.finished: set[str] = set()


_live: RecentRuns[_Shared] = RecentRuns(_Shared, keep=256)


@contextmanager
def share(run_id: str, call: str) -> Iterator[None]:
    """Share the run's files among its agents while one tool call of its step is under way.

    `call` names the tool call the same way each time it is run. A call that finished and comes
    again is a step that is run again: it starts from the files of its checkpoint.
    """
    if call in _live.of(run_id).finished:
        _live.forget(run_id)
    shared = _live.of(run_id)
    try:
        yield
    except GraphBubbleUp:  # a pause: what others finished meanwhile is still to be seen
        raise
    except BaseException:
        _live.forget(run_id)
        raise
    shared.finished.add(call)


def settle(run_id: str) -> None:
    """The step is over and graph state has all its files: nothing is shared any more."""
    _live.forget(run_id)


def merge_files(files: Files | None, updates: Sequence[Mapping[str, StoredFile | None]]) -> Files:
    """Graph state's reducer: fold updates in, the descendant of two versions wins."""
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
    """A file as it is stored; a client may have given bare text."""
    return {"content": given, "encoding": "utf-8"} if isinstance(given, str) else given


def tombstones(files: Mapping[str, StoredFile] | None) -> list[str]:
    """Paths whose newest revision is their deletion."""
    return [path for path, stored in (files or {}).items() if stored.get("deleted")]


class ScratchBackend(StateBackend, VersionedBackend):
    """Files in graph state, with revisions; usable only inside a run, as `StateBackend` is."""

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
        """Replace text in the newest version of a file, keeping its line ends."""
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
        """Delete a file, or a folder with all that is in it; never the root."""
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
        """Read several files whole."""
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
    """Why no file can have a path, for the model and as the protocol's uploads name it."""

    text: str
    code: FileOperationError


def _is_folder(files: Mapping[str, Any], path: str) -> bool:
    return any(other.startswith(f"{path}/") for other in files)


def _conflict(files: Mapping[str, Any], path: str) -> _Conflict | None:
    """Whether the path is a folder, or below a file."""
    place = path.find("/", 1)
    while place != -1:
        if path[:place] in files:
            text = f"Error: '{path[:place]}' is a file, so nothing can be below it"
            return _Conflict(text, "invalid_path")
        place = path.find("/", place + 1)
    return (
        _Conflict(f"Error: '{path}' is a folder", "is_directory")
        if _is_folder(files, path)
        else None
    )


def _code(path: str) -> FileOperationError | None:
    """What an upload or download says of a path that no file may have."""
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
    """Make a new revision that grew from the current one; `None` is a deletion."""
    deletion = {"content": "", "encoding": "utf-8", "deleted": True}
    fresh = {k: v for k, v in (stored or deletion).items() if k not in ("rev", "past")}
    past = (_rev(current) + current.get("past", "")) if current else ""
    return {
        **fresh,
        "rev": secrets.token_hex(REV_LENGTH // 2),
        "past": past[: PAST_REVS * REV_LENGTH],
    }


def _meet(files: Files, path: str, new: StoredFile) -> None:
    """Put `new` where another version may be: the descendant stays, a rival is kept beside it."""
    old = files.get(path)
    if old is None or _grew_from(new, old):
        files[path] = new
    elif _grew_from(old, new):
        return
    elif "rev" not in new or old.get("deleted"):
        # Given from outside it is what the client wants; and a deletion yields to an edit.
        files[path] = new
    elif not new.get("deleted"):
        _keep_beside(files, f"{path}.conflict-", new)


def _keep_beside(files: Files, prefix: str, rival: StoredFile) -> None:
    """Keep a rival of the version in place, once, in its newest form."""
    rivals = {path: stored for path, stored in files.items() if path.startswith(prefix)}
    if any(_grew_from(stored, rival) for stored in rivals.values()):
        return
    for path, stored in rivals.items():
        if _grew_from(rival, stored):
            del files[path]
    files[prefix + _rev(rival)] = rival


def _grew_from(new: StoredFile, old: StoredFile) -> bool:
    """Whether `new` is `old` or a later version of it."""
    rev = _rev(old)
    if rev == _rev(new):
        return True
    past = new.get("past", "")
    return any(past[i : i + REV_LENGTH] == rev for i in range(0, len(past), REV_LENGTH))


def _rev(stored: StoredFile) -> str:
    """The revision; that of a file given from outside is its content's hash."""
    rev: str | None = stored.get("rev")
    return rev or hashlib.sha256(str(stored.get("content")).encode()).hexdigest()[:REV_LENGTH]
