"""DuckDuckGo search without a key, through its HTML page for browsers without scripts.

This is not a stable API: the page may change or return a bot challenge instead of results. Both
raise `SearchFailed`, never return an empty list.
"""

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlencode, urlsplit

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import Fetcher
from bathysphere.tools.search.contract import SearchResult, query_text, tidy

ENDPOINT = "https://html.duckduckgo.com/html/"
_CHALLENGE = ("anomaly-modal", "challenge-form", "bots use duckduckgo")
_VOID = frozenset({"br", "img", "input", "hr", "meta", "link", "wbr"})


class DuckDuckGo:
    """Searches with DuckDuckGo's HTML page."""

    name = "duckduckgo"

    def __init__(self, fetcher: Fetcher, *, endpoint: str = ENDPOINT) -> None:
        self._fetcher = fetcher
        self._endpoint = endpoint

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search the web."""
        address = f"{self._endpoint}?{urlencode({'q': query_text(query), 'kp': '1'})}"
        try:
            got = await self._fetcher.get(address, accept=("text/html",))
        except BathysphereError as error:
            raise SearchFailed(f"DuckDuckGo search failed: {error.message}") from error
        return tidy(parse(got.body.decode("utf-8", "replace")), limit)


def parse(page: str) -> list[SearchResult]:
    """Parse the results of a page.

    Raises:
        SearchFailed: It is a bot challenge, or not a results page.
    """
    lowered = page.lower()
    if any(sign in lowered for sign in _CHALLENGE):
        raise SearchFailed(
            "DuckDuckGo returned a bot challenge",
            hint="wait, or configure another engine: docs/fetch.md",
        )
    reader = _Reader()
    reader.feed(page)
    reader.close()
    if not reader.results and not reader.says_none:
        raise SearchFailed("Unexpected page from DuckDuckGo")
    return reader.results


class _Reader(HTMLParser):
    """Collects title, URL and snippet of each result, without advertisements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.results: list[SearchResult] = []
        self.says_none = False
        self._depth = 0
        self._ad_depth: int | None = None
        self._into: str | None = None
        self._into_depth = 0
        self._text: list[str] = []
        self._href = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        self._depth += 1
        names = dict(attrs)
        classes = (names.get("class") or "").split()
        if "no-results" in classes or "result--no-result" in classes:
            self.says_none = True
        if "result--ad" in classes and self._ad_depth is None:
            self._ad_depth = self._depth
        if self._into is None and self._ad_depth is None:
            for kind in ("result__a", "result__snippet"):
                if kind in classes:
                    self._into, self._into_depth, self._text = kind, self._depth, []
                    self._href = names.get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._into and self._depth == self._into_depth:
            self._take(self._into, "".join(self._text))
            self._into = None
        if self._ad_depth is not None and self._depth <= self._ad_depth:
            self._ad_depth = None
        self._depth = max(0, self._depth - 1)

    def handle_data(self, data: str) -> None:
        if self._into:
            self._text.append(data)

    def _take(self, kind: str, text: str) -> None:
        if kind == "result__a":
            address = _real_address(self._href)
            if address:
                self.results.append(SearchResult(address, text))
        elif self.results and not self.results[-1].snippet:
            self.results[-1] = self.results[-1]._replace(snippet=text)


def _real_address(href: str) -> str | None:
    """Return the URL behind DuckDuckGo's redirect; None for an advertisement."""
    if href.startswith("//"):
        href = f"https:{href}"
    parts = urlsplit(href)
    host = parts.hostname or ""
    if not host or host == "duckduckgo.com" or host.endswith(".duckduckgo.com"):
        if parts.path != "/l/":
            return None
        [*targets] = parse_qs(parts.query).get("uddg", [])
        return targets[0] if targets else None
    return href
