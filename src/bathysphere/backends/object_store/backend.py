"""The object store backend: files of a workspace, with results instead of exceptions.

The root is determined on every call, so one backend serves every tenant. Invalid paths are refused,
edits are compare-and-swap, and an unconfirmed operation is reported as unknown.
"""

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from deepagents.backends.protocol import (
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from deepagents.backends.utils import (
    InvalidGlobPatternError,
    compile_grep_include_glob,
)

from bathysphere.backends.conditional import ABSENT, Expectation, VersionedBackend
from bathysphere.backends.object_store.folders import (
    files_below,
    keys_to_delete,
    literal_folders,
    refuse_conflict,
)
from bathysphere.backends.object_store.index import FOLDER
from bathysphere.backends.object_store.objects import (
    Changed,
    Expect,
    Meta,
    StoredObjects,
    Version,
)
from bathysphere.backends.object_store.rendering import (
    Reader,
    code_of,
    error_text,
    file_info,
    is_text_by_name,
    replaced_in,
)
from bathysphere.backends.object_store.search import Candidate, Search, SearchLimits
from bathysphere.core.clock import Clock, SystemClock
from bathysphere.core.errors import BathysphereError
from bathysphere.tenancy.quota import Quota, StoredMeter, Usage
from bathysphere.tenancy.root import Root

RootOf = Callable[[], Root]
QuotaOf = Callable[[str], Quota]

BUSY = "Error: '{path}' is being changed too often. Nothing was written; try again later."
_LARGEST_EDIT = 8


class ObjectStoreBackend(VersionedBackend):
    """One bucket for many workspaces. Every failure is a result that the model can read.

    Args:
        objects: The bucket, from `open_bucket`.
        root: The workspace's root, or a function that returns it on every call and may refuse.
        write_mode: `create` refuses to overwrite an existing file.
        quota: The storage quota of tenants; None for no quota.
        limits: Limits of a search.
        edit_seconds: How long an edit is retried.
        clock: For deadlines.
    """

    def __init__(
        self,
        objects: StoredObjects,
        root: Root | RootOf,
        *,
        write_mode: Literal["overwrite", "create"] = "overwrite",
        quota: QuotaOf | None = None,
        limits: SearchLimits | None = None,
        edit_seconds: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        self._objects = objects
        self.root = root
        self._root_of: RootOf = (lambda: root) if isinstance(root, Root) else root
        self._write_mode = write_mode
        self._limits = limits or SearchLimits()
        self._edit_seconds = edit_seconds
        self._clock = clock or SystemClock()
        self._search = Search(objects, self._limits, self._clock)
        self._reader = Reader(objects, self._limits.max_file)
        self._quota = quota
        self._meter = StoredMeter(self._stored, clock=self._clock)
        self._turns: dict[str, threading.Lock] = {}
        self._turns_lock = threading.Lock()

    # ── looking ──

    def ls(self, path: str) -> LsResult:
        """List a folder."""
        try:
            root = self._root_of()
            key = root.folder_key(path)
            listing = self._objects.folder(key)
        except BathysphereError as error:
            return LsResult(error=error_text(error))
        # A console's "new folder" is an object with the folder's name and nothing in it.
        metas = [m for m in listing.metas if m.size or m.key not in listing.folders]
        entries = [file_info(p, meta) for meta in metas if (p := root.path(meta.key))]
        for folder in listing.folders:
            if folder_path := root.path(folder):
                entries.append(FileInfo(path=f"{folder_path}/", is_dir=True, size=0))
        return LsResult(entries=sorted(entries, key=lambda entry: entry["path"]))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines; of a large object only the window is loaded."""
        return self.look(file_path, offset, limit)[0]

    def look(self, file_path: str, offset: int, limit: int) -> tuple[ReadResult, Meta | None]:
        """Read a window of lines, with the metadata of the version read."""
        try:
            key = self._root_of().key(file_path)
            got = self._objects.get(key, most=self._limits.max_file)
            if got is None:
                return ReadResult(error=f"Error: File '{file_path}' not found"), None
            shown = self._reader.shown(file_path, got, max(int(offset), 0), max(int(limit), 0))
        except BathysphereError as error:
            return ReadResult(error=error_text(error)), None
        return shown, got.meta

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name."""
        try:
            found, _ = self._files(path, pattern)
        except InvalidGlobPatternError as error:
            return GlobResult(error=str(error))
        except BathysphereError as error:
            return GlobResult(error=error_text(error))
        empty = [c for c in found if not c.meta.size]
        if empty:  # an empty object may be a folder made in a console, which is not a file
            with ThreadPoolExecutor(8, thread_name_prefix="glob") as pool:
                there = list(pool.map(lambda c: self._objects.head(c.meta.key), empty[:200]))
            gone = {c.path for c, meta in zip(empty, there, strict=False) if meta is None}
            found = [c for c in found if c.path not in gone]
        newest = sorted(found, key=lambda c: c.meta.modified, reverse=True)
        return GlobResult(matches=[file_info(c.path, c.meta) for c in newest])

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find lines that contain a literal text."""
        if not pattern:
            return GrepResult(error="Error: the text to search for is empty")
        try:
            pattern.encode()
            found, root = self._files(path, glob)
            texts = [c for c in found if is_text_by_name(c.path)]
            index_at = f"{root.tenant}/{FOLDER}/{root.workspace}"
            return self._search.grep(pattern, texts, max_count=max_count, index_at=index_at)
        except UnicodeEncodeError:
            return GrepResult(error="Error: the text to search for is not Unicode text")
        except InvalidGlobPatternError as error:
            return GrepResult(error=str(error))
        except BathysphereError as error:
            return GrepResult(error=error_text(error))

    # ── changing ──

    def write(
        self, file_path: str, content: str, *, expect: Expectation | None = None
    ) -> WriteResult:
        """Write a whole file, or overwrite it."""
        try:
            data = content.encode()
        except UnicodeEncodeError:
            return WriteResult(error="Error: the content is not Unicode text")
        return self.write_bytes(file_path, data, expect=expect)

    def write_bytes(
        self, file_path: str, data: bytes, *, expect: Expectation | None = None
    ) -> WriteResult:
        """Write a whole file from bytes."""
        try:
            self._store(self._root_of(), file_path, data, self._condition(file_path, expect))
        except Changed as error:
            return WriteResult(error=self._refused_write(file_path, error, expect))
        except BathysphereError as error:
            return WriteResult(error=error_text(error))
        return WriteResult(path=file_path)

    def _store(self, root: Root, path: str, data: bytes, expect: Expect) -> None:
        key = root.key(path)
        if not isinstance(expect, Version):  # otherwise the file exists
            refuse_conflict(self._objects, root, key)
        quota = self._quota_of(root)
        more = Usage()
        if quota.bytes is not None or quota.objects is not None:
            there = self._objects.head(key)
            more = Usage(bytes=len(data) - (there.size if there else 0), objects=int(not there))
        with self._meter.storing(root.tenant, quota, more):
            self._objects.put(key, data, expect=expect)

    def _quota_of(self, root: Root) -> Quota:
        return self._quota(root.tenant) if self._quota else Quota()

    def _condition(self, path: str, expect: Expectation | None) -> Expect:
        if expect is None:
            return "absent" if self._write_mode == "create" else None
        if expect.token == ABSENT:
            return "absent"
        meta = self._objects.head(self._root_of().key(path))
        if meta is None or meta.version.token != expect.token:
            raise Changed("the file is no longer at the version that was shown")
        return meta.version

    def _refused_write(self, path: str, error: Changed, expect: Expectation | None) -> str:
        if expect is not None:
            return expect.refuse(path)
        if self._write_mode == "create":
            return f"Error: '{path}' already exists"
        return error_text(error)

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expect: Expectation | None = None,
    ) -> EditResult:
        """Replace text in the newest version, retrying compare-and-swap."""
        try:
            root = self._root_of()
            with self._turn(root.key(file_path)):
                return self._edit(root, file_path, old_string, new_string, replace_all, expect)
        except UnicodeEncodeError:
            return EditResult(error="Error: the new text is not Unicode text")
        except BathysphereError as error:
            return EditResult(error=error_text(error))

    def _edit(
        self,
        root: Root,
        path: str,
        old: str,
        new: str,
        replace_all: bool,
        expect: Expectation | None,
    ) -> EditResult:
        key, end, wait = root.key(path), self._clock.monotonic() + self._edit_seconds, 0.01
        while True:
            got = self._objects.get(key, most=_LARGEST_EDIT * self._limits.max_file)
            if got is None:
                return EditResult(error=f"Error: File '{path}' not found")
            if expect is not None and got.meta.version.token != expect.token:
                return EditResult(error=expect.refuse(path))
            replaced = replaced_in(path, got, old, new, replace_all)
            if isinstance(replaced, EditResult):
                return replaced
            data, occurrences = replaced
            more = Usage(bytes=len(data) - got.meta.size)
            quota = self._quota_of(root)
            try:
                with self._meter.storing(root.tenant, quota, more):
                    self._objects.put(key, data, expect=got.meta.version, writes=got.writes)
                return EditResult(path=path, occurrences=occurrences)
            except Changed:
                if self._clock.monotonic() + wait > end:
                    return EditResult(error=BUSY.format(path=path))
                time.sleep(random.uniform(0, wait))  # noqa: S311  # jitter
                wait = min(wait * 2, 2.0)

    def delete(self, file_path: str, *, expect: Expectation | None = None) -> DeleteResult:
        """Delete a file, or a folder with its contents; with an expectation, exactly that."""
        try:
            root, path = self._root_of(), file_path.removesuffix("/")
            keys = keys_to_delete(self._objects, root, root.key(path), expect)
            if keys is None and expect is not None:
                return DeleteResult(error=expect.refuse(file_path))
            if not keys:
                return DeleteResult(error=f"Error: File '{file_path}' not found")
            self._objects.delete(keys)
        except BathysphereError as error:
            return DeleteResult(error=error_text(error))
        return DeleteResult(path=file_path)

    # ── whole files, in and out ──

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store several files."""
        return [FileUploadResponse(path=path, error=self._upload(path, d)) for path, d in files]

    def _upload(self, path: str, data: bytes) -> str | None:
        try:
            expect: Expect = "absent" if self._write_mode == "create" else None
            self._store(self._root_of(), path, data, expect)
        except BathysphereError as error:
            return code_of(error)
        return None

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read several whole files."""
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            got = self._objects.get(self._root_of().key(path))
        except BathysphereError as error:
            return FileDownloadResponse(path=path, error=code_of(error))
        if got is None:
            return FileDownloadResponse(path=path, error="file_not_found")
        return FileDownloadResponse(path=path, content=got.data)

    # ── for those who bind a change to what was seen ──

    def seen(self, file_path: str) -> tuple[str, bytes] | None:
        """Return a file's version token and bytes, or None if it does not exist.

        Raises:
            BathysphereError: The path or the caller is refused, or the store failed.
        """
        got = self._objects.get(self._root_of().key(file_path))
        return (got.meta.version.token, got.data) if got else None

    def seen_below(self, folder: str) -> dict[str, Meta]:
        """Return the files of a folder by path, each with its version.

        Raises:
            BathysphereError: The path or the caller is refused, or the store failed.
        """
        root = self._root_of()
        return files_below(self._objects, root, root.key(folder))

    def refuse_conflict(self, file_path: str) -> None:
        """Check that the path is not a folder, and that none of its parents is a file.

        Raises:
            BathysphereError: There is a conflict, the caller is refused, or the store failed.
        """
        root = self._root_of()
        refuse_conflict(self._objects, root, root.key(file_path))

    def strange_keys(self) -> list[str]:
        """Return keys under the root that are not valid paths, for a sweep.

        Raises:
            BathysphereError: The caller is refused, or the store failed.
        """
        root = self._root_of()
        listing = self._objects.listing(root.prefix)
        unreachable = [meta.key for meta in listing.metas if root.path(meta.key) is None]
        return sorted([*listing.strange, *unreachable])

    # ── the key space ──

    def _files(self, path: str | None, pattern: str | None) -> tuple[list[Candidate], Root]:
        """Return the files at or under a path that match a glob."""
        matches = compile_grep_include_glob(pattern) if pattern else None
        root = self._root_of()
        start = path or "/"
        folder = root.folder_key(start)
        listing = self._objects.listing("/".join([folder, *literal_folders(pattern)]))
        base = len(folder) + 1
        found = []
        for meta in listing.metas:
            file_path = root.path(meta.key)
            if file_path and (matches is None or matches(meta.key[base:])):
                found.append(Candidate(file_path, meta))
        if not found and start not in ("/", ""):
            one = self._objects.head(folder)
            name = folder.rpartition("/")[2]
            if one and (matches is None or matches(name)) and (shown := root.path(folder)):
                found = [Candidate(shown, one)]
        return found, root

    def _turn(self, key: str) -> threading.Lock:
        """Serialize writers of one process, so that they do not race at the store."""
        with self._turns_lock:
            if len(self._turns) > 4096:
                self._turns = {k: lock for k, lock in self._turns.items() if lock.locked()}
            return self._turns.setdefault(key, threading.Lock())

    def _stored(self, tenant: str) -> Usage:
        metas = self._objects.listing(tenant).metas
        return Usage(bytes=sum(meta.size for meta in metas), objects=len(metas))
