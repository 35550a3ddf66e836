"""Google's Custom Search JSON API, where there is a key.

It takes no new customers and ends on 2027-01-01; it is here for those who have it.
"""

import json
from urllib.parse import urlencode

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import JSON_TYPES, Fetcher
from bathysphere.tools.search.contract import SearchResult, query_text, tidy

ENDPOINT = "https://www.googleapis.com/customsearch/v1"
_PAGE = 10
"""The API gives no more than ten results at a time."""


class GoogleCSE:
    """Searches by a programmable search engine of Google's."""

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
            # The key goes in a header, so that it stands in no address and no error.
            got = await self._fetcher.get(
                address, accept=JSON_TYPES, headers={"X-Goog-Api-Key": self._key}
            )
        except BathysphereError as error:
            raise SearchFailed("Google's search did not answer", hint=error.hint) from error
        return tidy(parse(got.body), limit)


def parse(body: bytes) -> list[SearchResult]:
    """The results of an answer.

    Raises:
        SearchFailed: it is no answer of this API.
    """
    try:
        answer = json.loads(body)
    except ValueError as error:
        raise SearchFailed("Google's answer is no JSON") from error
    if not isinstance(answer, dict) or answer.get("kind") != "customsearch#search":
        raise SearchFailed("this is no answer of Google's search")
    return [
        SearchResult(str(item["link"]), str(item.get("title", "")), str(item.get("snippet", "")))
        for item in answer.get("items", [])
        if isinstance(item, dict) and "link" in item
    ]
