"""Documents on a person's device, their versions, and the interface of their storage.

A version is a hash of the text. Positions are in characters. Failures are raised as
`DocumentError`, whose message the agent reads.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from bathysphere.core.errors import CallerError


class DocumentError(CallerError):
    """The operation on this document failed."""

    code = "document_error"


class DocumentChanged(DocumentError):
    """The document is no longer at the version that a change is based on."""

    code = "document_changed"


class Document(NamedTuple):
    """A document with its current text."""

    id: str
    text: str

    @property
    def version(self) -> str:
        """The version of the text."""
        return version_of(self.text)


class Shelf(NamedTuple):
    """Documents ordered by id, and whether some were left out."""

    documents: list[Document]
    truncated: bool = False


class Documents(Protocol):
    """Storage of a person's documents."""

    def all(self) -> Shelf:
        """Return all shared documents."""
        ...

    def read(self, document_id: str) -> Document:
        """Return one document. Raises: DocumentError: It does not exist or must not be read."""
        ...

    def place(self, title: str, file_type: str) -> str:
        """Return the id for a new document with this title.

        Raises:
            DocumentError: It exists already, or must not be created.
        """
        ...

    def create(self, document_id: str, text: str) -> Document:
        """Create a document; never replaces an existing one.

        Raises:
            DocumentError: It exists already, or could not be written.
        """
        ...

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Replace the text of a document if it is still at `base_version`.

        Raises:
            DocumentChanged: It is at another version.
            DocumentError: It does not exist, or could not be written.
        """
        ...


def version_of(text: str) -> str:
    """Return the version of a text: the first 16 hex digits of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class NoDocuments:
    """A device on which nothing is shared: every operation raises `DocumentError`."""

    def all(self) -> Shelf:
        """Raise `DocumentError`."""
        raise _nothing()

    def read(self, document_id: str) -> Document:
        """Raise `DocumentError`."""
        raise _nothing(document_id)

    def place(self, title: str, file_type: str) -> str:
        """Raise `DocumentError`."""
        raise _nothing(title, file_type)

    def create(self, document_id: str, text: str) -> Document:
        """Raise `DocumentError`."""
        raise _nothing(document_id, text)

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Raise `DocumentError`."""
        raise _nothing(document_id, text, base_version)


class MemoryDocuments:
    """Documents in memory; the title is the id."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self.texts = dict(texts or {})

    def all(self) -> Shelf:
        """Return all documents."""
        return Shelf([Document(name, self.texts[name]) for name in sorted(self.texts)])

    def read(self, document_id: str) -> Document:
        """Return one document."""
        if document_id not in self.texts:
            raise missing(document_id)
        return Document(document_id, self.texts[document_id])

    def place(self, title: str, file_type: str) -> str:
        """Return the title, unless it is in use."""
        del file_type
        if title in self.texts:
            raise taken(title)
        return title

    def create(self, document_id: str, text: str) -> Document:
        """Create a document."""
        self.texts[self.place(document_id, "")] = text
        return self.read(document_id)

    def replace(self, document_id: str, text: str, *, base_version: str) -> Document:
        """Replace the text of a document."""
        if self.read(document_id).version != base_version:
            raise changed(document_id)
        self.texts[document_id] = text
        return self.read(document_id)


def missing(document_id: str) -> DocumentError:
    """Create the error for a document that does not exist."""
    return DocumentError(f"Document not found: {document_id!r}")


def taken(document_id: str) -> DocumentError:
    """Create the error for a title that is in use."""
    return DocumentError(
        f"Document already exists: {document_id!r}. Choose another title, or read and patch it"
    )


def changed(document_id: str) -> DocumentChanged:
    """Create the error for a document that changed since it was read."""
    return DocumentChanged(f"Document changed since it was read: {document_id!r}")


def _nothing(*_: str) -> DocumentError:
    return DocumentError("No documents are shared in this conversation: continue without them")
