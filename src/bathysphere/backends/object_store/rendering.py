"""Rendering of files, listings and errors for the model, and text edits."""

import base64
from datetime import UTC
from functools import lru_cache

from deepagents.backends.protocol import EditResult, FileData, FileInfo, ReadResult
from deepagents.backends.utils import perform_string_replacement

from bathysphere.backends.object_store.folders import IsFolder, NotFolder
from bathysphere.backends.object_store.objects import Meta, StoredObject, StoredObjects
from bathysphere.backends.object_store.windows import Windows, window_of
from bathysphere.core.errors import BathysphereError, NotAllowed
from bathysphere.core.text_edits import match_line_ends
from bathysphere.tenancy.errors import InvalidPath
from bathysphere.upstream import file_type_of

TOO_LARGE = "Error: '{path}' is too large for this ({size} bytes)"
MAX_BINARY = 20 << 20


def error_text(error: BathysphereError) -> str:
    """Return the text of an error for the model."""
    kind = "permission_denied" if isinstance(error, NotAllowed) else error.code
    return f"Error: {kind}: {error}"


def is_text_by_name(path: str) -> bool:
    """Whether a file may be text, by its extension."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _is_text_extension(extension.lower()) if dot and stem else True


@lru_cache(maxsize=512)
def _is_text_extension(extension: str) -> bool:
    return file_type_of(f"/x.{extension}") == "text"


def code_of(error: BathysphereError) -> str:
    """Return the error code of the upload and download protocol."""
    if isinstance(error, (InvalidPath, NotFolder)):
        return "invalid_path"
    if isinstance(error, IsFolder):
        return "is_directory"
    return "permission_denied" if isinstance(error, NotAllowed) else error_text(error)


def is_binary(data: bytes) -> bool:
    """Whether the bytes are not UTF-8 text."""
    if b"\0" in data[:8192]:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def replaced_in(
    path: str, got: StoredObject, old: str, new: str, replace_all: bool
) -> tuple[bytes, int] | EditResult:
    """Return the file with the text replaced, keeping its line endings, or an error."""
    if len(got.data) != got.meta.size:
        return EditResult(error=TOO_LARGE.format(path=path, size=got.meta.size))
    replaced = replace_text(got.data, old, new, replace_all)
    return EditResult(error=replaced) if isinstance(replaced, str) else replaced


def replace_text(data: bytes, old: str, new: str, replace_all: bool) -> tuple[bytes, int] | str:
    """Replace text, keeping line endings; returns the bytes and the count, or an error."""
    if is_binary(data):
        return "Error: Cannot edit binary files with text replacements."
    text = data.decode()
    replaced = perform_string_replacement(text, *match_line_ends(text, old, new), replace_all)
    if isinstance(replaced, str):
        return replaced
    return replaced[0].encode(), int(replaced[1])


def file_data(text: str, meta: Meta, *, encoding: str = "utf-8") -> FileData:
    """Return a text with the metadata of its file."""
    modified = meta.modified.astimezone(UTC).isoformat()
    return FileData(content=text, encoding=encoding, modified_at=modified)


def file_info(path: str, meta: Meta) -> FileInfo:
    """Return a file as an entry of a listing."""
    modified = meta.modified.astimezone(UTC).isoformat()
    return FileInfo(path=path, is_dir=False, size=meta.size, modified_at=modified)


class Reader:
    """Renders objects for `read`."""

    def __init__(self, objects: StoredObjects, max_file: int) -> None:
        self._objects = objects
        self._max_file = max_file
        self._windows = Windows(objects)

    def shown(self, path: str, got: StoredObject, offset: int, limit: int) -> ReadResult:
        """Return a window of lines, or a whole binary file."""
        meta = got.meta
        is_whole = meta.size <= self._max_file
        if not is_text_by_name(path) or (is_whole and is_binary(got.data)):
            return self._binary(path, got)
        text = got.data.decode() if is_whole else ""
        if is_whole and not text.strip():
            return ReadResult(file_data=file_data(text, meta))
        if limit == 0:
            return ReadResult(file_data=file_data("", meta), no_lines_requested=True)
        total = None
        if is_whole:
            window, total = window_of(text, offset, limit)
        else:
            window = self._windows.read(meta, offset, limit)
        if not window.lines:
            return ReadResult(error=f"Error: Line offset {offset} exceeds the length of '{path}'")
        end = offset + window.lines
        return ReadResult(
            file_data=file_data(window.text, meta),
            start_line=offset + 1,
            end_line=end,
            total_lines=end if window.is_end else total,
            next_offset=None if window.is_end else end,
        )

    def _binary(self, path: str, got: StoredObject) -> ReadResult:
        meta, data = got.meta, got.data
        if meta.size > MAX_BINARY:
            return ReadResult(error=TOO_LARGE.format(path=path, size=meta.size))
        if len(data) != meta.size:
            data = b"".join(self._objects.chunks(meta, 0))
        text = base64.standard_b64encode(data).decode("ascii")
        return ReadResult(file_data=file_data(text, meta, encoding="base64"))
