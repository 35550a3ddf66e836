"""Reading of web pages into snapshots."""

from bathysphere.core.clock import Clock
from bathysphere.evidence.snapshots import Snapshot, take_snapshot
from bathysphere.tools.fetch import Fetcher, Visit
from bathysphere.tools.parser_pool import shared_parsers
from bathysphere.tools.parsing_budget import LOCAL, Requester


class PageReader:
    """Fetches pages and takes snapshots of them."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock

    async def read(
        self, address: str, *, visit: Visit | None = None, requester: Requester = LOCAL
    ) -> Snapshot:
        """Fetch a page and take its snapshot. Parsing runs in a process that can be killed.

        Raises:
            FetchRefused: The URL, or a redirect's, must not be fetched.
            FetchFailed: It could not be fetched, or has no readable text.
            ParsingBudgetExceeded: The requester's pages took too much CPU.
        """
        parsers = shared_parsers(self._fetcher.rules.parsing)
        parsers.warm_up()
        got = await self._fetcher.get(address, visit=visit)
        readable = await parsers.read(
            got.body, got.content_type, got.charset, got.final_url, requester=requester
        )
        return take_snapshot(
            got.url,
            got.body,
            readable.text,
            fetched_at=self._clock.now(),
            final_url=got.final_url,
            title=readable.title,
            content_type=got.content_type,
            published=readable.published,
        )
