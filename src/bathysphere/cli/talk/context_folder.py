"""Choose passages of a person's folder to go with a research question."""

from pathlib import Path

from bathysphere.agents.research.attachments import DocumentPassage
from bathysphere.core.canonical import sha256
from bathysphere.core.errors import ConfigError
from bathysphere.device.documents import Document
from bathysphere.device.search import Passage, ranked
from bathysphere.tools.document_files import no_documents, read_all

PASSAGES = 8


class ContextFolder:
    """The documents of a folder, whose best passages are shared with the model."""

    def __init__(self, folder: Path) -> None:
        """Read the documents.

        Raises:
            ConfigError: The folder does not exist, or has no readable documents.
        """
        if not folder.is_dir():
            raise ConfigError(
                f"Folder not found: {folder}", hint="pass the path of a folder to --context"
            )
        found, self.skipped = read_all(folder)
        if not found:
            raise no_documents(folder)
        names = {path.relative_to(folder).as_posix(): one for path, one in found.items()}
        self._titles = {name: readable.title for name, readable in names.items()}
        self._documents = [Document(name, readable.text) for name, readable in names.items()]

    def choose(self, question: str) -> list[DocumentPassage]:
        """Return the passages that share the most words with the question, best first."""
        return [self._shared(one) for one in ranked(question, self._documents, most=PASSAGES)]

    def _shared(self, passage: Passage) -> DocumentPassage:
        document = passage.document
        start = len(document.text[: passage.start].encode("utf-8"))
        return DocumentPassage(
            file=document.id,
            title=self._titles[document.id] or document.id,
            version=sha256(document.text.encode("utf-8")),
            start=start,
            end=start + len(passage.text.encode("utf-8")),
            text=passage.text,
        )
