"""Move a tenant from one cell to another, while it is in use.

Its requests wait at the API, its runs are taken from their workers, its rows are copied in one
transaction of the target, and then the source gives it up. At each moment one database may change
its rows, or none; a move that was interrupted anywhere is finished or undone by a second call.

Who decides is the tenant's row in the target: a move holds it locked from before it looks at the
source until the copy is committed, and undoing a move takes the same lock.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg.errors import LockNotAvailable

from bathysphere.core.errors import BathysphereError, CallerError, ConfigError
from bathysphere.engine.audit.recording import OPERATOR, AuditAction, Recorded, record
from bathysphere.engine.cells.arrival import copy_rows, delete_rows, pass_closed_door
from bathysphere.engine.cells.tenants import (
    BETWEEN,
    CellTenants,
    State,
    TenantElsewhere,
    TenantOnItsWay,
    set_state,
)
from bathysphere.engine.database.encryption_keys import check_keys, recorded_keys
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.runs.queue import QUEUE

SETTLE_SECONDS = 1.0
"""After it, every API process knows that the tenant is leaving, and holds its requests."""
_BARRIER_SECONDS = 5.0
_MOVING = "moving"


class TenantHasMoney(CallerError):
    """The tenant has payments in this cell that are not settled."""

    code = "tenant_has_money"


class CellsDiffer(ConfigError):
    """The cells are not of the same version, or do not have the same encryption keys."""

    code = "cells_differ"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell, and a pool of connections to its database."""

    name: str
    pool: Pool


class Moved(NamedTuple):
    """What a move did."""

    threads: int
    rows: int
    seconds: float
    """From the moment at which requests began to wait until the source gave the tenant up."""


async def move_tenant(
    source: Cell, target: Cell, tenant: str, *, settle_seconds: float = SETTLE_SECONDS
) -> Moved:
    """Move a tenant, or finish a move that was interrupted.

    If it fails before the target has the tenant, the source has it again.

    Raises:
        TenantElsewhere: The source does not have the tenant.
        TenantOnItsWay: It is being moved, or was on its way to another cell.
        TenantHasMoney: It has payments that are not settled.
        CellsDiffer: The target could not read its rows.
    """
    loop = asyncio.get_running_loop()
    async with _alone(source, tenant):
        await _check_cells(source, target)
        began = loop.time()
        if await _begin(source, target, tenant):
            await asyncio.sleep(settle_seconds)
        try:
            rows = await _hand_over(source, target, tenant)
        except BaseException:
            await asyncio.shield(_undo(source, target, tenant))
            raise
        threads = await _give_up(source, target, tenant)
        seconds = loop.time() - began
        async with source.pool.connection() as connection:
            await delete_rows(connection, tenant)
    return Moved(threads, rows, seconds)


async def reopen(source: Cell, target: Cell, tenant: str) -> State:
    """Undo a move that was interrupted; return `left` if the target turned out to have the tenant.

    Raises:
        TenantOnItsWay: The move is still going on.
    """
    async with _alone(source, tenant):
        if await _undo(source, target, tenant):
            return "here"
        await _give_up(source, target, tenant)
        async with source.pool.connection() as connection:
            await delete_rows(connection, tenant)
    return "left"


async def _begin(source: Cell, target: Cell, tenant: str) -> bool:
    """Let the tenant's requests wait; return False if the move before had come further."""
    found = await CellTenants(source.pool).find(tenant)
    if found is None and not await _count(source.pool, _THREADS_OR_KEYS, tenant):
        raise TenantElsewhere(
            f"Cell '{source.name}' has no tenant '{tenant}'", hint="see `bathysphere cells list`"
        )
    if found is not None and found.state != "here" and found.other != target.name:
        raise TenantOnItsWay(
            f"Tenant '{tenant}' is {found.state} for cell '{found.other}'",
            hint=f"finish or undo that first: `bathysphere cells reopen` with --to {found.other}",
        )
    if found is not None and found.state in ("moving", "left"):
        return False
    if await _count(source.pool, _UNSETTLED, tenant):
        raise TenantHasMoney(
            f"Tenant '{tenant}' has payments that are not settled",
            hint="let its people close their sessions and collect what goes back",
        )
    async with source.pool.connection() as connection:
        await set_state(connection, tenant, "leaving", other=target.name)
    return True


