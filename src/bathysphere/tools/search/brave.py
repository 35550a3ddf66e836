"""Brave's web search API, which needs a key."""

import html
from typing import Any
from urllib.parse import urlencode

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.fetch import JSON_TYPES, Fetcher
from bathysphere.tools.search.api_failure import api_failure
from bathysphere.tools.search.contract import MAX_RESULTS, SearchResult, query_text, tidy
from bathysphere.tools.search.json_response import items_of, object_of, unexpected

ENDPOINT = "https://api.search.brave.com/res/v1/web/search"
KEY = "BRAVE_SEARCH_API_KEY"
_MAX_QUERY = 400
_MAX_WORDS = 50
"""The API refuses longer queries."""
_HEADERS = {"Accept": "application/json", "Cache-Control": "no-cache"}
"""The API refuses other values of these, also a list of media types."""


class Brave:
    """Searches with Brave."""

    name = "brave"

    def __init__(self, fetcher: Fetcher, *, key: str, endpoint: str = ENDPOINT) -> None:
        self._fetcher = fetcher
        self._key = key
        self._endpoint = endpoint

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search the web."""
        words = query_text(query, length=_MAX_QUERY).split()[:_MAX_WORDS]
        wanted = {
            "q": " ".join(words),
            "count": max(1, min(limit, MAX_RESULTS)),
            "result_filter": "web",
            "text_decorations": "false",
        }
        headers = {**_HEADERS, "X-Subscription-Token": self._key}
        try:
            got = await self._fetcher.get(
                f"{self._endpoint}?{urlencode(wanted)}", accept=JSON_TYPES, headers=headers
            )
        except BathysphereError as error:
            raise api_failure("Brave", error, key=KEY) from error
        return tidy(parse(got.body), limit)


def parse(body: bytes) -> list[SearchResult]:
    """Parse the results of a response; one without web results has no `web`.

    Raises:
        SearchFailed: It is not a response of this API.
    """
    answer = object_of(body, "Brave")
    web = answer.get("web") or {}
    if answer.get("type") != "search" or not isinstance(web, dict):
        raise unexpected("Brave")
    return [
        SearchResult(str(item["url"]), _text(item.get("title")), _text(item.get("description")))
        for item in items_of(web.get("results", []), "Brave")
        if item.get("url")
    ]


def _text(marked: Any) -> str:
    """Return text without the highlights and entities that the API always adds."""
    plain = str(marked or "").replace("<strong>", "").replace("</strong>", "")
    return html.unescape(plain)
