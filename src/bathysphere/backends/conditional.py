"""Conditional writes: a change that is applied only to the version a person was shown.

A file tool knows a path and a text; the layer that asked a person knows which version it showed.
That layer calls the tool over a `ConditionalBackend`, which passes the expectation on.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

from bathysphere.core.errors import ConfigError

ABSENT = "absent"
"""The version token of a file that does not exist."""

STALE = "Error: '{path}' changed since it was read. Nothing was written; read it again."


@dataclass(slots=True)
class Expectation:
    """The version that a file must have for a change to be applied."""

    token: str
    files: Mapping[str, str] | None = None
    """For the deletion of a folder: the files that may be deleted, with their version tokens."""
    was_refused: bool = field(default=False)
    """Set by the backend when it finds another version and does not apply the change."""

    def refuse(self, path: str) -> str:
        """Note that the change was not applied, and return the error for the model."""
        self.was_refused = True
        return STALE.format(path=path)


class VersionedBackend(BackendProtocol):
    """A backend whose files have version tokens, and whose changes can depend on them."""

    @abstractmethod
    def seen(self, file_path: str) -> tuple[str, bytes] | None:
        """Return a file's version token and content, or None if it does not exist."""

    @abstractmethod
    def write(
        self, file_path: str, content: str, *, expect: Expectation | None = None
    ) -> WriteResult:
        """Write a file, if it is at the expected version."""

    @abstractmethod
    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        expect: Expectation | None = None,
    ) -> EditResult:
        """Replace text in a file, if it is at the expected version."""

    @abstractmethod
    def delete(self, file_path: str, *, expect: Expectation | None = None) -> DeleteResult:
        """Delete a file or folder, if it is at the expected version."""


def require_versions(files: BackendProtocol) -> VersionedBackend:
    """Return a backend whose changes can be conditional.

    Raises:
        ConfigError: The backend has no versions.
    """
    if isinstance(files, VersionedBackend):
        return files
    raise ConfigError(
        f"File approvals need a backend with versions: {type(files).__name__}",
        hint="use ObjectStoreBackend or ScratchBackend",
    )


class ConditionalBackend(BackendProtocol):
    """A backend for one approved change: it is applied to the expected version or not at all."""

    def __init__(self, files: VersionedBackend, expect: Expectation) -> None:
        self._files = files
        self._expect = expect

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write a file, if it is at the expected version."""
        return self._files.write(file_path, content, expect=self._expect)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace text in a file, if it is at the expected version."""
        return self._files.edit(file_path, old_string, new_string, replace_all, expect=self._expect)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file or folder, if it is at the expected version."""
        return self._files.delete(file_path, expect=self._expect)

    # ── reading needs no condition ──

    def ls(self, path: str) -> LsResult:
        """List a folder."""
        return self._files.ls(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines."""
        return self._files.read(file_path, offset, limit)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name."""
        return self._files.glob(pattern, path)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find lines that contain a literal text."""
        return self._files.grep(pattern, path, glob, max_count=max_count)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read several whole files."""
        return self._files.download_files(paths)
