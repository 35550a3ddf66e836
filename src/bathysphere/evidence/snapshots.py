"""Snapshots: what a source said when it was read, as bytes and as text, with hashes."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bathysphere.core.canonical import canonical, digest, from_canonical, sha256
from bathysphere.core.errors import CallerError
from bathysphere.evidence.injection import injected_spans
from bathysphere.evidence.normal import Normalised, Span, normalise

Origin = Literal["web", "corpus", "client"]
"""Where a source comes from: the web, a corpus of the operator's, or the person's own files."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class UnknownSnapshot(CallerError):
    """No snapshot has this id."""

    code = "unknown_snapshot"


class SnapshotInfo(BaseModel):
    """All of a snapshot but its bytes: what goes into state, events and the proof's index."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{24}$")]
    url: str
    final_url: str
    origin: Origin
    title: str
    content_type: str
    fetched_at: str
    published: str | None = None
    body_bytes: int = Field(ge=0)
    body_sha256: Sha256
    text_bytes: int = Field(ge=0)
    text_sha256: Sha256

    def expected_id(self) -> str:
        """The id that follows from what was read and where; the time of reading is no part."""
        return digest([self.url, self.final_url, self.origin, self.body_sha256, self.text_sha256])[
            :24
        ]


class Snapshot:
    """One source as it was read. Its parts never change; its id follows from them."""

    def __init__(self, info: SnapshotInfo, body: bytes, text: str) -> None:
        self.info = info
        self.body = body
        self.text = text

    @property
    def id(self) -> str:
        """The id, from the address and the hashes."""
        return self.info.id

    @cached_property
    def text_bytes(self) -> bytes:
        """The text in UTF-8: what the offsets of quotes count."""
        return self.text.encode("utf-8")

    @cached_property
    def normalised(self) -> Normalised:
        """The text as quotes are compared with it."""
        return normalise(self.text)

    @cached_property
    def injected(self) -> list[Span]:
        """The passages that speak to the model instead of the reader."""
        return injected_spans(self.text)

    def is_injected(self, span: Span) -> bool:
        """Whether a span lies, even partly, in such a passage."""
        return any(span.start < bad.end and bad.start < span.end for bad in self.injected)

    def slice(self, start: int, end: int) -> str:
        """The text between two byte offsets.

        Raises:
            CallerError: the offsets are outside, or inside a character.
        """
        if not 0 <= start < end <= len(self.text_bytes):
            raise CallerError(f"bytes {start} to {end} are not in snapshot {self.id}")
        try:
            return self.text_bytes[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            raise CallerError(f"bytes {start} to {end} cut a character in two") from error

    def check(self) -> None:
        """Raise where the parts do not have the hashes, sizes and id they claim."""
        info = self.info
        told = (info.id, info.body_bytes, info.body_sha256, info.text_bytes, info.text_sha256)
        text = self.text_bytes
        found = (
            info.expected_id(),
            len(self.body),
            sha256(self.body),
            len(text),
            sha256(text),
        )
        if told != found:
            raise CallerError(f"snapshot {info.id} is not what it says it is")


def take_snapshot(
    url: str,
    body: bytes,
    text: str,
    *,
    fetched_at: datetime,
    final_url: str | None = None,
    origin: Origin = "web",
    title: str = "",
    content_type: str = "text/plain",
    published: str | None = None,
) -> Snapshot:
    """Make a snapshot of what was just read.

    Args:
        url: The address that was asked for.
        body: The bytes as they came, after transfer decoding.
        text: The readable text taken from them.
        fetched_at: When it was read.
        final_url: Where redirects led, if elsewhere.
        origin: The web, the operator's corpus, or the person's own files.
        title: What the source calls itself.
        content_type: The media type, without parameters.
        published: The date the source gives itself, as `YYYY-MM-DD`.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    text_bytes = text.encode("utf-8")
    draft = SnapshotInfo(
        id="0" * 24,
        url=url,
        final_url=final_url or url,
        origin=origin,
        title=" ".join(title.split())[:300],
        content_type=content_type,
        fetched_at=fetched_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        published=published,
        body_bytes=len(body),
        body_sha256=sha256(body),
        text_bytes=len(text_bytes),
        text_sha256=sha256(text_bytes),
    )
    return Snapshot(draft.model_copy(update={"id": draft.expected_id()}), body, text)


def by_id(snapshots: Iterable[Snapshot]) -> dict[str, Snapshot]:
    """Snapshots by their ids, in order."""
    return {snapshot.id: snapshot for snapshot in snapshots}


Snapshots = Mapping[str, Snapshot]
"""The snapshots of one run, by id: the only things its report may cite."""


class SnapshotStore(Protocol):
    """Where snapshots are kept between the steps of a run; state holds only their ids."""

    async def put(self, snapshot: Snapshot) -> str:
        """Keep a snapshot; the same one twice is one. Returns its id."""
        ...

    async def get(self, snapshot_id: str) -> Snapshot:
        """Give a snapshot back, or raise `UnknownSnapshot`."""
        ...


class MemorySnapshots:
    """Snapshots in this process."""

    def __init__(self) -> None:
        self._kept: dict[str, Snapshot] = {}

    async def put(self, snapshot: Snapshot) -> str:
        """Keep a snapshot."""
        return self._kept.setdefault(snapshot.id, snapshot).id

    async def get(self, snapshot_id: str) -> Snapshot:
        """Give a snapshot back."""
        if snapshot_id not in self._kept:
            raise UnknownSnapshot(f"there is no snapshot {snapshot_id!r}")
        return self._kept[snapshot_id]


class FolderSnapshots:
    """Snapshots as files of one folder; what is read back is checked against its hashes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, snapshot: Snapshot) -> str:
        """Write the parts; the index last, so that a snapshot is there whole or not at all."""
        self._root.mkdir(parents=True, exist_ok=True)
        parts = {
            "body": snapshot.body,
            "txt": snapshot.text_bytes,
            "json": canonical(snapshot.info.model_dump()),
        }
        if not self._path(snapshot.id, "json").exists():
            for ending, data in parts.items():
                waiting = self._path(snapshot.id, f"{ending}.new")
                waiting.write_bytes(data)
                waiting.replace(self._path(snapshot.id, ending))
        return snapshot.id

    async def get(self, snapshot_id: str) -> Snapshot:
        """Read the parts back and check them."""
        if len(snapshot_id) != 24 or not set(snapshot_id) <= set("0123456789abcdef"):
            raise UnknownSnapshot(f"there is no snapshot {snapshot_id!r}")
        try:
            info: Any = from_canonical(self._path(snapshot_id, "json").read_bytes())
        except FileNotFoundError as error:
            raise UnknownSnapshot(f"there is no snapshot {snapshot_id!r}") from error
        body = self._path(snapshot_id, "body").read_bytes()
        text = self._path(snapshot_id, "txt").read_bytes().decode("utf-8")
        snapshot = Snapshot(SnapshotInfo.model_validate(info), body, text)
        snapshot.check()
        return snapshot

    def _path(self, snapshot_id: str, ending: str) -> Path:
        return self._root / f"{snapshot_id}.{ending}"
