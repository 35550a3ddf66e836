"""Pages of the public web, read for a person who asks for one: under guard, a few at a time."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.engine.records import Owner
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.pages import PageReader

AT_ONCE = 2
"""How many pages one person may have fetched at the same time."""
AT_ONCE_IN_ALL = 16
"""How many this process fetches at the same time."""


class TooManyPages(CallerError):
    """Pages are being fetched already; nothing waits in line."""

    code = "too_many_pages"


class Pages:
    """Fetches and reads pages. Nothing is kept: the text goes to the one who asked."""

    def __init__(self, rules: FetchRules, *, clock: Clock) -> None:
        self._rules = rules
        self._clock = clock
        self._busy: Counter[Owner] = Counter()

    async def read(self, address: str, *, owner: Owner) -> Snapshot:
        """The readable text of a page.

        Raises:
            TooManyPages: This owner, or this process, fetches as many as it may.
            FetchRefused: An address on the way must not be fetched.
            FetchFailed: It could not be fetched, or has no readable text.
        """
        with self._place(owner):
            async with Fetcher(self._rules) as fetcher:
                return await PageReader(fetcher, self._clock).read(address)

    @contextmanager
    def _place(self, owner: Owner) -> Iterator[None]:
        if self._busy[owner] >= AT_ONCE or self._busy.total() >= AT_ONCE_IN_ALL:
            raise TooManyPages("other pages are still being fetched", hint="try again in a moment")
        self._busy[owner] += 1
        try:
            yield
        finally:
            self._busy[owner] -= 1
            if not self._busy[owner]:
                del self._busy[owner]
