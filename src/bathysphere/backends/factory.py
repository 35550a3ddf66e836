"""A backend that a function of the caller chooses for each file operation.

Up to version 0.6, deepagents took such factories: `lambda runtime: StateBackend()`. The function is
called within a run, once per operation, so what it chooses must be cheap to make and must keep its
files elsewhere. Files only: a shell, whose approval is decided when the agent is built, needs an
instance.
"""

from collections.abc import Callable
from typing import Any

from deepagents.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from langgraph.runtime import Runtime, get_runtime

from bathysphere.core.errors import CallerError

BackendFactory = Callable[[Runtime[Any]], BackendProtocol]


class FactoryBackend(BackendProtocol):
    """Passes each operation to the backend that the factory returns for the current run."""

    def __init__(self, factory: BackendFactory) -> None:
        self._factory = factory

    def _files(self) -> BackendProtocol:
        """Call the factory.

        Raises:
            CallerError: It returned something else, or called a backend as older versions did.
        """
        try:
            files: object = self._factory(get_runtime())
        except TypeError as error:
            raise CallerError(
                f"The backend factory failed: {error}",
                hint="deepagents 0.7 creates backends without a runtime, as in StateBackend()",
            ) from error
        if not isinstance(files, BackendProtocol):
            kind = type(files).__name__
            raise CallerError(
                f"The backend factory returned {kind}", hint="return an instance of BackendProtocol"
            )
        return files

    # ── reading ──

    def ls(self, path: str) -> LsResult:
        """List a folder."""
        return self._files().ls(path)

    async def als(self, path: str) -> LsResult:
        """List a folder."""
        return await self._files().als(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines."""
        return self._files().read(file_path, offset, limit)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """Read a window of lines."""
        return await self._files().aread(file_path, offset, limit)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name."""
        return self._files().glob(pattern, path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """Find files by name."""
        return await self._files().aglob(pattern, path)

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find lines that contain a literal text."""
        return self._files().grep(pattern, path, glob, max_count=max_count)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """Find lines that contain a literal text."""
        return await self._files().agrep(pattern, path, glob, max_count=max_count)

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read several whole files."""
        return self._files().download_files(paths)

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Read several whole files."""
        return await self._files().adownload_files(paths)

    # ── writing ──

    def write(self, file_path: str, content: str) -> WriteResult:
        """Write a file, or overwrite it."""
        return self._files().write(file_path, content)

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """Write a file, or overwrite it."""
        return await self._files().awrite(file_path, content)

    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace text in a file."""
        return self._files().edit(file_path, old_string, new_string, replace_all)

    async def aedit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> EditResult:
        """Replace text in a file."""
        return await self._files().aedit(file_path, old_string, new_string, replace_all)

    def delete(self, file_path: str) -> DeleteResult:
        """Delete a file or folder."""
        return self._files().delete(file_path)

    async def adelete(self, file_path: str) -> DeleteResult:
        """Delete a file or folder."""
        return await self._files().adelete(file_path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store several files at once."""
        return self._files().upload_files(files)

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Store several files at once."""
        return await self._files().aupload_files(files)
