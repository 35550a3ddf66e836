"""Tavily's search API, which needs a key."""

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.fetch import Fetcher
from bathysphere.tools.search.api_failure import api_failure
from bathysphere.tools.search.contract import MAX_RESULTS, SearchResult, query_text, tidy
from bathysphere.tools.search.json_response import items_of, object_of

ENDPOINT = "https://api.tavily.com/search"
KEY = "TAVILY_API_KEY"
_MAX_QUERY = 400
"""The API refuses longer queries."""


class Tavily:
    """Searches with Tavily."""

    name = "tavily"

    def __init__(self, fetcher: Fetcher, *, key: str, endpoint: str = ENDPOINT) -> None:
        self._fetcher = fetcher
        self._key = key
        self._endpoint = endpoint

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search the web."""
        wanted = {
            "query": query_text(query, length=_MAX_QUERY),
            "max_results": max(1, min(limit, MAX_RESULTS)),
            "search_depth": "basic",
        }
        try:
            got = await self._fetcher.post_json(
                self._endpoint, wanted, headers={"Authorization": f"Bearer {self._key}"}
            )
        except BathysphereError as error:
            raise api_failure("Tavily", error, key=KEY) from error
        return tidy(parse(got.body), limit)


def parse(body: bytes) -> list[SearchResult]:
    """Parse the results of a response.

    Raises:
        SearchFailed: It is not a response of this API.
    """
    found = items_of(object_of(body, "Tavily").get("results"), "Tavily")
    return [
        SearchResult(str(item["url"]), str(item.get("title") or ""), str(item.get("content") or ""))
        for item in found
        if item.get("url")
    ]
