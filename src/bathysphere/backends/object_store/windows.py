"""Windows of lines, read without loading the whole object. Lines end with LF or CRLF.

The next window starts reading at the byte where the last one ended.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from bathysphere.backends.object_store.objects import Meta, StoredObjects
from bathysphere.core.errors import CallerError

MAX_WINDOW_BYTES = 2 << 20
_KEPT_MARKS = 512


class NotText(CallerError):
    """The object cannot be shown as lines of text."""

    code = "not_text"


class Window(NamedTuple):
    """A range of lines of an object."""

    text: str
    lines: int
    is_end: bool
    """Whether the object ends with this window."""


def window_of(text: str, offset: int, limit: int) -> tuple[Window, int]:
    """Return a range of lines of a text in memory, and its total number of lines."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    chosen = lines[offset : offset + limit]
    is_end = offset + len(chosen) >= len(lines)
    end = "\n" if chosen and (not is_end or text.endswith("\n")) else ""
    shown = ("\n".join(chosen) + end).replace("\r\n", "\n").removesuffix("\r")
    return Window(shown, len(chosen), is_end), len(lines)


class Windows:
    """Reads windows of large objects; remembers the offsets of lines."""

    def __init__(self, objects: StoredObjects) -> None:
        self._objects = objects
        self._marks: OrderedDict[tuple[str, str], dict[int, int]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, meta: Meta, offset: int, limit: int) -> Window:
        """Read up to `limit` lines, starting at line `offset`.

        Raises:
            NotText: The bytes are not UTF-8, or a line is too long to show.
        """
        line, place = self._nearest(meta, offset)
        chosen: list[bytes] = []
        size, is_end = 0, True
        for one in lines_of(self._objects.chunks(meta, place)):
            if line >= offset + limit:
                is_end = False
                break
            if line >= offset:
                if size + len(one) > MAX_WINDOW_BYTES and chosen:
                    is_end = False
                    break
                chosen.append(one)
                size += len(one)
            place += len(one)
            line += 1
        self._remember(meta, line, place)
        return Window(_decoded(chosen), len(chosen), is_end)

    def _nearest(self, meta: Meta, offset: int) -> tuple[int, int]:
        with self._lock:
            marks = self._marks.get((meta.key, meta.version.token), {})
            known = max((line for line in marks if line <= offset), default=0)
            return known, marks.get(known, 0)

    def _remember(self, meta: Meta, line: int, place: int) -> None:
        name = (meta.key, meta.version.token)
        with self._lock:
            marks = self._marks.setdefault(name, {})
            marks[line] = place
            if len(marks) > _KEPT_MARKS:
                marks.pop(next(iter(marks)))
            self._marks.move_to_end(name)
            while len(self._marks) > _KEPT_MARKS:
                self._marks.popitem(last=False)


def lines_of(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield lines with their newlines; a line that is too long for memory is refused."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
        if len(rest) > MAX_WINDOW_BYTES:
            raise NotText(f"it has a line longer than {MAX_WINDOW_BYTES >> 20} MiB")
    if rest:
        yield rest


def _decoded(lines: list[bytes]) -> str:
    try:
        return b"".join(lines).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise NotText("it is not UTF-8 text") from error
