"""The bucket as plain operations: what the backend asks of a store, and what can go wrong.

`StoredObjects` is implemented by `obstored` (GCS, S3, Azure, memory) and `local` (a folder).
Nothing above this line knows obstore; nothing below it knows tenants.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from bathysphere.core.errors import CallerError, UpstreamError


class StorageFailed(UpstreamError):
    """The store did not do it, or did not say whether it did."""

    code = "storage_failed"


class Changed(CallerError):
    """The object is not at the version the caller named."""

    code = "object_changed"


class Version(NamedTuple):
    """Which version of an object: some stores compare the one, some the other."""

    e_tag: str | None
    number: str | None

    @property
    def token(self) -> str:
        """One word for it, the same from a listing and from a read."""
        return (self.e_tag or "").strip('"') or (self.number or "")


@dataclass(frozen=True, slots=True)
class Meta:
    """What a listing says of an object."""

    key: str
    size: int
    version: Version
    modified: datetime


@dataclass(frozen=True, slots=True)
class Got:
    """An object as it was read; `writes` names the writes it has seen, newest first."""

    data: bytes
    meta: Meta
    writes: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Objects under a prefix, in the order of their keys."""

    metas: list[Meta]
    folders: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    """Keys that no client of ours could have made."""


Expect = Version | Literal["absent"] | None
"""What must be there for a write to happen; None means anything."""


class StoredObjects(Protocol):
    """A bucket. Every method may raise `StorageFailed`."""

    def get(self, key: str, *, most: int | None = None) -> Got | None:
        """An object, or nothing; of one larger than `most`, an empty beginning."""
        ...

    def head(self, key: str) -> Meta | None:
        """What is known of an object without reading it."""
        ...

    def chunks(self, meta: Meta, start: int) -> Iterator[bytes]:
        """The object's bytes from a place on, of this version only (`Changed` else)."""
        ...

    def put(self, key: str, data: bytes, *, expect: Expect = None, writes: str = "") -> Version:
        """Store an object whole, or raise `Changed` where it is not as expected."""
        ...

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; what is not there is removed already."""
        ...

    def listing(self, prefix: str) -> Listing:
        """All objects whose key begins with the prefix and a slash."""
        ...

    def folder(self, prefix: str) -> Listing:
        """The objects right under the prefix, and the folders there."""
        ...
