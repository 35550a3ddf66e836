"""Documents on a person's device: what they are, where they may be kept, and their versions.

A version is made from the text, so it changes with any change, whoever made it. Positions count
characters. What goes wrong is a `DocumentError`, whose message is for the agent to read.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from bathysphere.core.errors import CallerError


class DocumentError(CallerError):
    """It cannot be done with this document; the message says why."""

    code = "document_error"


class DocumentChanged(DocumentError):
    """The document is no longer the version that a change was made for."""

    code = "document_changed"


class Document(NamedTuple):
    """One document, as it is now."""

    id: str
    text: str

    @property
    def version(self) -> str:
        """The version of its text."""
        return version_of(self.text)


class Shelf(NamedTuple):
    """Documents, in the order of their ids, and whether there are more than were looked at."""

    documents: list[Document]
    truncated: bool = False


class Documents(Protocol):
    """Where a person keeps documents."""

    def all(self) -> Shelf:
        """All documents that are shared."""
        ...

    def read(self, document_id: str) -> Document:
        """One document.

        Raises:
            DocumentError: It is not there, or it may not be read.
        """
        ...

    def place(self, title: str, file_type: str) -> str:
        """The id that a new document of this title would have.

        Raises:
            DocumentError: It is there already, or it may not be made.
        """
        ...

    def create(self, document_id: str, text: str) -> Document:
        """Make a new document; it never takes the place of another.

        Raises:
            DocumentError: It is there already, or it could not be written.
        """
        ...

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Give a document a new text, if it still is the version that was meant.

        Raises:
            DocumentChanged: It is another version now.
            DocumentError: It is gone, or it could not be written.
        """
        ...


def version_of(text: str) -> str:
    """The version of a text: the beginning of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class NoDocuments:
    """A device whose person shares nothing: every tool says so."""

    def all(self) -> Shelf:
        """Nothing is shared."""
        raise _nothing()

    def read(self, document_id: str) -> Document:
        """Nothing is shared."""
        raise _nothing(document_id)

    def place(self, title: str, file_type: str) -> str:
        """There is no place for a document."""
        raise _nothing(title, file_type)

    def create(self, document_id: str, text: str) -> Document:
        """There is no place for a document."""
        raise _nothing(document_id, text)

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Nothing is shared."""
        raise _nothing(document_id, text, base_version)


class MemoryDocuments:
    """Documents in memory, by id; a title is an id."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})

    def all(self) -> Shelf:
        """All documents."""
        return Shelf([Document(name, self.texts[name]) for name in sorted(self.texts)])

    def read(self, document_id: str) -> Document:
        """One document."""
        if document_id not in self.texts:
            raise missing(document_id)
        return Document(document_id, self.texts[document_id])

    def place(self, title: str, file_type: str) -> str:
        """The title, if no document has it."""
        del file_type
        if title in self.texts:
            raise taken(title)
        return title

    def create(self, document_id: str, text: str) -> Document:
        """Make a new document."""
        self.texts[self.place(document_id, "")] = text
        return self.read(document_id)

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Give a document a new text."""
        if self.read(document_id).version != base_version:
            raise changed(document_id)
        self.texts[document_id] = text
        return self.read(document_id)


def missing(document_id: str) -> DocumentError:
    """There is no such document."""
    return DocumentError(f"there is no document {document_id!r}")


def taken(document_id: str) -> DocumentError:
    """A new document cannot be made, because there is one."""
    return DocumentError(
        f"there is a document {document_id!r} already: choose another title, or read and patch it"
    )


def changed(document_id: str) -> DocumentChanged:
    """A document was changed in between."""
    return DocumentChanged(f"{document_id!r} was changed in between")


def _nothing(*_: str) -> DocumentError:
    return DocumentError("the person shares no documents in this talk: go on without them")
