"""One poll of the database for all schedules that wait for something in it.

Ten schedules that each poll fifty times per second would become the load they measure.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar
from uuid import UUID

import psycopg
from psycopg_pool import PoolTimeout

from bathysphere.engine.database.pool import Pool

_T = TypeVar("_T")
_OVER = ("success", "error", "interrupted", "timeout", "cancelled")


async def steady(operation: Callable[[], Awaitable[_T]], *, seconds: float = 60) -> _T:
    """Retry until PostgreSQL responds: the test's own queries must survive its restarts."""
    async with asyncio.timeout(seconds):
        while True:
            try:
                return await operation()
            except (psycopg.OperationalError, PoolTimeout):
                await asyncio.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as of the last poll."""

    status: str
    attempt: int

    @property
    def is_over(self) -> bool:
        return self.status in _OVER


@dataclass(kw_only=True)
class Watch:
    """Tracks which process executed each step, and the status of each run."""

    pool: Pool
    pids: dict[tuple[str, str], int] = field(default_factory=dict)
    runs: dict[UUID, Seen] = field(default_factory=dict)
    _tracked: set[UUID] = field(default_factory=set)
    _newest: int = 0
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    def track(self, run_id: UUID) -> None:
        self._tracked.add(run_id)

    async def run(self) -> None:
        """Poll forever."""
        while True:
            with contextlib.suppress(TimeoutError):  # callers have their own timeouts
                await steady(self._look)
            async with self._news:
                self._news.notify_all()
            await asyncio.sleep(0.03)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with self._news:
            await self._news.wait_for(is_so)

    async def executed(self, thread: UUID, what: str) -> int:
        """Wait until a step was executed; return the pid that did it last."""
        place = (str(thread), what)
        await self.until(lambda: place in self.pids)
        return self.pids[place]

    async def ended(self, run_id: UUID) -> Seen:
        await self.until(lambda: self._is_over(run_id))
        return self.runs[run_id]

    async def _look(self) -> None:
        async with self.pool.connection() as connection:
            # Rows may be committed out of order: read a little further back.
            rows = await (
                await connection.execute(
                    "SELECT id, thread, what, pid FROM journal WHERE id > %s ORDER BY id",
                    (self._newest - 50,),
                )
            ).fetchall()
            waiting = [
                run for run in self._tracked if run not in self.runs or not self._is_over(run)
            ]
            found = await (
                await connection.execute(
                    "SELECT run_id, status, attempt FROM engine.runs WHERE run_id = ANY(%s)",
                    (waiting,),
                )
            ).fetchall()
        for row in rows:
            self._newest = max(self._newest, row["id"])
            self.pids[row["thread"], row["what"]] = row["pid"]
        for row in found:
            self.runs[row["run_id"]] = Seen(row["status"], row["attempt"])

    def _is_over(self, run_id: UUID) -> bool:
        return run_id in self.runs and self.runs[run_id].is_over
