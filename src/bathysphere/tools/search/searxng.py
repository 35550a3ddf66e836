"""SearXNG, the self-hosted search engine, by its JSON API (`formats: [html, json]` must be set).

It usually runs on a private address. Give it a `Fetcher` of its own whose rules trust its origin;
pages must not be fetched through that one.
"""

import json
from urllib.parse import urlencode

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import JSON_TYPES, Fetcher
from bathysphere.tools.search.contract import SearchResult, query_text, tidy


class SearXNG:
    """Searches by a SearXNG server."""

    name = "searxng"

    def __init__(self, fetcher: Fetcher, *, base_url: str) -> None:
        self._fetcher = fetcher
        self._base = base_url.rstrip("/")

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search the web."""
        address = f"{self._base}/search?{urlencode({'q': query_text(query), 'format': 'json'})}"
        try:
            got = await self._fetcher.get(address, accept=JSON_TYPES)
        except BathysphereError as error:
            raise SearchFailed(
                f"SearXNG did not answer: {error.message}",
                hint="its settings must allow the format json",
            ) from error
        return tidy(parse(got.body), limit)


def parse(body: bytes) -> list[SearchResult]:
    """The results of an answer.

    Raises:
        SearchFailed: it is no answer of SearXNG, or none of its engines answered it.
    """
    try:
        answer = json.loads(body)
        found = answer["results"]
    except (ValueError, KeyError, TypeError) as error:
        raise SearchFailed("this is no answer of SearXNG") from error
    if not found and answer.get("unresponsive_engines"):
        raise SearchFailed("none of SearXNG's engines answered")
    return [
        SearchResult(str(item["url"]), str(item.get("title", "")), str(item.get("content") or ""))
        for item in found
        if isinstance(item, dict) and item.get("url")
    ]
