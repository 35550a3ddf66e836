"""Budgets per month, of users and tenants: kept by operators, checked before runs and model calls.

Usage is read again after some seconds, per process, so a budget can be exceeded by what its runs
use in that time and by the calls that are under way then.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from bathysphere.core.budgets import TOKENS, SpentBudget
from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.engine.audit.chain import Details
from bathysphere.engine.audit.recording import OPERATOR, Actor, AuditAction, Recorded, record
from bathysphere.engine.database.pool import CONNECTION_ERRORS, Connection, Pool

_log = logging.getLogger(__name__)
FRESH_SECONDS = 5.0
_MOST_KNOWN = 10_000
_Scope = Literal["user", "tenant"]


class Budget(NamedTuple):
    """What a tenant, or one user of it, may use per month."""

    tenant: str
    user: str
    """Empty for the whole tenant."""
    unit: str
    amount: Decimal


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetDefaults:
    """Tokens per month of those who have no budget of their own; None means unlimited."""

    user_tokens: int | None = None
    tenant_tokens: int | None = None


class Budgets:
    """The budgets of all tenants."""

    def __init__(
        self,
        pool: Pool,
        *,
        clock: Clock,
        defaults: BudgetDefaults | None = None,
        fresh_seconds: float = FRESH_SECONDS,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._defaults = defaults or BudgetDefaults()
        self._fresh_seconds = fresh_seconds
        self._stored: tuple[float, dict[tuple[str, str], dict[str, Decimal]]] | None = None
        self._known: dict[Owner, tuple[float, SpentBudget | None]] = {}

    async def set(self, budget: Budget, *, by: Actor = OPERATOR) -> None:
        """Set a budget, or change it."""
        details = {"amount": format(budget.amount, "f")}
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(_SET, budget)
            await _record(connection, "budget.set", budget[:3], by, details)

    async def remove(self, tenant: str, user: str, unit: str, *, by: Actor = OPERATOR) -> bool:
        """Remove a budget; return whether there was one."""
        key = (tenant, user, unit)
        async with self._pool.connection() as connection, connection.transaction():
            cursor = await connection.execute(_REMOVE, key)
            if cursor.rowcount:
                await _record(connection, "budget.removed", key, by, {})
        return bool(cursor.rowcount)

    async def list(self) -> list[Budget]:
        """All budgets that were set."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_LIST)).fetchall()
        return [Budget(row["tenant"], row["owner"], row["unit"], row["amount"]) for row in rows]

    async def spent(self, owner: Owner) -> SpentBudget | None:
        """The owner's budget that is used up, the user's own first.

        Nobody is stopped because usage cannot be read: what is stored needs PostgreSQL anyway.
        """
        now = self._clock.monotonic()
        known = self._known.get(owner)
        if known is not None and now - known[0] < self._fresh_seconds:
            return known[1]
        try:
            found = await self._read(owner, now)
        except CONNECTION_ERRORS as error:
            _log.warning("Budgets cannot be checked: %s", error)
            return None
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[owner] = (now, found)
        return found

    async def _read(self, owner: Owner, now: float) -> SpentBudget | None:
        limits = await self._limits(owner, now)
        if not any(limits.values()):
            return None
        values = {
            "tenant": owner.tenant,
            "owner": owner.user,
            "is_own": not limits["tenant"],
        }
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_USED, values)).fetchall()
        for scope, amounts in limits.items():
            used = _used(rows, scope)
            for unit, amount in amounts.items():
                if used.get(unit, Decimal(0)) >= amount:
                    return SpentBudget(scope, amount, unit)
        return None

    async def _limits(self, owner: Owner, now: float) -> dict[_Scope, dict[str, Decimal]]:
        if self._stored is None or now - self._stored[0] >= self._fresh_seconds:
            self._stored = (now, _by_owner(await self.list()))
        stored = self._stored[1]
        own = stored.get((owner.tenant, owner.user), {})
        whole = stored.get((owner.tenant, ""), {})
        return {
            "user": _with_default(own, self._defaults.user_tokens),
            "tenant": _with_default(whole, self._defaults.tenant_tokens),
        }


async def _record(
    connection: Connection,
    action: AuditAction,
    key: tuple[str, str, str],
    by: Actor,
    details: Details,
) -> None:
    tenant, user, unit = key
    done = Recorded(action=action, by=by, tenant=tenant, user=user, subject=unit, details=details)
    await record(connection, done)


def _with_default(amounts: Mapping[str, Decimal], tokens: int | None) -> dict[str, Decimal]:
    return {**({} if tokens is None else {TOKENS: Decimal(tokens)}), **amounts}


def _by_owner(budgets: Iterable[Budget]) -> dict[tuple[str, str], dict[str, Decimal]]:
    found: dict[tuple[str, str], dict[str, Decimal]] = {}
    for each in budgets:
        found.setdefault((each.tenant, each.user), {})[each.unit] = each.amount
    return found


def _used(rows: Iterable[Mapping[str, Any]], scope: _Scope) -> dict[str, Decimal]:
    """What was used, by unit."""
    found = {TOKENS: Decimal(0)}
    for row in rows:
        found[TOKENS] += row[f"{scope}_tokens"] or 0
        if row["currency"]:
            found[row["currency"]] = row[f"{scope}_cost"] or Decimal(0)
    return found


_SET = """
INSERT INTO engine.budgets (tenant, owner, unit, amount) VALUES (%s, %s, %s, %s)
ON CONFLICT (tenant, owner, unit) DO UPDATE SET amount = EXCLUDED.amount
"""
_REMOVE = "DELETE FROM engine.budgets WHERE tenant = %s AND owner = %s AND unit = %s"
_LIST = "SELECT tenant, owner, unit, amount FROM engine.budgets ORDER BY tenant, owner, unit"
# Without a budget of the tenant only the user's own rows are read.
_USED = """
WITH month AS (
SELECT date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' AS start
), used AS (
SELECT owner, currency, input_tokens + output_tokens AS tokens, cost
  FROM engine.usage, month
 WHERE tenant = %(tenant)s AND finished_at >= month.start
   AND (NOT %(is_own)s OR owner = %(owner)s)
UNION ALL
SELECT owner, currency, input_tokens + output_tokens, cost
  FROM engine.model_calls, month
 WHERE tenant = %(tenant)s AND started_at >= month.start
   AND (NOT %(is_own)s OR owner = %(owner)s)
)
SELECT currency, sum(tokens) AS tenant_tokens, sum(cost) AS tenant_cost,
       sum(tokens) FILTER (WHERE owner = %(owner)s) AS user_tokens,
       sum(cost) FILTER (WHERE owner = %(owner)s) AS user_cost
  FROM used GROUP BY currency
"""
