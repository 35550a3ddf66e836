"""Which worker is told of a job: one with a free slot, and all if that one cannot take it.

PostgreSQL names the worker (`engine.worker_to_wake`). A worker that is named although it cannot
take what waits tells the others, who were not told.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from procrastinate.jobs import JobInserted
from psycopg import OperationalError

from bathysphere.engine.database.pool import Pool

QUEUE = "runs"
CHANNEL = f"procrastinate_queue_v1#{QUEUE}"
LOOK: JobInserted = {"type": "job_inserted", "job_id": 0}
"""Names nobody: every worker looks."""
TELL_ALL = f"SELECT pg_notify('{CHANNEL}', '{json.dumps(LOOK)}')".encode()
"""Let every worker look for jobs when the transaction is committed."""
_log = logging.getLogger(__name__)


class Announcements:
    """What a worker hears of jobs, and what it tells the others."""

    def __init__(self, pool: Pool) -> None:
        self.worker_id: int | None = None
        self.is_listening = False
        self.slots = 1
        self.running: Callable[[], int] = lambda: 0
        self._pool = pool
        self._is_named = False
        """Whether a job was announced to this worker alone, which it has not looked for yet."""
        self._is_first = False
        """Whether this worker looks without having heard of a job, as perhaps nobody has."""
        self._is_claiming = False
        self._must_tell = False
        self._telling: asyncio.Task[None] | None = None

    def is_for_me(self, notification: dict[str, Any]) -> bool:
        """Whether a notification is for this worker, or for all."""
        named = notification.pop("worker_id", None)
        if named is None:
            return True
        if named != self.worker_id:
            return False
        if self.running() + self._is_claiming < self.slots:
            self._is_named = True
        else:
            self.tell_all()
        return True

    def begin_claim(self, *, is_first: bool) -> bool:
        """Return whether the claim that begins is of what was announced to this worker alone."""
        self._is_first |= is_first
        named, self._is_named, self._is_claiming = self._is_named, False, True
        return named

    def end_claim(self, named: bool, *, found: bool, has_more: bool, held_back: bool) -> None:
        """Tell the others of jobs that this worker leaves, and that nobody told them of."""
        self._is_claiming = False
        if found and has_more and self.running() + 1 < self.slots:
            self._is_named |= named
            return  # the next claim follows at once
        is_alone, self._is_first = named or self._is_first, False
        if (found and has_more and is_alone) or (named and not found and held_back):
            self.tell_all()

    def tell_all(self) -> asyncio.Task[None]:
        """Let every worker look for jobs, soon; return the task that tells them."""
        self._must_tell = True
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell())
        return self._telling

    async def _tell(self) -> None:
        while self._must_tell:
            self._must_tell = False
            try:
                async with self._pool.connection() as connection:
                    await connection.execute(TELL_ALL)
            except OperationalError as error:
                _log.warning("The other workers were not told of waiting runs: %s", error)
