"""Delete what a project's `ttl` settings say is out of date: threads, and items of the store."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from langgraph.store.base import BaseStore

from bathysphere.engine.threads import Threads

_log = logging.getLogger(__name__)
_BATCH = 100
SweepOnce = Callable[[], Awaitable[int]]


async def sweep_periodically(name: str, sweep: SweepOnce, *, every_seconds: float) -> None:
    """Sweep until cancelled; an error is raised, and whoever runs this starts it again."""
    while True:
        if count := await sweep():
            _log.info("Deleted %d expired %s", count, name)
        await asyncio.sleep(every_seconds)


def thread_sweep(threads: Threads, *, minutes: float) -> SweepOnce:
    """Return a function that deletes the threads that nobody has used for so many minutes."""
    return partial(_sweep_threads, threads, minutes)


async def _sweep_threads(threads: Threads, minutes: float) -> int:
    count = 0
    while gone := await threads.delete_unused(after_minutes=minutes, limit=_BATCH):
        count += len(gone)
    return count


def item_sweep(store: BaseStore) -> SweepOnce:
    """Return a function that deletes the expired items of a PostgreSQL store."""
    sweep: SweepOnce = store.sweep_ttl  # type: ignore[attr-defined]
    return sweep
