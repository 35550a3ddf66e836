"""What must be so before a tenant can move."""

from typing import Any

from bathysphere.core.errors import CallerError, ConfigError
from bathysphere.engine.cells.arrival import table_with_rows
from bathysphere.engine.cells.tenants import Cell, State, TenantInSeveralCells, TenantOnItsWay
from bathysphere.engine.database.encryption_keys import check_keys, recorded_keys
from bathysphere.engine.database.pool import Connection, Pool


class TenantHasMoney(CallerError):
    """The tenant has payments in this cell that are not settled."""

    code = "tenant_has_money"


class CellsDiffer(ConfigError):
    """The cells are not of the same version, or do not have the same encryption keys."""

    code = "cells_differ"


async def check_cells(source: Cell, target: Cell) -> None:
    """Check that the target could read the rows of the source."""
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


async def check_free(there: Connection, target: Cell, tenant: str, state: State) -> None:
    """Check that the target neither says that it has the tenant, nor has rows of it."""
    table = await table_with_rows(there, tenant)
    if state != "left":
        raise TenantInSeveralCells(
            f"Cell '{target.name}' says that it has tenant '{tenant}', too",
            hint=f"look which of the two is in use; this one has rows in {table or 'no table'}",
        )
    if table is not None:
        raise TenantOnItsWay(
            f"Cell '{target.name}' still has rows of tenant '{tenant}', in {table}",
            hint="if a move from there was interrupted, call it again: it only deletes them",
        )


async def check_settled(pool: Pool, tenant: str) -> None:
    """Check that nobody's money would be left behind."""
    if await count_rows(pool, _UNSETTLED, tenant):
        raise TenantHasMoney(
            f"Tenant '{tenant}' has payments that are not settled",
            hint="let its people close their sessions and collect what goes back",
        )


async def count_rows(pool: Pool, statement: bytes, tenant: str) -> int:
    """Return the `n` that a statement selects for the tenant."""
    async with pool.connection() as connection:
        row: Any = await (await connection.execute(statement, {"tenant": tenant})).fetchone()
    return int(row["n"])


_UNSETTLED = b"""
SELECT (SELECT count(*) FROM payments.sessions
         WHERE tenant = %(tenant)s AND status <> 'closed')
     + (SELECT count(*) FROM payments.refunds refund
          JOIN payments.sessions session USING (session_id)
         WHERE session.tenant = %(tenant)s AND refund.status <> 'claimed') AS n
"""
