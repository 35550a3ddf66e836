"""Delete what is out of date, by its own `ttl` or by settings: threads, and items of the store."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from uuid import UUID

from bathysphere.engine.database.pool import Pool
from bathysphere.engine.threads import Threads

_log = logging.getLogger(__name__)
_LIMIT = 5000  # found by one scan of the threads
SweepOnce = Callable[[], Awaitable[int]]


async def sweep_periodically(name: str, sweep: SweepOnce, *, every_seconds: float) -> None:
    """Sweep until cancelled; an error is raised, and whoever runs this starts it again."""
    while True:
        if count := await sweep():
            _log.info("Deleted %d expired %s", count, name)
        await asyncio.sleep(every_seconds)


def thread_sweep(
    threads: Threads,
    *,
    minutes: float | None,
    by_tenant: Mapping[str, float | None] | None = None,
) -> SweepOnce:
    """Return a function that deletes the threads whose time is over.

    That is a thread's own time, or for the others so many minutes without use. `by_tenant` has the
    minutes of tenants that differ; None means never.
    """
    return partial(_sweep_threads, threads, minutes, by_tenant or {})


async def _sweep_threads(
    threads: Threads, minutes: float | None, by_tenant: Mapping[str, float | None]
) -> int:
    count = await _repeat(partial(threads.delete_expired, limit=_LIMIT))
    if minutes is not None or any(by_tenant.values()):
        count += await _repeat(
            partial(threads.delete_unused, after_minutes=minutes, by_tenant=by_tenant, limit=_LIMIT)
        )
    return count


async def _repeat(delete: Callable[[], Awaitable[list[UUID]]]) -> int:
    count = 0
    while gone := await delete():
        count += len(gone)
    return count


def item_sweep(pool: Pool) -> SweepOnce:
    """Return a function that deletes the expired items of the store."""
    return partial(_sweep_items, pool)


async def _sweep_items(pool: Pool) -> int:
    async with pool.connection() as connection:
        return (await connection.execute(_EXPIRED_ITEMS)).rowcount


# As LangGraph's store does, which would fail as a whole at an item of a tenant that moves away.
_EXPIRED_ITEMS = """
DELETE FROM store
 WHERE expires_at < now() AND engine.is_tenant_here(engine.tenant_of_prefix(prefix))
"""
