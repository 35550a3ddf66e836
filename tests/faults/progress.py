"""Progress reports of a campaign, with a time limit per schedule."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tally import say


@dataclass(kw_only=True)
class Progress:
    """The schedules in progress."""

    summary: Callable[[], str]
    bound: float
    """Seconds a schedule may take in all, its judgement included."""
    every: float = 30
    _began: dict[int, float] = field(default_factory=dict)

    @asynccontextmanager
    async def reported(self) -> AsyncIterator[None]:
        """Print regularly how far the campaign is and what it waits for."""
        telling = asyncio.create_task(self._tell())
        try:
            yield
        finally:
            telling.cancel()

    @asynccontextmanager
    async def schedule(self, number: int) -> AsyncIterator[None]:
        """Track a schedule while it runs.

        Raises:
            TimeoutError: It took too long.
        """
        self._began[number] = time.monotonic()
        try:
            async with asyncio.timeout(self.bound):
                yield
        finally:
            del self._began[number]

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(self.every)
            now = time.monotonic()
            waits = ", ".join(f"{n} ({now - began:.0f} s)" for n, began in self._began.items())
            say(f"{self.summary()}; under way: {waits}")
