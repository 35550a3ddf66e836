"""Which tenants live in this database, and which are leaving it or have left."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

from bathysphere.core.errors import BathysphereError, CallerError
from bathysphere.engine.database.pool import Connection, Pool

State = Literal["here", "leaving", "moving", "left"]
BETWEEN: frozenset[State] = frozenset({"leaving", "moving"})
"""The states of a tenant on its way, during which its requests wait."""
CLOSED = "BC001"
"""SQLSTATE of a refused write: the tenant is closed in this database."""


class TenantElsewhere(CallerError):
    """Another cell has the tenant, or none has been chosen for it yet."""

    code = "tenant_elsewhere"


class TenantInSeveralCells(BathysphereError):
    """Two cells say that they have the tenant."""

    code = "tenant_in_several_cells"


class TenantOnItsWay(BathysphereError):
    """The tenant is moving, or has moved, so that the command cannot do this."""

    code = "tenant_on_its_way"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """A cell, and a pool of connections to its database."""

    name: str
    pool: Pool


class Residence(NamedTuple):
    """Where a tenant is, as its row in a cell's database says."""

    state: State
    other: str | None
    """The cell that it moves to, or came from."""
    move: UUID | None = None
    """The move by which it leaves, or has left."""


class CellTenants:
    """The tenants of one cell."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def all(self) -> Mapping[str, Residence]:
        """Every tenant that has a row, in the order of their names."""
        return await self._read(_SELECT, ())

    async def find(self, tenant: str) -> Residence | None:
        """Where the tenant is; None if this database knows nothing of it."""
        found = await self._read(f"{_SELECT} WHERE tenant = %s", (tenant,))
        return found.get(tenant)

    async def away(self, *, left_within_seconds: float) -> Mapping[str, Residence]:
        """The tenants that are on their way, or have left lately: few, or none."""
        return await self._read(_AWAY, (left_within_seconds,))

    async def admit(self, tenant: str) -> bool:
        """Let a tenant live here that is in no cell yet; return whether it is here now."""
        async with self._pool.connection() as connection:
            await connection.execute(_ADMIT, (tenant,))
        found = await self.find(tenant)
        return found is not None and found.state == "here"

    async def admit_all(self) -> int:
        """Let every tenant live here that has something here and no row; return how many."""
        async with self._pool.connection() as connection:
            return (await connection.execute(_ADMIT_ALL)).rowcount

    async def _read(self, statement: str, values: tuple[object, ...]) -> dict[str, Residence]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(f"{statement} ORDER BY tenant".encode(), values)
            rows = await cursor.fetchall()
        return {row["tenant"]: Residence(row["state"], row["other"], row["move"]) for row in rows}


async def set_state(
    connection: Connection,
    tenant: str,
    state: State,
    *,
    other: str | None,
    move: UUID | None = None,
) -> None:
    """Set the tenant's state, in the caller's transaction if it has one."""
    values = {"tenant": tenant, "state": state, "other": other, "move": move}
    await connection.execute(_SET, values)


_SELECT = "SELECT tenant, state, other, move FROM engine.cell_tenants"
_AWAY = f"""
{_SELECT} WHERE state IN ('leaving', 'moving')
UNION ALL
{_SELECT} WHERE state = 'left' AND changed_at > now() - make_interval(secs => %s)
"""
_ADMIT = """
INSERT INTO engine.cell_tenants (tenant, state) VALUES (%s, 'here') ON CONFLICT DO NOTHING
"""
_ADMIT_ALL = """
INSERT INTO engine.cell_tenants (tenant, state)
SELECT tenant, 'here' FROM engine.threads UNION SELECT tenant, 'here' FROM identity.api_keys
ON CONFLICT DO NOTHING
"""
_SET = """
INSERT INTO engine.cell_tenants (tenant, state, other, move)
VALUES (%(tenant)s, %(state)s, %(other)s, %(move)s)
ON CONFLICT (tenant) DO UPDATE
   SET state = EXCLUDED.state, other = EXCLUDED.other, move = EXCLUDED.move,
       changed_at = clock_timestamp()
"""
