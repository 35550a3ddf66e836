"""Create, find, change and delete schedules. Each is visible only to its owner."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.crons.database_clock import DatabaseClock, read_database_clock
from bathysphere.engine.crons.records import CRON_COLUMNS, Cron, CronOptions, Grant
from bathysphere.engine.crons.schedule import Schedule
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import CronNotFound, InvalidSchedule, ThreadNotFound, TooManyCrons

CronSort = Literal[
    "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at"
]
_COLUMNS: dict[CronSort, str] = {
    "cron_id": "cron_id",
    "assistant_id": "assistant_id",
    "thread_id": "thread_id",
    "next_run_date": "next_run_at",
    "end_time": "end_time",
    "created_at": "created_at",
    "updated_at": "updated_at",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CronLimits:
    """Limits on schedules; None means unlimited."""

    per_tenant: int | None = 100
    min_seconds: float = 60.0
    """Shortest time between two runs."""
    max_bytes: int = 256 * 1024
    """Size of the work of a run: schedules do not count as stored bytes."""
    renewal_seconds: float = 30 * 24 * 3600.0
    """How long a schedule runs that was made without an API key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CronFilter:
    """Which schedules of an owner to find."""

    assistant_id: UUID | None = None
    thread_id: UUID | None = None
    is_enabled: bool | None = None
    metadata: Mapping[str, Any] | None = None


class Crons:
    """The schedules of all owners; each call acts for one of them."""

    def __init__(
        self,
        pool: Pool,
        *,
        limits: CronLimits | None = None,
        clock: DatabaseClock = read_database_clock,
    ) -> None:
        self._pool = pool
        self._limits = limits or CronLimits()
        self._clock = clock

    async def create(
        self, options: CronOptions, *, owner: Owner, grant: Grant, thread_id: UUID | None = None
    ) -> Cron:
        """Create a schedule, on a thread or with a new thread per run.

        Raises:
            ThreadNotFound: The thread does not exist or belongs to another owner.
            InvalidSchedule: It is never due, due too often, or has ended.
            TooManyCrons: The tenant has reached its limit.
        """
        async with self._pool.connection() as connection, connection.transaction():
            now = await self._clock(connection)
            values = self._values(options, grant, now)
            if values["next"] is None:
                raise InvalidSchedule(
                    f"end_time: There is no run until {options.end_time}",
                    hint="choose a later time",
                )
            values |= {"cron": uuid4(), "thread": thread_id}
            values |= {"tenant": owner.tenant, "owner": owner.user}
            await self._check_count(connection, owner)
            row = await (await connection.execute(_INSERT, values)).fetchone()
        if row is None:
            raise ThreadNotFound(f"Thread {thread_id} not found")
        return Cron.from_row(row)

    async def get(self, cron_id: UUID, *, owner: Owner) -> Cron:
        """Return a schedule."""
        async with tenant_connection(self._pool, owner) as connection:
            row = await (
                await connection.execute(
                    f"SELECT {CRON_COLUMNS} FROM engine.crons"  # noqa: S608  # our constant
                    " WHERE cron_id = %s AND tenant = %s AND owner = %s".encode(),
                    (cron_id, owner.tenant, owner.user),
                )
            ).fetchone()
        if row is None:
            raise CronNotFound(f"Cron {cron_id} not found")
        return Cron.from_row(row)

    async def search(
        self,
        wanted: CronFilter,
        *,
        owner: Owner,
        sort_by: CronSort = "created_at",
        is_descending: bool = True,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Cron]:
        """Return the owner's schedules that match."""
        order = f"{_COLUMNS[sort_by]} {'DESC' if is_descending else 'ASC'} NULLS LAST, cron_id"
        query = (
            f"SELECT {CRON_COLUMNS} FROM engine.crons"  # noqa: S608  # our names
            f" WHERE {_WHERE} ORDER BY {order}"
            " LIMIT %(limit)s OFFSET %(offset)s"
        )
        values = {**_filter(wanted, owner), "limit": limit, "offset": offset}
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(query.encode(), values)).fetchall()
        return [Cron.from_row(row) for row in rows]

    async def count(self, wanted: CronFilter, *, owner: Owner) -> int:
        """Count the owner's schedules that match."""
        query = f"SELECT count(*) AS n FROM engine.crons WHERE {_WHERE}"  # noqa: S608  # our names
        async with tenant_connection(self._pool, owner) as connection:
            cursor = await connection.execute(query.encode(), _filter(wanted, owner))
            row: Any = await cursor.fetchone()
        return int(row["n"])

    async def replace(
        self, cron_id: UUID, options: CronOptions, *, owner: Owner, grant: Grant
    ) -> Cron:
        """Replace a schedule's options; it is authorized again, by this request.

        The next run is computed again, from now, only if the times changed.

        Raises:
            CronNotFound: It does not exist or belongs to another owner.
            InvalidSchedule: It is never due, due too often, or has ended.
        """
        async with self._pool.connection() as connection, connection.transaction():
            now = await self._clock(connection)
            values = self._values(options, grant, now)
            values |= {"cron": cron_id, "tenant": owner.tenant, "owner": owner.user}
            row = await (await connection.execute(_UPDATE, values)).fetchone()
        if row is None:
            raise CronNotFound(f"Cron {cron_id} not found")
        return Cron.from_row(row)

    async def delete(self, cron_id: UUID, *, owner: Owner) -> None:
        """Delete a schedule; runs that it has created stay.

        Raises:
            CronNotFound: It does not exist or belongs to another owner.
        """
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "DELETE FROM engine.crons WHERE cron_id = %s AND tenant = %s AND owner = %s",
                (cron_id, owner.tenant, owner.user),
            )
        if not cursor.rowcount:
            raise CronNotFound(f"Cron {cron_id} not found")

    async def delete_of_assistant(self, assistant_id: UUID, *, owner: Owner) -> None:
        """Delete the owner's schedules that run an assistant."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "DELETE FROM engine.crons WHERE assistant_id = %s AND tenant = %s AND owner = %s",
                (assistant_id, owner.tenant, owner.user),
            )

    def _values(self, options: CronOptions, grant: Grant, now: datetime) -> dict[str, Any]:
        if len(dumps(options.payload)) > self._limits.max_bytes:
            raise InvalidSchedule(
                f"input: A schedule may have at most {self._limits.max_bytes} bytes",
                hint="store what is long, and name it in the input",
            )
        return {
            "graph": options.graph,
            "assistant": options.assistant_id,
            "schedule": options.schedule,
            "timezone": options.timezone,
            "end": options.end_time,
            "next": self._first_run(options, now),
            "enabled": options.is_enabled,
            "payload": Jsonb(dict(options.payload)),
            "work": Jsonb(options.work.to_json()),
            "strategy": options.strategy,
            "keeps_thread": options.keeps_thread,
            "metadata": Jsonb(dict(options.metadata)),
            "key": grant.key_id,
            "seconds": self._seconds(grant),
            "now": now,
        }

    def _seconds(self, grant: Grant) -> float | None:
        is_checked_later = grant.key_id is not None or grant.is_unlimited
        return None if is_checked_later else self._limits.renewal_seconds

    def _first_run(self, options: CronOptions, now: datetime) -> datetime | None:
        schedule = Schedule.parse(options.schedule, options.timezone)
        first = schedule.after(now)
        if schedule.shortest_interval(now).total_seconds() < self._limits.min_seconds:
            raise InvalidSchedule(
                f"schedule: {options.schedule!r} is due more often than every"
                f" {self._limits.min_seconds:g} seconds",
                hint="choose a longer interval; the operator sets this limit",
            )
        is_over = options.end_time is not None and first > options.end_time
        return None if is_over else first

    async def _check_count(self, connection: Connection, owner: Owner) -> None:
        if self._limits.per_tenant is None:
            return
        # Concurrent requests of a tenant are counted one after the other.
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"crons:{owner.tenant}",)
        )
        cursor = await connection.execute(
            "SELECT count(*) AS n FROM engine.crons WHERE tenant = %s", (owner.tenant,)
        )
        row: Any = await cursor.fetchone()
        if row["n"] >= self._limits.per_tenant:
            raise TooManyCrons(
                f"This tenant already has {self._limits.per_tenant} schedules",
                hint="delete some; the operator sets this limit",
            )


def _filter(wanted: CronFilter, owner: Owner) -> dict[str, Any]:
    return {
        "tenant": owner.tenant,
        "owner": owner.user,
        "assistant": wanted.assistant_id,
        "thread": wanted.thread_id,
        "enabled": wanted.is_enabled,
        "metadata": Jsonb(dict(wanted.metadata or {})),
    }


_WHERE = """
tenant = %(tenant)s AND owner = %(owner)s
AND (%(assistant)s::uuid IS NULL OR assistant_id = %(assistant)s)
AND (%(thread)s::uuid IS NULL OR thread_id = %(thread)s)
AND (%(enabled)s::boolean IS NULL OR enabled = %(enabled)s)
AND metadata @> %(metadata)s
"""
_INSERT = f"""
INSERT INTO engine.crons
       (cron_id, tenant, owner, thread_id, graph, assistant_id, schedule, timezone, end_time,
        next_run_at, enabled, payload, work, strategy, keeps_thread, metadata, key_id,
        authorized_until, created_at, updated_at)
