"""The interface of a bucket, and its errors.

`StoredObjects` is implemented by `obstore_client` (GCS, S3, Azure, memory) and `local` (a folder).
Callers do not depend on obstore, and implementations do not know tenants.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from bathysphere.core.errors import CallerError, UpstreamError


class StorageFailed(UpstreamError):
    """The store failed, or did not confirm the operation."""

    code = "storage_failed"


class Changed(CallerError):
    """The object is not at the version the caller named."""

    code = "object_changed"


class Version(NamedTuple):
    """The version of an object; a store compares either the ETag or the version id."""

    e_tag: str | None
    number: str | None

    @property
    def token(self) -> str:
        """The version token (ETag), equal in listings and reads."""
        return (self.e_tag or "").strip('"') or (self.number or "")


@dataclass(frozen=True, slots=True)
class Meta:
    """The metadata of an object, from a listing or a read."""

    key: str
    size: int
    version: Version
    modified: datetime


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as read; `writes` has the ids of its last writes, newest first."""

    data: bytes
    meta: Meta
    writes: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects under a prefix, ordered by key."""

    metas: list[Meta]
    folders: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Keys that our own clients could not have written."""


Expect = Version | Literal["absent"] | None
"""The version required for a write to happen; None means any."""


class StoredObjects(Protocol):
    """A bucket. Every method may raise `StorageFailed`."""

    def get(self, key: str, *, most: int | None = None) -> StoredObject | None:
        """Return an object, or None; an object larger than `most` is returned without its body."""
        ...

    def head(self, key: str) -> Meta | None:
        """Return the metadata of an object without reading it."""
        ...

    def chunks(self, meta: Meta, start: int) -> Iterator[bytes]:
        """Yield the object's bytes from an offset; raises `Changed` at another version."""
        ...

    def put(self, key: str, data: bytes, *, expect: Expect = None, writes: str = "") -> Version:
        """Store an object, or raise `Changed` if it is not at the expected version."""
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Delete objects; missing ones are ignored."""
        ...

    def listing(self, prefix: str) -> Listing:
        """List all objects whose key begins with the prefix and a slash."""
        ...

    def folder(self, prefix: str) -> Listing:
        """List the objects and folders directly under the prefix."""
        ...
