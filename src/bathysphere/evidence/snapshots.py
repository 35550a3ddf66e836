"""Snapshots: the content of a source when it was read, as bytes and text, with hashes."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from bathysphere.core.canonical import digest, sha256
from bathysphere.core.errors import CallerError
from bathysphere.evidence.injection import injected_spans
from bathysphere.evidence.normal import Normalised, Span, normalise

Origin = Literal["web", "corpus", "client"]
"""Where a source comes from: the web, the operator's corpus, or the user's own files."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class UnknownSnapshot(CallerError):
    """No snapshot has this id."""

    code = "unknown_snapshot"


class SnapshotInfo(BaseModel):
    """The metadata of a snapshot, used in state, events and the proof's index."""

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
        """Compute the id from the content and URLs; the time of reading does not matter."""
        return digest([self.url, self.final_url, self.origin, self.body_sha256, self.text_sha256])[
            :24
        ]


class Snapshot:
    """One source as it was read. Immutable; its id is derived from its content."""

    def __init__(self, info: SnapshotInfo, body: bytes, text: str) -> None:
        self.info = info
        self.body = body
        self.text = text

    @property
    def id(self) -> str:
        """The id, derived from the URLs and hashes."""
        return self.info.id

    @cached_property
    def text_bytes(self) -> bytes:
        """The text in UTF-8, to which the offsets of quotes refer."""
        return self.text.encode("utf-8")

    @cached_property
    def normalised(self) -> Normalised:
        """The normalised text, for comparison with quotes."""
        return normalise(self.text)

    @cached_property
    def injected(self) -> list[Span]:
        """The passages that look like prompt injection."""
        return injected_spans(self.text)

    def is_injected(self, span: Span) -> bool:
        """Whether a span overlaps such a passage."""
        return any(span.start < bad.end and bad.start < span.end for bad in self.injected)

    def slice(self, start: int, end: int) -> str:
        """Return the text between two byte offsets.

        Raises:
            CallerError: The offsets are out of range, or inside a character.
        """
        if not 0 <= start < end <= len(self.text_bytes):
            raise CallerError(f"Bytes {start} to {end} are not in snapshot {self.id}")
        try:
            return self.text_bytes[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            raise CallerError(f"Bytes {start} to {end} split a character") from error

    def check(self) -> None:
        """Raise `CallerError` if the content does not match the hashes, sizes and id."""
        info = self.info
        declared = (info.id, info.body_bytes, info.body_sha256, info.text_bytes, info.text_sha256)
        text = self.text_bytes
        found = (
            info.expected_id(),
            len(self.body),
            sha256(self.body),
            len(text),
            sha256(text),
        )
        if declared != found:
            raise CallerError(f"Snapshot {info.id} does not match its hash")


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
    """Create a snapshot of a source.

    Args:
        url: The requested URL.
        body: The bytes as received, after transfer decoding.
        text: The readable text extracted from them.
        fetched_at: When it was read.
        final_url: The URL after redirects, if different.
        origin: The web, the operator's corpus, or the user's own files.
        title: The title of the source.
        content_type: The media type, without parameters.
        published: The publication date that the source gives, as `YYYY-MM-DD`.
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
    """Index snapshots by id, in order."""
    return {snapshot.id: snapshot for snapshot in snapshots}


Snapshots = Mapping[str, Snapshot]
"""The snapshots of one run, by id: the only sources its report may cite."""
