"""A folder of the machine that an agent can read but not change."""

from pathlib import Path

from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import DeleteResult, EditResult, FileUploadResponse, WriteResult

REFUSED = "Permission denied: {path} is read-only"


class ReadOnlyFolder(FilesystemBackend):
    """Files of one folder; paths and links out of it are refused, and so is every change."""

    def __init__(self, folder: Path) -> None:
        super().__init__(root_dir=folder, virtual_mode=True)

    def write(self, file_path: str, content: str) -> WriteResult:  # noqa: ARG002  # the protocol's
        """Refuse to write."""
        return WriteResult(error=REFUSED.format(path=file_path))

    def edit(
        self,
        file_path: str,
        old_string: str,  # noqa: ARG002  # the protocol's
        new_string: str,  # noqa: ARG002
        replace_all: bool = False,  # noqa: ARG002
    ) -> EditResult:
        """Refuse to edit."""
        return EditResult(error=REFUSED.format(path=file_path))

    def delete(self, file_path: str) -> DeleteResult:
        """Refuse to delete."""
        return DeleteResult(error=REFUSED.format(path=file_path))

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Refuse to store files."""
        return [FileUploadResponse(path=path, error="permission_denied") for path, _ in files]
