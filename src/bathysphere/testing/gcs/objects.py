"""State of the test double: buckets of objects with increasing generations."""

import base64
import hashlib
import time
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

MAX_KEY_BYTES = 1024


class Refusal(Exception):
    """An error response: its status, XML API code and JSON API reason."""

    def __init__(self, status: int, code: str, reason: str = "") -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.reason = reason or code[:1].lower() + code[1:]


def no_such_key() -> Refusal:
    """The object does not exist."""
    return Refusal(404, "NoSuchKey", "notFound")


def precondition_failed() -> Refusal:
    """The object is at another generation than expected."""
    return Refusal(412, "PreconditionFailed", "conditionNotMet")


@dataclass
class Object:
    """One generation of an object."""

    key: str
    data: bytes
    generation: int
    content_type: str = "application/octet-stream"
    metadata: dict[str, str] = field(default_factory=dict)
    updated: float = field(default_factory=time.time)

    @cached_property
    def md5(self) -> bytes:
        """The digest of the data."""
        return hashlib.md5(self.data, usedforsecurity=False).digest()

    @property
    def etag(self) -> str:
        """The entity tag, with its quotes."""
        return f'"{self.md5.hex()}"'

    @cached_property
    def crc32c(self) -> str | None:
        """The CRC32C checksum in base64, if its package is installed."""
        try:
            import google_crc32c
        except ImportError:
            return None
        digest = google_crc32c.value(self.data).to_bytes(4, "big")
        return base64.b64encode(digest).decode()

    @property
    def modified(self) -> datetime:
        """When this generation was created."""
        return datetime.fromtimestamp(self.updated, UTC)


class Page(NamedTuple):
    """One page of a listing."""

    objects: list[Object]
    prefixes: list[str]
    next_start: str | None
    """Start of the next page; None at the end."""


class Bucket:
    """Objects by key, and the keys in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.objects: dict[str, Object] = {}
        self._keys: list[str] = []

    def get(self, key: str) -> Object:
        """Get an object; raises if it does not exist."""
        if key not in self.objects:
            raise no_such_key()
        return self.objects[key]

    def put(self, made: Object, *, if_generation: int | None = None) -> Object:
        """Store an object; an expected generation of 0 means that it must not exist."""
        check_key(made.key)
        current = self.objects.get(made.key)
        if if_generation is not None and (current.generation if current else 0) != if_generation:
            raise precondition_failed()
        if current is None:
            insort(self._keys, made.key)
        self.objects[made.key] = made
        return made

    def delete(self, key: str, *, if_generation: int | None = None) -> None:
        """Remove an object."""
        current = self.get(key)
        if if_generation is not None and current.generation != if_generation:
            raise precondition_failed()
        del self.objects[key]
        self._keys.pop(bisect_left(self._keys, key))

    def page(self, prefix: str, delimiter: str, start: str, most: int) -> Page:
        """Up to `most` objects and folders from `start` (inclusive), in key order."""
        objects: list[Object] = []
        prefixes: list[str] = []
        place = bisect_left(self._keys, max(prefix, start))
        while place < len(self._keys) and self._keys[place].startswith(prefix):
            key = self._keys[place]
            if len(objects) + len(prefixes) >= most:
                return Page(objects, prefixes, key)
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            if cut < 0:
                objects.append(self.objects[key])
                place += 1
            else:
                folder = key[: cut + len(delimiter)]
                prefixes.append(folder)
                place = bisect_left(self._keys, folder[:-1] + chr(ord(folder[-1]) + 1))
        return Page(objects, prefixes, None)

    def after(self, key: str) -> str:
        """The first key after one."""
        place = bisect_right(self._keys, key)
        return self._keys[place] if place < len(self._keys) else key + "\U0010ffff"


class Buckets:
    """All buckets, and the generation counter."""

    def __init__(self, names: list[str]) -> None:
        self._buckets = {name: Bucket(name) for name in names}
        self._generation = 0

    def __getitem__(self, name: str) -> Bucket:
        if name not in self._buckets:
            raise Refusal(404, "NoSuchBucket", "notFound")
        return self._buckets[name]

    def names(self) -> list[str]:
        """Return the names of all buckets."""
        return sorted(self._buckets)

    def create(self, name: str) -> Bucket:
        """Create a bucket."""
        if name in self._buckets:
            raise Refusal(409, "BucketAlreadyOwnedByYou", "conflict")
        self._buckets[name] = Bucket(name)
        return self._buckets[name]

    def next_generation(self) -> int:
        """The next generation: microseconds, strictly increasing."""
        self._generation = max(self._generation + 1, time.time_ns() // 1000)
        return self._generation

    def count(self) -> int:
        """Number of objects in all buckets."""
        return sum(len(bucket.objects) for bucket in self._buckets.values())


def check_key(key: str) -> None:
    """Check an object name against Google's rules."""
    wrong = (
        not key
        or len(key.encode()) > MAX_KEY_BYTES
        or "\r" in key
        or "\n" in key
        or key in (".", "..")
        or key.startswith(".well-known/acme-challenge/")
    )
    if wrong:
        raise Refusal(400, "InvalidObjectName", "invalid")
