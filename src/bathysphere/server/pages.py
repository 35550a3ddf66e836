"""Fetch web pages on behalf of users, with address checks and concurrency limits."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.server.asgi.tenant_gate import release_permit
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.pages import PageReader
from bathysphere.tools.parsing_budget import Requester

MAX_PER_OWNER = 2
"""Maximum concurrent fetches per owner."""
MAX_PER_PROCESS = 16
"""Maximum concurrent fetches per process."""


class TooManyPages(CallerError):
    """The limit of concurrent page fetches is reached; requests are not queued."""

    code = "too_many_pages"


class Pages:
    """Fetches pages and extracts their text. Stores nothing."""

    def __init__(self, rules: FetchRules, *, clock: Clock) -> None:
        self._rules = rules
        self._clock = clock
        self._busy: Counter[Owner] = Counter()

    async def read(self, address: str, *, owner: Owner) -> Snapshot:
        """Fetch a page and return its readable text.

        Raises:
            TooManyPages: The limit of this owner or of this process is reached.
            FetchRefused: The URL, or one it redirects to, must not be fetched.
            FetchFailed: The page could not be fetched, or has no readable text.
            ParsingBudgetExceeded: This owner's pages took too much CPU.
        """
        with self._slot(owner):
            release_permit()
            async with Fetcher(self._rules) as fetcher:
                requester = Requester(owner.tenant, owner.user)
                return await PageReader(fetcher, self._clock).read(address, requester=requester)

    @contextmanager
    def _slot(self, owner: Owner) -> Iterator[None]:
        if self._busy[owner] >= MAX_PER_OWNER or self._busy.total() >= MAX_PER_PROCESS:
            raise TooManyPages("Too many pages are being fetched", hint="try again in a moment")
        self._busy[owner] += 1
        try:
            yield
        finally:
            self._busy[owner] -= 1
            if not self._busy[owner]:
                del self._busy[owner]
