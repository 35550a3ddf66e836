"""The interface of search engines."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from bathysphere.core.tracing import span

MAX_QUERY = 500
MAX_RESULTS = 20


class SearchResult(NamedTuple):
    """A search result: URL, title and snippet."""

    url: str
    title: str
    snippet: str = ""


class SearchEngine(Protocol):
    """A search engine. Returns at most `limit` distinct results, in the engine's order."""

    @property
    def name(self) -> str:
        """The engine's name in settings and reports."""
        ...

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search.

        Raises:
            SearchFailed: The engine failed, as opposed to finding nothing.
        """
        ...


async def search_with(engine: SearchEngine, query: str, *, limit: int) -> list[SearchResult]:
    """Search, with a span in the trace of the run.

    Raises:
        SearchFailed: The engine failed.
    """
    with span(f"search {engine.name}", {"bathysphere.search.engine": engine.name}) as traced:
        found = await engine.search(query, limit=limit)
        traced.set("bathysphere.search.results", len(found))
        return found


def tidy(results: Iterable[SearchResult], limit: int) -> list[SearchResult]:
    """Return at most `limit` results with http URLs, without duplicates, each text on one line."""
    unique: dict[str, SearchResult] = {}
    for result in results:
        url = result.url.strip()
        if url.startswith(("http://", "https://")) and url not in unique:
            title = " ".join(result.title.split())[:300]
            unique[url] = SearchResult(url, title or url, " ".join(result.snippet.split())[:1_000])
    return list(unique.values())[: max(0, min(limit, MAX_RESULTS))]


def query_text(query: str, *, length: int = MAX_QUERY) -> str:
    """Return the query on one line, truncated."""
    return " ".join(query.split())[:length]
