"""A trigram index of a large workspace: which byte triples each version of an object contains.

Beyond about twenty thousand objects a search cannot read them all within its time limit. Each
search adds what it has read to an index in the bucket, outside every workspace's root; the next
search reads only objects that may match, and those not indexed yet. A stale or missing entry costs
a read, never a match. Parts are written by compare-and-swap; a lost race is retried by the next
search.
"""

import hashlib
import struct
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor

from bathysphere.backends.object_store.objects import (
    Changed,
    Expect,
    Meta,
    StorageFailed,
    StoredObjects,
)

FOLDER = ".index"
"""Not a valid name of a workspace, so no path leads here."""
PARTS = 32
_BITS = 4096
_HEAD = struct.Struct(">HB")
_Filter = int


class SearchIndex:
    """The indexes of the workspaces searched by this process."""

    def __init__(self, objects: StoredObjects) -> None:
        self._objects = objects
        self._known: dict[str, WorkspaceIndex] = {}
        self._lock = threading.Lock()

    def of(self, prefix: str) -> "WorkspaceIndex":
        """Return the index stored under a prefix, loaded on first use."""
        with self._lock:
            if prefix not in self._known:
                self._known[prefix] = WorkspaceIndex(self._objects, prefix)
                self._known[prefix].load()
            return self._known[prefix]


class WorkspaceIndex:
    """The index of one workspace: a filter per key, each for one version."""

    def __init__(self, objects: StoredObjects, prefix: str) -> None:
        self._objects = objects
        self._prefix = prefix
        self._filters: list[dict[str, tuple[str, _Filter]]] = [{} for _ in range(PARTS)]
        self._expect: list[Expect] = ["absent"] * PARTS
        self._changed: set[int] = set()
        self._lock = threading.Lock()

    def may_hold(self, meta: Meta, needle: bytes) -> bool:
        """Whether the object may contain these bytes; True if it is not indexed."""
        known = self._filters[_part(meta.key)].get(meta.key)
        if known is None or known[0] != meta.version.token:
            return True
        wanted = _filter(needle)
        return known[1] & wanted == wanted

    def add(self, meta: Meta, body: bytes) -> None:
        """Add an object to the index."""
        part = _part(meta.key)
        known = self._filters[part].get(meta.key)
        if known is None or known[0] != meta.version.token:
            with self._lock:
                self._filters[part][meta.key] = (meta.version.token, _filter(body))
                self._changed.add(part)

    def load(self) -> None:
        """Load the stored index; if that fails, the search is only slower."""
        with ThreadPoolExecutor(16, thread_name_prefix="index") as pool:
            list(pool.map(self._load, range(PARTS)))

    def save(self) -> None:
        """Write the parts that changed."""
        with self._lock:
            changed, self._changed = sorted(self._changed), set()
        if changed:
            with ThreadPoolExecutor(16, thread_name_prefix="index") as pool:
                list(pool.map(self._save, changed))

    def _load(self, part: int) -> None:
        try:
            got = self._objects.get(self._key(part))
        except StorageFailed:
            return
        if got is None:
            self._expect[part] = "absent"
            return
        self._expect[part] = got.meta.version
        with self._lock:
            self._filters[part] = {**_unpacked(got.data), **self._filters[part]}

    def _save(self, part: int) -> None:
        with self._lock:
            data = _packed(self._filters[part])
        try:
            self._expect[part] = self._objects.put(self._key(part), data, expect=self._expect[part])
        except Changed:
            self._load(part)  # another process was faster; ours is written with the next search
            with self._lock:
                self._changed.add(part)
        except StorageFailed:
            with self._lock:
                self._changed.add(part)

    def _key(self, part: int) -> str:
        return f"{self._prefix}/{part:02}"


def _part(key: str) -> int:
    return zlib.crc32(key.encode()) % PARTS


def _filter(data: bytes) -> _Filter:
    """Return a Bloom filter of the byte triples, as an integer."""
    bits = bytearray(_BITS // 8)
    for first, second, third in set(zip(data, data[1:], data[2:], strict=False)):
        place = (first * 0x9E3779B1 ^ second * 0x85EBCA6B ^ third * 0xC2B2AE35) % _BITS
        bits[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(bits, "big")


def _packed(filters: dict[str, tuple[str, _Filter]]) -> bytes:
    rows = []
    for key, (token, bits) in filters.items():
        name, version = key.encode(), token.encode()[:255]
        rows.append(_HEAD.pack(len(name), len(version)) + name + version)
        rows.append(bits.to_bytes(_BITS // 8, "big"))
    data = zlib.compress(b"".join(rows), 1)
    return hashlib.sha256(data).digest() + data


def _unpacked(data: bytes) -> dict[str, tuple[str, _Filter]]:
    """Decode the rows; empty if the part is damaged."""
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        return {}
    rows, place, found = zlib.decompress(data[32:]), 0, {}
    while place < len(rows):
        name_size, version_size = _HEAD.unpack_from(rows, place)
        place += _HEAD.size
        name = rows[place : place + name_size].decode()
        place += name_size
        version = rows[place : place + version_size].decode()
        place += version_size
        found[name] = (version, int.from_bytes(rows[place : place + _BITS // 8], "big"))
        place += _BITS // 8
    return found
