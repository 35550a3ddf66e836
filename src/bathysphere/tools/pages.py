"""From an address to a snapshot."""

import asyncio

from bathysphere.core.clock import Clock
from bathysphere.evidence.snapshots import Snapshot, take_snapshot
from bathysphere.tools.fetch import Fetcher, Visit
from bathysphere.tools.readable import read_body


class PageReader:
    """Fetches pages and keeps what they said."""

    def __init__(self, fetcher: Fetcher, clock: Clock) -> None:
        self._fetcher = fetcher
        self._clock = clock

    async def read(self, address: str, *, visit: Visit | None = None) -> Snapshot:
        """Fetch a page and take its snapshot.

        Raises:
            FetchRefused: an address on the way must not be fetched.
            FetchFailed: it could not be fetched, or has no readable text.
        """
        got = await self._fetcher.get(address, visit=visit)
        # Reading a page takes the processor, not the network.
        readable = await asyncio.to_thread(
            read_body, got.body, got.content_type, got.charset, got.final_url
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
