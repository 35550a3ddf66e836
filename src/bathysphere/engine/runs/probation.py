"""Probation: runs that lost their worker are executed one at a time until they make progress.

A run that kills its worker also interrupts the worker's other runs. All of them are requeued, and
only one is to blame: executed alone, it is identified without harm to the others.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

PROBATION_S = 10.0
"""A run that survives this long does not kill its worker at once."""


class Probation:
    """The suspect runs of one worker process."""

    def __init__(self, *, probation_s: float = PROBATION_S) -> None:
        self._probation_s = probation_s
        self._lock = asyncio.Lock()
        self._holder: UUID | None = None

    @asynccontextmanager
    async def exclusive(self, run_id: UUID) -> AsyncIterator[None]:
        """Wait until no other suspect is on probation, then hold the place."""
        await self._lock.acquire()
        self._holder = run_id
        timer = asyncio.get_running_loop().call_later(self._probation_s, self.passed, run_id)
        try:
            yield
        finally:
            timer.cancel()
            self.passed(run_id)

    def passed(self, run_id: UUID) -> None:
        """End the probation of a run that made progress, for the next suspect."""
        if self._holder == run_id:
            self._holder = None
            self._lock.release()
