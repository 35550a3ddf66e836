"""Search in a local corpus: SQLite full-text search, ranked by BM25. Uses no network."""

import logging
import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.evidence.snapshots import Snapshot, take_snapshot
from bathysphere.tools.document_files import KINDS, read_all
from bathysphere.tools.readable import Readable
from bathysphere.tools.search.contract import MAX_RESULTS, SearchResult, query_text

SCHEME = "corpus:"
_log = logging.getLogger(__name__)
_WORD = re.compile(r"\w+")
_SNIPPET_WORDS = 32


_HEAD = 500
"""Number of characters at the start of a file that are searched for its date."""
_DATE = re.compile(r"^date:[ \t]*(\d{4}-\d{2}-\d{2})\b", re.IGNORECASE | re.MULTILINE)


class NotInCorpus(CallerError):
    """The corpus has no document with this URL."""

    code = "not_in_corpus"


@dataclass(frozen=True)
class Document:
    """A document, identified by its URL."""

    url: str
    title: str
    text: str
    published: str | None = None
    content_type: str = "text/plain"


class Corpus:
    """Searchable documents. The same query always returns the same results."""

    name = "corpus"

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = {document.url: document for document in documents}
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE documents USING fts5("
            "url UNINDEXED, title, body, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        rows = [(d.url, d.title, d.text) for d in self._documents.values()]
        self._index.executemany("INSERT INTO documents VALUES (?, ?, ?)", rows)

    @classmethod
    def of_folder(cls, root: Path) -> "Corpus":
        """Load the text, Markdown, PDF and DOCX files in a folder and its subfolders.

        A first line `# …` is the title, a line `Date: 2026-11-15` near the top is the date. A file
        that cannot be read is left out, with a warning in the log.
        """
        found, failed = read_all(root)
        for reason in failed:
            _log.warning("Not in the corpus: %s", reason)
        return cls(_from_file(root, path, readable) for path, readable in found.items())

    def __len__(self) -> int:
        return len(self._documents)

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Find documents that contain words of the query, best match first."""
        words = list(dict.fromkeys(_WORD.findall(query_text(query).lower())))
        if not words:
            return []
        # Quoting keeps words from being read as operators.
        wanted = " OR ".join(f'"{word}"' for word in words)
        rows = self._index.execute(
            "SELECT url, title, snippet(documents, 2, '', '', ' … ', ?) FROM documents"
            " WHERE documents MATCH ? ORDER BY bm25(documents, 0.0, 3.0, 1.0), url LIMIT ?",
            (_SNIPPET_WORDS, wanted, max(0, min(limit, MAX_RESULTS))),
        )
        return [SearchResult(url, title, " ".join(text.split())) for url, title, text in rows]

    def document(self, url: str) -> Document:
        """Return the document with a URL.

        Raises:
            NotInCorpus: There is no such document.
        """
        if url not in self._documents:
            raise NotInCorpus(f"Not in the corpus: {url!r}")
        return self._documents[url]

    def read(self, url: str, clock: Clock) -> Snapshot:
        """Take a snapshot of a document."""
        document = self.document(url)
        return take_snapshot(
            url,
            document.text.encode("utf-8"),
            document.text,
            fetched_at=clock.now(),
            origin="corpus",
            title=document.title,
            content_type=document.content_type,
            published=document.published,
        )

    def close(self) -> None:
        """Free the memory of the index."""
        self._index.close()


def _from_file(root: Path, path: Path, readable: Readable) -> Document:
    text = readable.text
    first = text.lstrip().split("\n", 1)[0]
    title = (
        first.removeprefix("# ").strip() if first.startswith("# ") else readable.title or path.stem
    )
    url = f"{SCHEME}{path.relative_to(root).as_posix()}"
    dated = _DATE.search(text[:_HEAD])
    published = dated.group(1) if dated else readable.published
    kind = KINDS[path.suffix.lower()]
    return Document(url, title, text, published=published, content_type=kind)
