"""A search engine of your own: a catalogue in a file, searched on this machine."""

import json
from pathlib import Path

from bathysphere.tools.fetch import Fetcher
from bathysphere.tools.search.contract import SearchResult

CATALOGUE = Path(__file__).with_name("catalogue.json")


class Library:
    """Finds the entries of the catalogue that have most words of the query."""

    name = "library"

    def __init__(self, entries: list[dict[str, str]]) -> None:
        self._entries = entries

    async def search(self, query: str, *, limit: int = 8) -> list[SearchResult]:
        """Search; an empty list means that there is nothing, a failure must raise."""
        words = set(query.lower().split())
        ranked = sorted(self._entries, key=lambda entry: -len(words & _words(entry)))
        return [SearchResult(**entry) for entry in ranked if words & _words(entry)][:limit]


def build(_: Fetcher) -> Library:
    """Called once per search; an engine on the web would use the fetcher."""
    return Library(json.loads(CATALOGUE.read_text(encoding="utf-8")))


def _words(entry: dict[str, str]) -> set[str]:
    return set(f"{entry['title']} {entry['snippet']}".lower().split())
