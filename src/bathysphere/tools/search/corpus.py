"""A corpus on this machine: SQLite's full-text search, ranked by BM25. No network at all."""

import re
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.evidence.snapshots import Snapshot, take_snapshot
from bathysphere.tools.search.contract import MAX_RESULTS, SearchResult, query_text

SCHEME = "corpus:"
_KINDS = {".txt": "text/plain", ".md": "text/markdown"}
_WORD = re.compile(r"\w+")
_SNIPPET_WORDS = 32


class NotInCorpus(CallerError):
    """The corpus has no document with this address."""

    code = "not_in_corpus"


@dataclass(frozen=True)
class Document:
    """One document: its address is its name."""

    url: str
    title: str
    text: str
    published: str | None = None
    content_type: str = "text/plain"


class Corpus:
    """Documents that can be searched and read. The same query always has the same answer."""

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
        """The `.txt` and `.md` files below a folder; a first line `# …` is the title."""
        files = sorted(path for path in root.rglob("*") if path.suffix in _KINDS)
        return cls(_from_file(root, path) for path in files)

    def __len__(self) -> int:
        return len(self._documents)

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """The documents that have most of the words, the best first."""
        words = list(dict.fromkeys(_WORD.findall(query_text(query).lower())))
        if not words:
            return []
        # Each word in quotation marks is a word, never an operator.
        wanted = " OR ".join(f'"{word}"' for word in words)
        rows = self._index.execute(
            "SELECT url, title, snippet(documents, 2, '', '', ' … ', ?) FROM documents"
            " WHERE documents MATCH ? ORDER BY bm25(documents, 0.0, 3.0, 1.0), url LIMIT ?",
            (_SNIPPET_WORDS, wanted, max(0, min(limit, MAX_RESULTS))),
        )
        return [SearchResult(url, title, " ".join(text.split())) for url, title, text in rows]

    def document(self, url: str) -> Document:
        """The document of an address.

        Raises:
            NotInCorpus: there is none.
        """
        if url not in self._documents:
            raise NotInCorpus(f"the corpus has no {url!r}")
        return self._documents[url]

    def read(self, url: str, clock: Clock) -> Snapshot:
        """A snapshot of a document."""
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
        """Give the index's memory back."""
        self._index.close()


def _from_file(root: Path, path: Path) -> Document:
    text = path.read_text(encoding="utf-8", errors="replace")
    first = text.lstrip().split("\n", 1)[0]
    title = first.removeprefix("# ").strip() if first.startswith("# ") else path.stem
    url = f"{SCHEME}{path.relative_to(root).as_posix()}"
    return Document(url, title, text, content_type=_KINDS[path.suffix])
