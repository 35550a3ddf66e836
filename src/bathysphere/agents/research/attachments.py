"""What the person attached to a question: passages of their documents, and a text of their own.

The passages were chosen on the person's device, where the documents stay. Each one is a source of
its own, whose URL names the document, its version and the place of the passage, so that a quote can
be shown in the document.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import quote

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from bathysphere.core.errors import CallerError
from bathysphere.evidence.snapshots import Sha256, Snapshot, take_snapshot

MAX_PASSAGES = 20
MAX_PASSAGE = 8_000
DOCUMENT_SCHEME = "document:"
TEXT_URL = "client:attached"
TEXT_TITLE = "What you attached"


class DocumentPassage(BaseModel):
    """A passage of a document on the person's device."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    """The document's id on the device."""
    title: Annotated[str, StringConstraints(max_length=300)]
    version: Sha256
    """Hash of the document's whole text."""
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    """Offsets of the passage in the document's text, in bytes of UTF-8."""
    text: Annotated[str, StringConstraints(min_length=1, max_length=MAX_PASSAGE)]

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if len(self.text.encode("utf-8", "surrogatepass")) != self.end - self.start:
            raise ValueError("`text` must be as long as the bytes from `start` to `end`")
        return self

    @property
    def url(self) -> str:
        """The URL of the passage as a source."""
        name = quote(self.file, safe="")
        return f"{DOCUMENT_SCHEME}{name}?version={self.version}#bytes={self.start}-{self.end}"

    def snapshot(self, now: datetime) -> Snapshot:
        """The passage as a source."""
        return _snapshot(self.url, self.title or self.file, self.text, now)


_PASSAGES = TypeAdapter(Annotated[list[DocumentPassage], Field(max_length=MAX_PASSAGES)])


class Attachments(NamedTuple):
    """The attachments of a question."""

    passages: tuple[DocumentPassage, ...] = ()
    text: str = ""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Self:
        """Read the attachments from a run's state.

        Raises:
            CallerError: `documents` has another form.
        """
        try:
            passages = _PASSAGES.validate_python(state.get("documents") or [])
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in ("documents", *first["loc"]))
            raise CallerError(
                f"Invalid attachment: {where}: {first['msg']}", hint="see docs/research.md"
            ) from error
        return cls(tuple(passages), (state.get("knowledge_context") or "").strip())

    def private_texts(self) -> list[str]:
        """The texts that must not reach a search engine or a website."""
        return [passage.text for passage in self.passages] + ([self.text] if self.text else [])

    def as_text(self) -> str:
        """All attachments as one text, for the model."""
        titled = [f"{passage.title}\n{passage.text}" for passage in self.passages]
        return "\n\n".join([*titled, self.text]).strip()

    def snapshots(self, now: datetime) -> list[Snapshot]:
        """The attachments as sources."""
        own = [_snapshot(TEXT_URL, TEXT_TITLE, self.text, now)] if self.text else []
        return [*(passage.snapshot(now) for passage in self.passages), *own]

    def __bool__(self) -> bool:
        """Whether anything is attached."""
        return bool(self.passages or self.text)


def _snapshot(url: str, title: str, text: str, now: datetime) -> Snapshot:
    return take_snapshot(
        url,
        text.encode("utf-8", "replace"),
        text,
        fetched_at=now,
        origin="client",
        title=title,
    )
