"""Canonical zip archives.

Files are stored without compression, in a given order, with fixed times and no extra fields, so the
same files are the same bytes. Reading rebuilds the archive from its files and compares: an archive
that differs in any byte, even in an unused header, is rejected.
"""

import struct
import zlib
from collections.abc import Sequence

from bathysphere.core.errors import CallerError

MAX_BYTES = 512 * 1024 * 1024
MAX_FILES = 10_000

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_VERSION = 20
_UTF8 = 0x0800
_MIDNIGHT, _1980 = 0, 0x0021


class BadArchive(CallerError):
    """The bytes are not a canonical archive."""

    code = "bad_archive"


def build_archive(files: Sequence[tuple[str, bytes]]) -> bytes:
    """Build the archive of some files, in this order.

    Raises:
        BadArchive: Too many files, too large, or duplicate names.
    """
    names = [name for name, _ in files]
    if len(set(names)) != len(names) or len(names) > MAX_FILES:
        raise BadArchive("Duplicate names or too many files in the archive")
    if sum(len(data) for _, data in files) > MAX_BYTES:
        raise BadArchive("The files are too large for one archive")
    locals_, centrals, offset = [], [], 0
    for name, data in files:
        path = name.encode("ascii")
        fixed = (_VERSION, _UTF8, 0, _MIDNIGHT, _1980, zlib.crc32(data), len(data), len(data))
        local = _LOCAL.pack(b"PK\3\4", *fixed, len(path), 0) + path + data
        central = _CENTRAL.pack(b"PK\1\2", _VERSION, *fixed, len(path), 0, 0, 0, 0, 0, offset)
        locals_.append(local)
        centrals.append(central + path)
        offset += len(local)
    index = b"".join(centrals)
    end = _END.pack(b"PK\5\6", 0, 0, len(files), len(files), len(index), offset, 0)
    return b"".join(locals_) + index + end


def read_archive(data: bytes) -> list[tuple[str, bytes]]:
    """Read the files of an archive, in order.

    Raises:
        BadArchive: The bytes are not exactly what `build_archive` writes for these files.
    """
    if len(data) > MAX_BYTES:
        raise BadArchive("The archive is too large")
    files: list[tuple[str, bytes]] = []
    at = 0
    while data[at : at + 4] == b"PK\3\4":
        if at + _LOCAL.size > len(data) or len(files) >= MAX_FILES:
            raise BadArchive("The archive is truncated")
        *_, size, length, _ = _LOCAL.unpack_from(data, at)
        start = at + _LOCAL.size
        name, body = data[start : start + length], data[start + length : start + length + size]
        if len(body) != size or not name.isascii():
            raise BadArchive("The archive is truncated")
        files.append((name.decode("ascii"), body))
        at = start + length + size
    if not files or build_archive(files) != data:
        raise BadArchive("The archive is not in canonical form")
    return files
