"""What a search engine is to the rest: a name, and results for a query."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

MAX_QUERY = 500
MAX_RESULTS = 20


class SearchResult(NamedTuple):
    """One result: where, and what the engine says of it."""

    url: str
    title: str
    snippet: str = ""


class SearchEngine(Protocol):
    """A search engine. Results are in the engine's order, none twice, at most `limit`."""

    @property
    def name(self) -> str:
        """The engine's name, as settings and reports use it."""
        ...

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search.

        Raises:
            SearchFailed: the engine did not answer as one, which is not the same as no results.
        """
        ...


def tidy(results: Iterable[SearchResult], limit: int) -> list[SearchResult]:
    """Results with one line of text each, http addresses only, none twice, at most `limit`."""
    kept: dict[str, SearchResult] = {}
    for result in results:
        url = result.url.strip()
        if url.startswith(("http://", "https://")) and url not in kept:
            title = " ".join(result.title.split())[:300]
            kept[url] = SearchResult(url, title or url, " ".join(result.snippet.split())[:1_000])
    return list(kept.values())[: max(0, min(limit, MAX_RESULTS))]


def query_text(query: str) -> str:
    """A query in one line, not too long."""
    return " ".join(query.split())[:MAX_QUERY]