async def _hand_over(source: Cell, target: Cell, tenant: str) -> int:
    """Close the tenant in the source and copy it; return the number of rows."""
    found = await CellTenants(source.pool).find(tenant)
    if found is not None and found.state in BETWEEN:
        await _close(source, target, tenant)
    async with target.pool.connection() as there, there.transaction():
        if await _decide(there, source, tenant) == "here":
            return 0  # the move before had come as far as this
        async with source.pool.connection() as here:
            await _check_still_moving(here, target, tenant)
            await pass_closed_door(there, tenant)
            await _check_empty(there, target, tenant)
            rows = await copy_rows(here, there, tenant)
        await set_state(there, tenant, "here", other=source.name)
        await _record(there, "tenant.arrived", tenant, {"from": source.name, "rows": rows})
    return rows


async def _close(source: Cell, target: Cell, tenant: str) -> None:
    """Let nobody change the tenant's rows any more, and take its runs from their workers."""
    async with source.pool.connection() as connection:
        async with connection.transaction():
            await pass_closed_door(connection, tenant)
            await set_state(connection, tenant, "moving", other=target.name)
            await _release_runs(connection, tenant)
        await _wait_for_others(connection, tenant)
        # Again: those that were still writing may have added runs.
        async with connection.transaction():
            await pass_closed_door(connection, tenant)
            await _release_runs(connection, tenant)


async def _wait_for_others(connection: Connection, tenant: str) -> None:
    """Wait until every transaction that entered before the tenant was closed is over.

    The lock is tried for and not waited for: whoever came after us would have to wait behind us.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + _BARRIER_SECONDS
    while True:
        row: Any = await (await connection.execute(_BARRIER, (tenant,))).fetchone()
        if row["is_ours"]:
            return
        if loop.time() > ends_at:
            raise TenantOnItsWay(
                f"A transaction of tenant '{tenant}' does not end",
                hint="see `pg_stat_activity` in the source, then move it again",
            )
        await asyncio.sleep(0.01)


async def _release_runs(connection: Connection, tenant: str) -> None:
    """Take runs from their workers, and jobs out of the queue."""
    values = {"tenant": tenant, "queue": _MOVING}
    await connection.execute(_RELEASE, values)
    await connection.execute(_WITHHOLD, values)


async def _give_up(source: Cell, target: Cell, tenant: str) -> int:
    """Let the source send the tenant's requests on; return how many threads it had."""
    found = await CellTenants(source.pool).find(tenant)
    threads = await _count(target.pool, _THREADS, tenant)
    if found is not None and found.state == "left":
        return threads
    async with source.pool.connection() as connection, connection.transaction():
        await set_state(connection, tenant, "left", other=target.name)
        await _record(connection, "tenant.left", tenant, {"to": target.name})
    return threads


async def _undo(source: Cell, target: Cell, tenant: str) -> bool:
    """Give the tenant back to the source; return False if the target has it."""
    async with target.pool.connection() as there, there.transaction():
        if await _decide(there, source, tenant) == "here":
            return False
        async with source.pool.connection() as here, here.transaction():
            await pass_closed_door(here, tenant)
            values = {"tenant": tenant, "queue": QUEUE, "from": _MOVING}
            await here.execute(_REQUEUE, values)
            await set_state(here, tenant, "here", other=None)
            await here.execute(_WAKE, (f"procrastinate_queue_v1#{QUEUE}",))
    return True


async def _decide(there: Connection, source: Cell, tenant: str) -> State:
    """Lock the tenant's row in the target until the transaction ends, and return its state."""
    await there.execute("SET LOCAL lock_timeout = '10s'")
    try:
        cursor = await there.execute(_DECIDE, {"tenant": tenant, "source": source.name})
    except LockNotAvailable as error:
        raise _under_way(tenant) from error
    row: Any = await cursor.fetchone()
    state: State = row["state"]
    return state


async def _check_still_moving(here: Connection, target: Cell, tenant: str) -> None:
    row: Any = await (await here.execute(_STILL_MOVING, (tenant, target.name))).fetchone()
    if row is None:
        raise _under_way(tenant)


async def _check_empty(there: Connection, target: Cell, tenant: str) -> None:
    row: Any = await (await there.execute(_THREADS_OR_KEYS, {"tenant": tenant})).fetchone()
    if row["n"]:
        raise TenantOnItsWay(
            f"Cell '{target.name}' still has rows of tenant '{tenant}'",
            hint="the move from there was interrupted: call it again, it only deletes them",
        )


