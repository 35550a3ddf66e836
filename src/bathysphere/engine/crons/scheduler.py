"""The scheduler: creates the runs of due schedules, each once, in any number of processes.

A due time is claimed in one transaction, which locks the schedule, inserts the run and moves
`next_run_at` on. A process that dies leaves either both or neither. The time comes from the
database, so clocks of machines do not matter; if the database's own clock is set back, schedules
wait until it reaches `next_run_at` again.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID, uuid5

import psycopg
from psycopg_pool import PoolTimeout

from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.engine.crons.database_clock import DatabaseClock, read_database_clock
from bathysphere.engine.crons.records import CRON_COLUMNS, Cron
from bathysphere.engine.crons.schedule import Schedule
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.errors import InvalidSchedule, ThreadBusy
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.engine.runs.service import Insertion, Runs
from bathysphere.engine.thread_lock import IDLE_TIMEOUT

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulerOptions:
    """Settings of a scheduler."""

    poll_seconds: float = 1.0
    catch_up_seconds: float = 2 * 3600.0
    """How late a run may be created; due times that were missed by more are skipped."""
    retry_seconds: float = 5.0
    """Pause of a schedule whose run was refused, such as by a limit of pending runs."""
    lock_seconds: float = 0.2
    """Pause of a schedule whose thread is locked."""


class TickOutcome(StrEnum):
    """What became of a due time."""

    CREATED = "created"
    SKIPPED = "skipped"
    """Missed for too long, or its thread was busy and the strategy is `reject`."""
    DEFERRED = "deferred"
    DISABLED = "disabled"


@dataclass(slots=True)
class _Claim:
    """A due schedule, locked in the current transaction."""

    cron: Cron
    due_at: datetime
    now: datetime
    refusal: str | None
    """Why it may no longer run; None if it may."""
    insertion: Insertion | None = field(default=None)


class _TryLater(Exception):  # not a failure: the due time stays
    def __init__(self, cron_id: UUID, seconds: float) -> None:
        super().__init__(cron_id)
        self.cron_id, self.seconds = cron_id, seconds


class Scheduler:
    """Creates the runs of due schedules; one per worker process."""

    def __init__(
        self,
        pool: Pool,
        runs: Runs,
        *,
        clock: Clock,
        database_clock: DatabaseClock = read_database_clock,
        options: SchedulerOptions | None = None,
        on_outcome: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._pool = pool
        self._runs = runs
        self._clock = clock
        self._database_clock = database_clock
        self._options = options or SchedulerOptions()
        self._paused: dict[UUID, float] = {}
        self._on_outcome = on_outcome

    async def run(self) -> None:
        """Create runs until cancelled."""
        while True:
            try:
                while await self.tick() is not None:
                    pass
            except (psycopg.Error, PoolTimeout) as error:
                _log.warning("Cannot look for due schedules: %s", error)
            jitter = random.uniform(0.8, 1.2)  # noqa: S311  # spreads the workers' queries
            await asyncio.sleep(self._options.poll_seconds * jitter)

    async def tick(self) -> TickOutcome | None:
        """Handle one due time; return None if nothing is due."""
        try:
            async with self._pool.connection() as connection, connection.transaction():
                claim = await self._claim(connection)
                if claim is None:
                    return None
                outcome = await self._handle(connection, claim)
        except _TryLater as later:
            self._paused[later.cron_id] = self._clock.monotonic() + later.seconds
            outcome = TickOutcome.DEFERRED
        else:
            if claim.insertion is not None:
                await self._runs.announce(claim.insertion)
        self._on_outcome(outcome)
        return outcome

    async def _claim(self, connection: Connection) -> _Claim | None:
        now = await self._database_clock(connection)
        monotonic = self._clock.monotonic()
        self._paused = {cron: at for cron, at in self._paused.items() if at > monotonic}
        values = {"now": now, "paused": list(self._paused)}
        row = await (await connection.execute(_DUE, values)).fetchone()
        if row is None:
            return None
        claim = _Claim(Cron.from_row(row), row["next_run_at"], now, _refusal(row))
        await self._lock_thread(connection, claim.cron)
        return claim

    async def _lock_thread(self, connection: Connection, cron: Cron) -> None:
        """Lock the thread, without waiting.

        Everyone else locks a thread before what belongs to it. Waiting here, with the schedule
        locked, could be a deadlock with a deletion of the thread.
        """
        if cron.thread_id is None:
            return
        cursor = await connection.execute(
            "SELECT 1 FROM engine.threads WHERE thread_id = %s FOR NO KEY UPDATE SKIP LOCKED",
            (cron.thread_id,),
        )
        if await cursor.fetchone() is None:
            raise _TryLater(cron.cron_id, self._options.lock_seconds)

    async def _handle(self, connection: Connection, claim: _Claim) -> TickOutcome:
        cron, schedule = claim.cron, _schedule_of(claim.cron)
        if claim.refusal is not None or schedule is None:
            reason = claim.refusal or "invalid_schedule"
            _log.warning("Disabled schedule %s: %s", cron.cron_id, reason)
            await connection.execute(_DISABLE, {"cron": cron.cron_id, "reason": reason})
            return TickOutcome.DISABLED
        oldest = claim.now - timedelta(seconds=self._options.catch_up_seconds)
        if claim.due_at < oldest:
            _log.warning("Schedule %s missed its runs since %s", cron.cron_id, claim.due_at)
            await self._advance(connection, cron, _following(schedule, oldest))
            return TickOutcome.SKIPPED
        outcome = await self._create_run(connection, claim)
        await self._advance(connection, cron, _following(schedule, claim.due_at))
        return outcome

    async def _create_run(self, connection: Connection, claim: _Claim) -> TickOutcome:
        cron = claim.cron
        try:
            async with connection.transaction():  # a savepoint: the schedule stays locked
                claim.insertion = await self._runs.create_within(
                    connection, new_run(cron, claim.due_at), owner=cron.owner
                )
        except psycopg.errors.UniqueViolation:
            return TickOutcome.SKIPPED  # the run exists: its schedule was set back by hand
        except ThreadBusy:
            _log.info("Schedule %s skipped a run: its thread is busy", cron.cron_id)
            return TickOutcome.SKIPPED
        except CallerError as error:
            _log.warning("Schedule %s waits: %s", cron.cron_id, error.code)
            raise _TryLater(cron.cron_id, self._options.retry_seconds) from error
        return TickOutcome.CREATED if claim.insertion.is_new else TickOutcome.SKIPPED

    async def _advance(
        self, connection: Connection, cron: Cron, following: datetime | None
    ) -> None:
        end = cron.options.end_time
        if following is not None and end is not None and following > end:
            following = None
        await connection.execute(_ADVANCE, {"cron": cron.cron_id, "next": following})


def new_run(cron: Cron, due_at: datetime) -> NewRun:
    """The run of a due time; its id is derived from both."""
    run_id = uuid5(cron.cron_id, due_at.isoformat())
    options = cron.options
    metadata = {**options.work.metadata, "cron_id": str(cron.cron_id)}
    return NewRun(
        # A thread of its own has the run's id, so that the same due time has the same thread.
        thread_id=cron.thread_id or run_id,
        graph=options.graph,
        work=replace(options.work, metadata=metadata),
        strategy=options.strategy,
        run_id=run_id,
        creates_thread=cron.thread_id is None,
        deletes_thread=cron.thread_id is None and not options.keeps_thread,
        thread_metadata={"graph_id": options.graph, "assistant_id": str(options.assistant_id)},
    )


def _refusal(row: Mapping[str, Any]) -> str | None:
    if not row["has_key"]:
        return "api_key_ended"
    return None if row["is_authorized"] else "authorization_expired"


def _schedule_of(cron: Cron) -> Schedule | None:
    try:
        return Schedule.parse(cron.options.schedule, cron.options.timezone)
    except InvalidSchedule:  # such as a time zone that this machine does not know
        return None


def _following(schedule: Schedule, moment: datetime) -> datetime | None:
    try:
        return schedule.after(moment)
    except InvalidSchedule:
        return None


_CRON_COLUMNS = ", ".join(f"cron.{name}" for name in CRON_COLUMNS.split(", "))
# A scheduler that is paused must not keep its lock.
_DUE = f"""
SELECT {_CRON_COLUMNS}, {IDLE_TIMEOUT},
       cron.key_id IS NULL OR EXISTS (
           SELECT 1 FROM identity.api_keys key
            WHERE key.key_id = cron.key_id
              AND key.tenant = cron.tenant AND key.owner = cron.owner
              AND key.revoked_at IS NULL
              AND (key.expires_at IS NULL OR key.expires_at > %(now)s)) AS has_key,
       cron.authorized_until IS NULL OR cron.authorized_until > %(now)s AS is_authorized
  FROM engine.crons cron
 WHERE cron.enabled AND cron.next_run_at <= %(now)s AND cron.cron_id <> ALL(%(paused)s::uuid[])
   AND engine.is_tenant_here(cron.tenant)
 ORDER BY cron.next_run_at LIMIT 1
   FOR UPDATE OF cron SKIP LOCKED
""".encode()  # noqa: S608  # our own constant
_ADVANCE = "UPDATE engine.crons SET next_run_at = %(next)s WHERE cron_id = %(cron)s"
_DISABLE = """
UPDATE engine.crons SET enabled = false, disabled_reason = %(reason)s WHERE cron_id = %(cron)s
"""
