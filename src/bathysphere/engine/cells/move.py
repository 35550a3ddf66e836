"""Move a tenant from one cell to another, while it is in use.

Its requests wait at the API, its runs are taken from their workers, its rows are copied in one
transaction of the target, and then the source gives it up. At each moment one database may change
its rows, or none; a move that was interrupted anywhere is finished or undone by a second call.

Who decides is the target: it records each move that has arrived, in the transaction that copies. A
move holds the tenant's row there locked from before it looks at the source until the copy is
committed, and undoing a move takes the same lock. That a tenant is in the target proves nothing: it
may have come there by another move, or have been admitted there by mistake.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from psycopg.errors import LockNotAvailable

from bathysphere.core.errors import BathysphereError
from bathysphere.engine.audit.recording import OPERATOR, AuditAction, Recorded, record
from bathysphere.engine.cells.arrival import (
    copy_rows,
    delete_rows,
    pass_closed_door,
    table_with_rows,
)
from bathysphere.engine.cells.checks import check_cells, check_free, check_settled, count_rows
from bathysphere.engine.cells.tenants import (
    BETWEEN,
    Cell,
    CellTenants,
    Residence,
    State,
    TenantElsewhere,
    TenantOnItsWay,
    set_state,
)
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.runs.announcements import QUEUE, TELL_ALL

SETTLE_SECONDS = 1.0
"""After it, every API process knows that the tenant is leaving, and holds its requests."""
_BARRIER_SECONDS = 5.0
_EFFECT_SECONDS = 2.0
"""How long calls that change something elsewhere are waited for: their outcome is to move, too."""
_MOVING = "moving"


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
        TenantInSeveralCells: The target says that it has the tenant, too.
        TenantOnItsWay: It is being moved, or was on its way to another cell.
        TenantHasMoney: It has payments that are not settled.
        CellsDiffer: The target could not read its rows.
    """
    loop = asyncio.get_running_loop()
    async with _alone(source, tenant):
        await check_cells(source, target)
        began, rows = loop.time(), 0
        move, state = await _begin(source, target, tenant)
        if state == "leaving":
            await asyncio.sleep(settle_seconds)
        if state != "left":
            try:
                rows = await _hand_over(source, target, tenant, move)
            except BaseException:
                await asyncio.shield(_undo(source, target, tenant, move))
                raise
        threads = await _give_up(source, target, tenant, move)
        seconds = loop.time() - began
        async with source.pool.connection() as connection:
            await delete_rows(connection, tenant)
    return Moved(threads, rows, seconds)


async def reopen(source: Cell, target: Cell, tenant: str) -> State:
    """Undo a move that was interrupted; return `left` if the tenant had arrived in the target.

    Raises:
        TenantElsewhere: The tenant is not on its way from the source.
        TenantOnItsWay: It is on its way to another cell, or the move is still going on.
    """
    async with _alone(source, tenant):
        found = await CellTenants(source.pool).find(tenant)
        move = _move_of(found, target, tenant)
        if found is None or move is None:
            raise TenantElsewhere(
                f"Tenant '{tenant}' is not on its way from cell '{source.name}'",
                hint="see `bathysphere cells list`",
            )
        if found.state != "left" and await _undo(source, target, tenant, move):
            return "here"
        await _give_up(source, target, tenant, move)
        async with source.pool.connection() as connection:
            await delete_rows(connection, tenant)
    return "left"


async def _begin(source: Cell, target: Cell, tenant: str) -> tuple[UUID, State]:
    """Let the tenant's requests wait, or find how far an interrupted move came."""
    found = await CellTenants(source.pool).find(tenant)
    move = _move_of(found, target, tenant)
    if found is not None and move is not None:
        return move, found.state
    is_left = found is not None and found.state != "here"
    if is_left or (found is None and not await count_rows(source.pool, _THREADS_OR_KEYS, tenant)):
        raise TenantElsewhere(
            f"Cell '{source.name}' has no tenant '{tenant}'", hint="see `bathysphere cells list`"
        )
    await _make_room(source, target, tenant)
    await check_settled(source.pool, tenant)
    move = uuid4()
    async with source.pool.connection() as connection:
        await set_state(connection, tenant, "leaving", other=target.name, move=move)
    return move, "leaving"


def _move_of(found: Residence | None, target: Cell, tenant: str) -> UUID | None:
    """The move to the target that the source has begun; None if it has begun none."""
    if found is None or found.state == "here":
        return None
    if found.move is not None and found.other != target.name:
        raise TenantOnItsWay(
            f"Tenant '{tenant}' is {found.state} for cell '{found.other}'",
            hint=f"finish or undo that first: `bathysphere cells reopen` with --to {found.other}",
        )
    return found.move


async def _make_room(source: Cell, target: Cell, tenant: str) -> None:
    """Let the target be a cell that the tenant can arrive in: one that does not say it has it.

    A target that has the tenant by mistake and nothing of it gives it up; one that has something of
    it is for the operator to look at, because a move would delete one of the two.
    """
    async with target.pool.connection() as there, there.transaction():
        row: Any = await (await there.execute(_STATE, (tenant,))).fetchone()
        state: State = row["state"] if row is not None else "left"
        if state == "here" and await table_with_rows(there, tenant) is None:
            await set_state(there, tenant, "left", other=source.name)
        else:
            await check_free(there, target, tenant, state)


