"""SearXNG, the self-hosted search engine, through its JSON API (needs `formats: [html, json]`).

It usually runs on a private address. Give it a separate `Fetcher` whose rules trust its origin, and
do not fetch pages with that one.
"""

from urllib.parse import urlencode

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import JSON_TYPES, Fetcher
from bathysphere.tools.search.contract import SearchResult, query_text, tidy
from bathysphere.tools.search.json_response import items_of, object_of


class SearXNG:
    """Searches with a SearXNG server."""

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
                f"SearXNG search failed: {error.message}",
                hint="enable the json format in the settings of SearXNG",
            ) from error
        return tidy(parse(got.body), limit)


def parse(body: bytes) -> list[SearchResult]:
    """Parse the results of a response.

    Raises:
        SearchFailed: It is not a response of SearXNG, or none of its engines responded.
    """
    answer = object_of(body, "SearXNG")
    found = items_of(answer.get("results"), "SearXNG")
    if not found and answer.get("unresponsive_engines"):
        raise SearchFailed("None of SearXNG's engines responded")
    return [
        SearchResult(str(item["url"]), str(item.get("title", "")), str(item.get("content") or ""))
        for item in found
        if item.get("url")
    ]
