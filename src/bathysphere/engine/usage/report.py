"""Reports of usage: by day, model, user or tenant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.database.tenant_reads import tenant_connection

OwnGrouping = Literal["day", "model"]
Grouping = Literal["day", "model", "user", "tenant"]


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageLine:
    """What the runs of one day, model, user or tenant used; or all of them."""

    key: str | None = None
    """None for the sum, and for what belongs to no model."""
    runs: int = 0
    model_calls: int = 0
    estimated_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    costs: Mapping[str, Decimal] = field(default_factory=dict)
    """By currency, of the models that have a price."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UsageReport:
    """Lines in the order of their keys, and their sum."""

    lines: tuple[UsageLine, ...]
    total: UsageLine


class UsageReports:
    """Reads the usage of runs, of those that go on included."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def own(
        self, owner: Owner, *, since: datetime, until: datetime, by: OwnGrouping
    ) -> UsageReport:
        """The usage of one user."""
        values = {
            "tenant": owner.tenant,
            "owner": owner.user,
            "since": since,
            "until": until,
        }
        where = "tenant = %(tenant)s AND owner = %(owner)s"
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_statement(by, where), values)).fetchall()
        return _report(rows)

    async def all(
        self,
        *,
        since: datetime,
        until: datetime,
        by: Grouping,
        tenant: str | None = None,
        user: str | None = None,
    ) -> UsageReport:
        """The usage of everybody, or of a tenant or user; for operators."""
        values = {"of_tenant": tenant, "of_user": user, "since": since, "until": until}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_statement(by, _CHOSEN), values)).fetchall()
        return _report(rows)


def _report(rows: Sequence[Mapping[str, Any]]) -> UsageReport:
    costs: dict[tuple[bool, str], dict[str, Decimal]] = {}
    for row in rows:
        if not row["is_all_currencies"] and row["cost"] is not None:
            of = costs.setdefault((row["is_total"], row["key"]), {})
            of[row["currency"]] = row["cost"].normalize()
    sums = [row for row in rows if row["is_all_currencies"]]
    lines = [_line(row, costs) for row in sums if not row["is_total"]]
    total = next((_line(row, costs) for row in sums if row["is_total"]), UsageLine())
    return UsageReport(lines=tuple(lines), total=total)


def _line(
    row: Mapping[str, Any], costs: Mapping[tuple[bool, str], Mapping[str, Decimal]]
) -> UsageLine:
    return UsageLine(
        key=row["key"] or None,
        runs=row["runs"],
        model_calls=int(row["model_calls"] or 0),
        estimated_calls=int(row["estimated_calls"] or 0),
        input_tokens=int(row["input_tokens"] or 0),
        output_tokens=int(row["output_tokens"] or 0),
        tool_calls=int(row["tool_calls"] or 0),
        seconds=float(row["seconds"] or 0.0),
        costs=costs.get((row["is_total"], row["key"]), {}),
    )


_KEYS: dict[Grouping, str] = {
    "day": "to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    "model": "model",
    "user": "tenant || '/' || owner",
    "tenant": "tenant",
}
_CHOSEN = (
    "(%(of_tenant)s::text IS NULL OR tenant = %(of_tenant)s::text)"
    " AND (%(of_user)s::text IS NULL OR owner = %(of_user)s::text)"
)


def _statement(by: Grouping, where: str) -> bytes:
    """What a run used counts when it ends; what it uses now, when its calls began."""
    return f"""
    WITH used AS (
    SELECT run_id, tenant, owner, model, currency, model_calls, estimated_calls, input_tokens,
           output_tokens, tool_calls, seconds, cost, finished_at AS at
      FROM engine.usage
     WHERE {where} AND finished_at >= %(since)s AND finished_at < %(until)s
    UNION ALL
    SELECT run_id, tenant, owner, part.model, part.currency, part.calls, part.estimated,
           part.input, part.output, part.tools, part.seconds, part.cost, started_at
      FROM engine.model_calls call, LATERAL (VALUES
           (call.model, call.currency, 1, call.is_estimated::int, call.input_tokens,
            call.output_tokens, 0, 0::double precision, call.cost),
           ('', '', 0, 0, 0, 0, call.tool_calls, call.seconds, NULL)
           ) AS part (model, currency, calls, estimated, input, output, tools, seconds, cost)
     WHERE {where} AND started_at >= %(since)s AND started_at < %(until)s
    ), keyed AS (
    SELECT {_KEYS[by]} AS key, run_id, currency, model_calls, estimated_calls, input_tokens,
           output_tokens, tool_calls, seconds, cost
      FROM used
    )
    SELECT key, currency, grouping(key) = 1 AS is_total,
           grouping(currency) = 1 AS is_all_currencies,
           count(DISTINCT run_id) AS runs, sum(model_calls) AS model_calls,
           sum(estimated_calls) AS estimated_calls, sum(input_tokens) AS input_tokens,
           sum(output_tokens) AS output_tokens, sum(tool_calls) AS tool_calls,
           sum(seconds) AS seconds, sum(cost) AS cost
      FROM keyed
     GROUP BY GROUPING SETS ((key, currency), (key), (currency), ())
     ORDER BY key
    """.encode()  # noqa: S608  # our own constants


def plain_sum(line: UsageLine) -> dict[str, Any]:
    """A line without its key, as JSON."""
    return {
        "runs": line.runs,
        "model_calls": line.model_calls,
        "estimated_calls": line.estimated_calls,
        "input_tokens": line.input_tokens,
        "output_tokens": line.output_tokens,
        "tool_calls": line.tool_calls,
        "seconds": round(line.seconds, 3),
        "costs": {currency: format(cost, "f") for currency, cost in line.costs.items()},
    }
