"""Documents in a local folder.

An id is a path relative to the folder, with `/`. Hidden files and folders, links and files that are
not text are never listed, read or written. An invalid path is refused, never repaired. A change is
written to a temporary file that atomically replaces the document.
"""

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bathysphere.core.errors import ConfigError
from bathysphere.device.documents import (
    Document,
    DocumentError,
    Shelf,
    changed,
    missing,
    taken,
)

MAX_BYTES = 1_000_000
"""Larger files are not read: a person hardly wrote them."""
MAX_DOCUMENTS = 2_000
MAX_LOOKED_AT = 20_000
"""Maximum number of files examined when documents are listed."""
SUFFIXES = {"markdown": ".md", "text": ".txt", "argdown": ".argdown"}
"""File type → the extension of a new document whose title has none."""
WRITABLE = frozenset({".md", ".markdown", ".txt", ".rst", ".org", ".tex", ".adoc", ".argdown"})
"""Extensions allowed for a new document: text that is not executed."""

_NO_NAME = re.compile("[\x00-\x1f\x7f-\x9f\\\\\ud800-\udfff]")
"""Control characters, backslashes and lone surrogates."""
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}$")


class FolderDocuments:
    """The text files in a folder and its subfolders."""

    def __init__(self, folder: Path) -> None:
        """Share a folder.

        Raises:
            ConfigError: The path does not exist or is not a folder.
        """
        if not folder.is_dir():
            raise ConfigError(
                f"Folder not found: {folder}", hint="pass the path of a folder to --files"
            )
        self.root = folder.resolve()

    def all(self) -> Shelf:
        """Return all documents, ordered by id."""
        found: list[Document] = []
        for looked_at, name in enumerate(self._names(), 1):
            if len(found) >= MAX_DOCUMENTS or looked_at > MAX_LOOKED_AT:
                return Shelf(found, truncated=True)
            with contextlib.suppress(DocumentError):
                found.append(self.read(name))
        return Shelf(sorted(found))

    def read(self, document_id: str) -> Document:
        """Return one document."""
        path = self._path(document_id)
        try:
            about = path.lstat()
            if not stat.S_ISREG(about.st_mode):
                raise missing(document_id)
            if about.st_size > MAX_BYTES:
                raise DocumentError(f"{document_id!r} is larger than {MAX_BYTES:,} bytes")
            data = path.read_bytes()
        except FileNotFoundError as error:
            raise missing(document_id) from error
        except OSError as error:
            raise _failed(document_id, error) from error
        if b"\0" in data:
            raise DocumentError(f"Not a text file: {document_id!r}")
        try:
            return Document(document_id, data.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise DocumentError(f"Not UTF-8 text: {document_id!r}") from error

    def place(self, title: str, file_type: str) -> str:
        """Return the path of a new document: its title, with an extension if it has none."""
        name = title.strip()
        if not _SUFFIX.search(name):
            name += SUFFIXES.get(file_type, ".md")
        path = self._path(name)
        if path.suffix.lower() not in WRITABLE:
            endings = ", ".join(sorted(WRITABLE))
            raise DocumentError(f"Unsupported extension: {path.suffix!r}. Use one of {endings}")
        if not path.parent.is_dir():
            raise DocumentError(f"Folder not found: {'/'.join(name.split('/')[:-1])!r}")
        if os.path.lexists(path):
            raise taken(name)
        return name

    def create(self, document_id: str, text: str) -> Document:
        """Create a document."""
        path = self._path(document_id)
        try:
            path.open("x").close()  # reserves the name, or fails if it is in use
        except FileExistsError as error:
            raise taken(document_id) from error
        except OSError as error:
            raise _failed(document_id, error) from error
        try:
            return self._put(document_id, path, text)
        except DocumentError:
            path.unlink(missing_ok=True)
            raise

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Replace the text of a document."""
        path = self._path(document_id)
        if self.read(document_id).version != base_version:
            raise changed(document_id)
        return self._put(document_id, path, text, base_version=base_version)

    def _put(
        self, document_id: str, path: Path, text: str, *, base_version: str | None = None
    ) -> Document:
        """Write a temporary file, check the document once more, and replace it atomically."""
        beside: Path | None = None
        try:
            data = text.encode("utf-8")
            handle, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
            beside = Path(name)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(path, beside)
            if base_version and self.read(document_id).version != base_version:
                raise changed(document_id)
            beside.replace(path)
        except UnicodeEncodeError as error:
            raise DocumentError("The text cannot be encoded as UTF-8") from error
        except OSError as error:
            raise _failed(document_id, error) from error
        finally:
            if beside is not None:
                beside.unlink(missing_ok=True)
        return Document(document_id, text)

    def _names(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(files):
                if not name.startswith("."):
                    yield (Path(folder) / name).relative_to(self.root).as_posix()

    def _path(self, document_id: str) -> Path:
        """Return the path of a document; refuses paths that could lead outside the folder."""
        parts = document_id.split("/")
        hidden = any(not part or part.startswith(".") for part in parts)
        if hidden or _NO_NAME.search(document_id):
            raise _outside(document_id)
        path = self.root.joinpath(*parts)
        try:
            links = any(
                self.root.joinpath(*parts[:n]).is_symlink() for n in range(1, len(parts) + 1)
            )
            inside = path.resolve().is_relative_to(self.root)
        except OSError as error:
            raise _failed(document_id, error) from error
        if links or not inside:
            raise _outside(document_id)
        return path


def _outside(document_id: str) -> DocumentError:
    return DocumentError(
        f"Not a document in the shared folder: {document_id!r}. No `..`, no absolute path, "
        "no hidden file, no link"
    )


def _failed(document_id: str, error: OSError) -> DocumentError:
    return DocumentError(f"{document_id!r}: {error.strerror or type(error).__name__}")