async def _hand_over(source: Cell, target: Cell, tenant: str, move: UUID) -> int:
    """Close the tenant in the source and copy it; return the number of rows."""
    found = await CellTenants(source.pool).find(tenant)
    if found is not None and found.state in BETWEEN:
        await _close(source, target, tenant, move)
    async with target.pool.connection() as there, there.transaction():
        state = await _lock(there, source, tenant)
        if await _has_arrived(there, move):
            return 0  # the move before had come as far as this
        async with source.pool.connection() as here:
            await _check_still_moving(here, tenant, move)
            await check_free(there, target, tenant, state)
            await pass_closed_door(there, tenant)
            rows = await copy_rows(here, there, tenant)
        await set_state(there, tenant, "here", other=source.name)
        await there.execute(_ARRIVE, {"move": move, "tenant": tenant, "source": source.name})
        await _record(there, "tenant.arrived", tenant, {"from": source.name, "rows": rows})
    return rows


async def _close(source: Cell, target: Cell, tenant: str, move: UUID) -> None:
    """Let nobody change the tenant's rows any more, and take its runs from their workers."""
    async with source.pool.connection() as connection:
        async with connection.transaction():
            await pass_closed_door(connection, tenant)
            await set_state(connection, tenant, "moving", other=target.name, move=move)
            await _release_runs(connection, tenant)
        await _wait_for_others(connection, tenant)
        # Again: those that were still writing may have added runs.
        async with connection.transaction():
            await pass_closed_door(connection, tenant)
            await _release_runs(connection, tenant)
        await _wait_for_effects(connection, tenant)
    await check_settled(source.pool, tenant)  # again: runs went on, and can open sessions


async def _wait_for_effects(connection: Connection, tenant: str) -> None:
    """Wait a little for calls of released runs that change something elsewhere.

    Their outcome is recorded even after the run was taken away, but only here: the other cell would
    have to ask the person whether it happened.
    """
    loop = asyncio.get_running_loop()
    ends_at = loop.time() + _EFFECT_SECONDS
    while loop.time() < ends_at:
        row: Any = await (await connection.execute(_EFFECTS, (tenant,))).fetchone()
        if not row["n"]:
            return
        await asyncio.sleep(0.02)


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


async def _give_up(source: Cell, target: Cell, tenant: str, move: UUID) -> int:
    """Let the source send the tenant's requests on; return how many threads it had."""
    found = await CellTenants(source.pool).find(tenant)
    threads = await count_rows(target.pool, _THREADS, tenant)
    if found is not None and found.state == "left":
        return threads
    async with source.pool.connection() as connection, connection.transaction():
        await set_state(connection, tenant, "left", other=target.name, move=move)
        await _record(connection, "tenant.left", tenant, {"to": target.name})
    return threads


async def _undo(source: Cell, target: Cell, tenant: str, move: UUID) -> bool:
    """Give the tenant back to the source; return False if it has arrived in the target."""
    async with target.pool.connection() as there, there.transaction():
        await _lock(there, source, tenant)
        if await _has_arrived(there, move):
            return False
        async with source.pool.connection() as here, here.transaction():
            await pass_closed_door(here, tenant)
            values = {"tenant": tenant, "queue": QUEUE, "from": _MOVING}
            await here.execute(_REQUEUE, values)
            await set_state(here, tenant, "here", other=None)
            await here.execute(TELL_ALL)
    return True


async def _lock(there: Connection, source: Cell, tenant: str) -> State:
    """Lock the tenant's row in the target until the transaction ends, and return its state."""
    await there.execute("SET LOCAL lock_timeout = '10s'")
    try:
        cursor = await there.execute(_LOCK, {"tenant": tenant, "source": source.name})
    except LockNotAvailable as error:
        raise _under_way(tenant) from error
    row: Any = await cursor.fetchone()
    state: State = row["state"]
    return state


async def _has_arrived(there: Connection, move: UUID) -> bool:
    return await (await there.execute(_HAS_ARRIVED, (move,))).fetchone() is not None


async def _check_still_moving(here: Connection, tenant: str, move: UUID) -> None:
    if await (await here.execute(_STILL_MOVING, (tenant, move))).fetchone() is None:
        raise _under_way(tenant)


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
_LOCK = """
INSERT INTO engine.cell_tenants AS there (tenant, state, other)
VALUES (%(tenant)s, 'left', %(source)s)
ON CONFLICT (tenant) DO UPDATE SET changed_at = there.changed_at
RETURNING state
"""
_STATE = "SELECT state FROM engine.cell_tenants WHERE tenant = %s FOR UPDATE"
_HAS_ARRIVED = "SELECT 1 FROM engine.cell_arrivals WHERE move = %s"
_ARRIVE = """
INSERT INTO engine.cell_arrivals (move, tenant, source)
VALUES (%(move)s, %(tenant)s, %(source)s)
"""
_STILL_MOVING = """
SELECT 1 FROM engine.cell_tenants WHERE tenant = %s AND state = 'moving' AND move = %s
"""
_EFFECTS = """
SELECT count(*) AS n FROM engine.effects effect JOIN engine.runs run USING (run_id)
 WHERE run.tenant = %s AND run.status = 'pending' AND NOT effect.is_done
"""
_THREADS = b"SELECT count(*) AS n FROM engine.threads WHERE tenant = %(tenant)s"
_THREADS_OR_KEYS = b"""
SELECT (SELECT count(*) FROM engine.threads WHERE tenant = %(tenant)s)
     + (SELECT count(*) FROM identity.api_keys WHERE tenant = %(tenant)s) AS n
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