async def _check_cells(source: Cell, target: Cell) -> None:
    if source.name == target.name:
        raise CallerError("The tenant cannot move to the cell it is in")
    async with source.pool.connection() as here, target.pool.connection() as there:
        if await _migrations(here) != await _migrations(there):
            raise CellsDiffer(
                f"Cells '{source.name}' and '{target.name}' are not of the same version",
                hint="update both to the same release, then move",
            )
        keys = await recorded_keys(here)
        if missing := sorted(set(keys) - set(await recorded_keys(there))):
            raise CellsDiffer(
                f"Cell '{target.name}' does not have encryption key '{missing[0]}'",
                hint="set BATHYSPHERE_ENCRYPTION_KEYS of both cells to the same keys",
            )
        if keys:
            for connection in (here, there):
                await check_keys(connection, source.pool.encryption)


async def _migrations(connection: Connection) -> list[str]:
    rows = await (
        await connection.execute("SELECT name FROM engine.migrations ORDER BY name")
    ).fetchall()
    return [row["name"] for row in rows]


async def _count(pool: Pool, statement: bytes, tenant: str) -> int:
    async with pool.connection() as connection:
        row: Any = await (await connection.execute(statement, {"tenant": tenant})).fetchone()
    return int(row["n"])


async def _record(
    connection: Connection, action: AuditAction, tenant: str, details: dict[str, str | int]
) -> None:
    await record(
        connection, Recorded(action=action, by=OPERATOR, tenant=tenant, details=dict(details))
    )


@asynccontextmanager
async def _alone(source: Cell, tenant: str) -> AsyncIterator[None]:
    """Let one process at a time move a tenant out of a cell."""
    async with source.pool.connection() as connection, connection.transaction():
        row: Any = await (await connection.execute(_ALONE, (tenant,))).fetchone()
        if not row["is_ours"]:
            raise _under_way(tenant)
        yield


def _under_way(tenant: str) -> BathysphereError:
    hint = "wait for it to end; its command may still be running"
    return TenantOnItsWay(f"Tenant '{tenant}' is being moved by another process", hint=hint)


_BARRIER = "SELECT pg_try_advisory_xact_lock(1667591276, hashtext(%s)) AS is_ours"
_ALONE = "SELECT pg_try_advisory_xact_lock(1667591277, hashtext(%s)) AS is_ours"
_DECIDE = """
INSERT INTO engine.cell_tenants AS there (tenant, state, other)
VALUES (%(tenant)s, 'left', %(source)s)
ON CONFLICT (tenant) DO UPDATE SET changed_at = there.changed_at
RETURNING state
"""
_STILL_MOVING = """
SELECT 1 FROM engine.cell_tenants WHERE tenant = %s AND state = 'moving' AND other = %s
"""
_THREADS = b"SELECT count(*) AS n FROM engine.threads WHERE tenant = %(tenant)s"
_THREADS_OR_KEYS = b"""
SELECT (SELECT count(*) FROM engine.threads WHERE tenant = %(tenant)s)
     + (SELECT count(*) FROM identity.api_keys WHERE tenant = %(tenant)s) AS n
"""
_UNSETTLED = b"""
SELECT (SELECT count(*) FROM payments.sessions
         WHERE tenant = %(tenant)s AND status <> 'closed')
     + (SELECT count(*) FROM payments.refunds refund
          JOIN payments.sessions session USING (session_id)
         WHERE session.tenant = %(tenant)s AND refund.status <> 'claimed') AS n
"""
# As when a worker hands a run on: this is no strike.
_RELEASE = """
UPDATE engine.runs
   SET status = 'pending', token = NULL,
       strikes = CASE status WHEN 'running' THEN GREATEST(0, strikes - 1) ELSE strikes END
 WHERE tenant = %(tenant)s AND status IN ('pending', 'running')
"""
_WITHHOLD = """
UPDATE procrastinate_jobs job
   SET queue_name = %(queue)s, status = 'todo', worker_id = NULL, abort_requested = false,
       attempts = job.attempts + CASE job.status WHEN 'doing' THEN 1 ELSE 0 END
  FROM engine.threads thread
 WHERE thread.tenant = %(tenant)s AND job.lock = thread.thread_id::text
   AND job.status IN ('todo', 'doing')
"""
_REQUEUE = """
UPDATE procrastinate_jobs job SET queue_name = %(queue)s
  FROM engine.threads thread
 WHERE thread.tenant = %(tenant)s AND job.lock = thread.thread_id::text
   AND job.queue_name = %(from)s
"""
_WAKE = 'SELECT pg_notify(%s, \'{"type": "job_inserted", "job_id": 0}\')'
