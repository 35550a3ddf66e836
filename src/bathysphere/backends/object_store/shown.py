"""What the model reads of a file, a listing or an error, and what an edit makes of a text."""

import base64
from datetime import UTC
from functools import lru_cache

from deepagents.backends.protocol import EditResult, FileData, FileInfo, ReadResult
from deepagents.backends.utils import _get_backend_read_file_type, perform_string_replacement

from bathysphere.backends.object_store.objects import Got, Meta, StoredObjects
from bathysphere.backends.object_store.windows import Windows, window_of
from bathysphere.core.errors import BathysphereError, NotAllowed
from bathysphere.tenancy.errors import InvalidPath

TOO_LARGE = "Error: '{path}' is too large for this ({size} bytes)"
MAX_BINARY = 20 << 20


def said(error: BathysphereError) -> str:
    """An error as the model reads it."""
    kind = "permission_denied" if isinstance(error, NotAllowed) else error.code
    return f"Error: {kind}: {error}"


def is_text_by_name(path: str) -> bool:
    """Whether a file's extension leaves open that it is text."""
    stem, dot, extension = path.rpartition("/")[2].rpartition(".")
    return _is_text_extension(extension.lower()) if dot and stem else True


@lru_cache(maxsize=512)
def _is_text_extension(extension: str) -> bool:
    return _get_backend_read_file_type(f"/x.{extension}") == "text"


def code_of(error: BathysphereError) -> str:
    """An error as the protocol's uploads and downloads name it."""
    if isinstance(error, InvalidPath):
        return "invalid_path"
    return "permission_denied" if isinstance(error, NotAllowed) else said(error)


def is_binary(data: bytes) -> bool:
    """Whether the bytes are anything but UTF-8 text."""
    if b"\0" in data[:8192]:
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def replaced_in(
    path: str, got: Got, old: str, new: str, replace_all: bool
) -> tuple[bytes, int] | EditResult:
    """The file with the text replaced, keeping its line ends; or why not."""
    if len(got.data) != got.meta.size:
        return EditResult(error=TOO_LARGE.format(path=path, size=got.meta.size))
    if is_binary(got.data):
        return EditResult(error="Error: Cannot edit binary files with text replacements.")
    text = got.data.decode()
    if "\r\n" in text and "\r\n" not in old:  # it was read with plain newlines
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    replaced = perform_string_replacement(text, old, new, replace_all)
    if isinstance(replaced, str):
        return EditResult(error=replaced)
    return replaced[0].encode(), int(replaced[1])


def file_data(text: str, meta: Meta, *, encoding: str = "utf-8") -> FileData:
    """A text and what is known of its file."""
    modified = meta.modified.astimezone(UTC).isoformat()
    return FileData(content=text, encoding=encoding, modified_at=modified)


def file_info(path: str, meta: Meta) -> FileInfo:
    """A file in a listing."""
    modified = meta.modified.astimezone(UTC).isoformat()
    return FileInfo(path=path, is_dir=False, size=meta.size, modified_at=modified)


class Reader:
    """Turns an object into what `read` shows of it."""

    def __init__(self, objects: StoredObjects, max_file: int) -> None:
        self._objects = objects
        self._max_file = max_file
        self._windows = Windows(objects)

    def shown(self, path: str, got: Got, offset: int, limit: int) -> ReadResult:
        """A window of lines, or a binary file whole."""
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

    def _binary(self, path: str, got: Got) -> ReadResult:
        meta, data = got.meta, got.data
        if meta.size > MAX_BINARY:
            return ReadResult(error=TOO_LARGE.format(path=path, size=meta.size))
        if len(data) != meta.size:
            data = b"".join(self._objects.chunks(meta, 0))
        text = base64.standard_b64encode(data).decode("ascii")
        return ReadResult(file_data=file_data(text, meta, encoding="base64"))