SELECT %(cron)s, %(tenant)s, %(owner)s, %(thread)s::uuid, %(graph)s, %(assistant)s, %(schedule)s,
       %(timezone)s, %(end)s::timestamptz, %(next)s, %(enabled)s, %(payload)s, %(work)s,
       %(strategy)s, %(keeps_thread)s, %(metadata)s, %(key)s,
       %(now)s + make_interval(secs => %(seconds)s::float), %(now)s, %(now)s
 WHERE %(thread)s::uuid IS NULL OR EXISTS (
       SELECT 1 FROM engine.threads
        WHERE thread_id = %(thread)s AND tenant = %(tenant)s AND owner = %(owner)s)
RETURNING {CRON_COLUMNS}
""".encode()  # noqa: S608  # our own constant
_UPDATE = f"""
UPDATE engine.crons
   SET graph = %(graph)s, assistant_id = %(assistant)s, schedule = %(schedule)s,
       timezone = %(timezone)s, end_time = %(end)s::timestamptz,
       next_run_at = CASE
           WHEN (schedule, timezone, enabled, end_time) IS NOT DISTINCT FROM
                (%(schedule)s::text, %(timezone)s::text, %(enabled)s::boolean,
                 %(end)s::timestamptz)
           THEN next_run_at ELSE %(next)s END,
       enabled = %(enabled)s, disabled_reason = NULL, payload = %(payload)s, work = %(work)s,
       strategy = %(strategy)s, keeps_thread = %(keeps_thread)s,
       metadata = %(metadata)s, key_id = %(key)s,
       authorized_until = %(now)s + make_interval(secs => %(seconds)s::float), updated_at = %(now)s
 WHERE cron_id = %(cron)s AND tenant = %(tenant)s AND owner = %(owner)s
RETURNING {CRON_COLUMNS}
""".encode()  # noqa: S608  # our own constant
