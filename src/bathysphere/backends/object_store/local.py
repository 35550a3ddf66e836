"""A bucket in a local folder, for development and for a single person's files.

Symbolic links are never followed, so nothing outside the folder can be reached. Writes are atomic
(a new file replaces the old one), and versions are compared under a lock on the folder.
"""

import fcntl
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from bathysphere.backends.object_store.objects import (
    Changed,
    Expect,
    Listing,
    Meta,
    StorageFailed,
    StoredObject,
    Version,
)

_CHUNK = 1 << 20
_LOCK = ".bathysphere-lock"
_NEW = ".bathysphere-new-"
_NO_FOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC


class LocalObjects:
    """Objects as files under one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def get(self, key: str, *, most: int | None = None) -> StoredObject | None:
        """Return an object, or None."""
        with _failures():
            descriptor = self._open(key)
            if descriptor is None:
                return None
            with os.fdopen(descriptor, "rb") as file:
                meta = _meta(key, os.fstat(file.fileno()))
                is_wanted = most is None or meta.size <= most
                return StoredObject(file.read() if is_wanted else b"", meta)
        raise AssertionError("unreachable")

    def head(self, key: str) -> Meta | None:
        """Return the metadata of an object without reading it."""
        got = self.get(key, most=-1)
        return got.meta if got else None

    def chunks(self, meta: Meta, start: int) -> Iterator[bytes]:
        """Yield the object's bytes from an offset, at this version only."""
        with _failures():
            descriptor = self._open(meta.key)
            if descriptor is None:
                raise Changed("the file changed while it was read")
            with os.fdopen(descriptor, "rb") as file:
                if _meta(meta.key, os.fstat(file.fileno())).version != meta.version:
                    raise Changed("the file changed while it was read")
                file.seek(start)
                while chunk := file.read(_CHUNK):
                    yield chunk

    def put(self, key: str, data: bytes, *, expect: Expect = None, writes: str = "") -> Version:  # noqa: ARG002  # an answer is never lost here
        """Store an object, or raise `Changed` if it is not at the expected version."""
        with _failures(), self._alone():
            current = self.head(key)
            if expect == "absent" and current is not None:
                raise Changed("a file with this name exists")
            if isinstance(expect, Version) and (current is None or current.version != expect):
                raise Changed("the file changed since it was read")
            return self._replace(key, data)
        raise AssertionError("unreachable")

    def _replace(self, key: str, data: bytes) -> Version:
        folder, _, name = key.rpartition("/")
        parent = self._enter(folder.split("/") if folder else [], is_made=True)
        if parent is None:
            raise StorageFailed("cannot create the folder")
        new = f"{_NEW}{secrets.token_hex(8)}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
            with os.fdopen(os.open(new, flags, 0o600, dir_fd=parent), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                version = _meta(key, os.fstat(file.fileno())).version
            os.replace(new, name, src_dir_fd=parent, dst_dir_fd=parent)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(new, dir_fd=parent)
            os.close(parent)
        return version

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects, and the folders that become empty."""
        with _failures(), self._alone():
            for key in keys:
                parts = key.split("/")
                self._unlink(parts)
                for depth in range(len(parts) - 1, 0, -1):
                    if not self._remove_folder(parts[:depth]):
                        break

    def listing(self, prefix: str) -> Listing:
        """List all objects whose key begins with the prefix and a slash."""
        with _failures():
            found = Listing([])
            self._walk(prefix, found, is_deep=True)
            found.metas.sort(key=lambda meta: meta.key)
            return found
        raise AssertionError("unreachable")

    def folder(self, prefix: str) -> Listing:
        """List the objects and folders directly under the prefix."""
        with _failures():
            found = Listing([])
            self._walk(prefix, found, is_deep=False)
            return found
        raise AssertionError("unreachable")

    # ── the only lines that touch the disk's names ──

    def _walk(self, prefix: str, found: Listing, *, is_deep: bool) -> None:
        descriptor = self._enter(prefix.split("/"))
        if descriptor is None:
            return
        try:
            for entry in sorted(os.listdir(descriptor)):  # noqa: PTH208  # by descriptor
                if entry.startswith(_NEW):
                    continue
                key, status = f"{prefix}/{entry}", self._status(entry, descriptor)
                if status is None:
                    continue
                if stat.S_ISDIR(status.st_mode):
                    found.folders.append(key)
                elif stat.S_ISREG(status.st_mode):
                    found.metas.append(_meta(key, status))
                else:
                    found.strange.append(key)
        finally:
            os.close(descriptor)
        if is_deep:
            below, found.folders[:] = list(found.folders), []
            for folder in below:
                self._walk(folder, found, is_deep=True)

    def _status(self, name: str, parent: int) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:  # deleted since it was listed
            return None

    def _enter(self, parts: Sequence[str], *, is_made: bool = False) -> int | None:
        """Open a folder without following links; yields its file descriptor."""
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in parts:
            try:
                if is_made:
                    with suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=descriptor)
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW, dir_fd=descriptor)
            except OSError:  # missing, a file, or a link
                os.close(descriptor)
                return None
            os.close(descriptor)
            descriptor = below
        return descriptor

    def _open(self, key: str) -> int | None:
        folder, _, name = key.rpartition("/")
        parent = self._enter(folder.split("/") if folder else [])
        if parent is None:
            return None
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NO_FOLLOW, dir_fd=parent)
        except OSError:
            return None
        finally:
            os.close(parent)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        return None

    def _unlink(self, parts: Sequence[str]) -> None:
        parent = self._enter(parts[:-1])
        if parent is not None:
            with suppress(FileNotFoundError):
                os.unlink(parts[-1], dir_fd=parent)
            os.close(parent)

    def _remove_folder(self, parts: Sequence[str]) -> bool:
        parent = self._enter(parts[:-1])
        if parent is None:
            return False
        try:
            os.rmdir(parts[-1], dir_fd=parent)
        except OSError:  # not empty
            return False
        finally:
            os.close(parent)
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the folder against changes by this and other processes."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._lock, (self._folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


@contextmanager
def _failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(f"disk error: {type(error).__name__}") from error


def _meta(key: str, status: os.stat_result) -> Meta:
    tag = f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return Meta(key, status.st_size, Version(tag, None), modified)
