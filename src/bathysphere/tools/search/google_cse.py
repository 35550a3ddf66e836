"""Google's Custom Search JSON API, which needs a key.

It is closed to new customers and ends on 2027-01-01; supported for existing customers.
"""

from urllib.parse import urlencode

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import JSON_TYPES, Fetcher
from bathysphere.tools.search.contract import SearchResult, query_text, tidy
from bathysphere.tools.search.json_response import items_of, object_of, unexpected

ENDPOINT = "https://www.googleapis.com/customsearch/v1"
_PAGE = 10
"""The API returns at most ten results per request."""


class GoogleCSE:
    """Searches with a Google Programmable Search Engine."""

    name = "google_cse"

    def __init__(self, fetcher: Fetcher, *, key: str, cx: str, endpoint: str = ENDPOINT) -> None:
        self._fetcher = fetcher
        self._key = key
        self._cx = cx
        self._endpoint = endpoint

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search the web."""
        wanted = {"cx": self._cx, "q": query_text(query), "num": max(1, min(limit, _PAGE))}
        address = f"{self._endpoint}?{urlencode(wanted)}"
        try:
            # The key goes in a header, so that it is in no URL and no error message.
            got = await self._fetcher.get(
                address, accept=JSON_TYPES, headers={"X-Goog-Api-Key": self._key}
            )
        except BathysphereError as error:
            raise SearchFailed("Google search failed", hint=error.hint) from error
        return tidy(parse(got.body), limit)


def parse(body: bytes) -> list[SearchResult]:
    """Parse the results of a response.

    Raises:
        SearchFailed: It is not a response of this API.
    """
    answer = object_of(body, "Google")
    if answer.get("kind") != "customsearch#search":
        raise unexpected("Google")
    return [
        SearchResult(str(item["link"]), str(item.get("title", "")), str(item.get("snippet", "")))
        for item in items_of(answer.get("items", []), "Google")
        if "link" in item
    ]
