"""Runs, as those who ask for them see them: create, look up, cancel.

Every decision about a thread's runs is taken under a lock on the thread's row, so ten requests at
once are ten requests one after the other. Creating is idempotent by run id.
"""

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from bathysphere.core.clock import Clock, SystemClock
from bathysphere.core.errors import UpstreamError
from bathysphere.engine.database import Connection, Pool
from bathysphere.engine.errors import RunIdTaken, RunNotFound, ThreadBusy, ThreadNotFound
from bathysphere.engine.events import Event, EventLog
from bathysphere.engine.holding import HELD, lock_thread, settle_thread
from bathysphere.engine.queue import Queue, queued
from bathysphere.engine.records import CancelAction, Owner, Run, RunStatus, Strategy, Work
from bathysphere.engine.rollback import give_back, roll_back
from bathysphere.tenancy.quota import Quota, Usage, check

RunQuota = Callable[[str], int | None]
"""How many runs a tenant may have that wait or run; None is any number."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    """A request for a run; the run id may be the client's, so that it can ask twice."""

    thread_id: UUID
    graph: str
    work: Work
    strategy: Strategy = "enqueue"
    run_id: UUID = field(default_factory=uuid4)
    creates_thread: bool = True


@dataclass(frozen=True, slots=True)
class _Ended:
    """A run that ended here and not in a worker."""

    run: Run
    error: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Way:
    """What was stopped for a new run, and the runs whose answers it takes over."""

    ended: list[_Ended] = field(default_factory=list)
    answers_of: list[UUID] = field(default_factory=list)


class Created(NamedTuple):
    """A run, and whether this request made it."""

    run: Run
    is_new: bool


class Runs:
    """The runs of all threads."""

    def __init__(
        self,
        pool: Pool,
        queue: Queue,
        *,
        log: EventLog | None = None,
        clock: Clock | None = None,
        quota: RunQuota | None = None,
    ) -> None:
        self._quota = quota
        self._pool = pool
        self._queue = queue
        self._log = log
        self._clock = clock or SystemClock()

    async def create(self, new: NewRun, *, owner: Owner) -> Created:
        """Put a run on a thread, as its strategy says when the thread already has one.

        Raises:
            ThreadNotFound: The thread is missing, or is not this owner's.
            ThreadBusy: The thread has a run and the strategy is `reject`.
            RunIdTaken: The run id names a run of another thread or owner.
        """
        try:
            async with self._pool.connection() as connection, connection.transaction():
                created, ended = await self._create(connection, new, owner)
        except UniqueViolation:
            return Created(await self._asked_before(new, owner), is_new=False)
        await self._announce(ended)
        return created

    async def enqueue(self, connection: Connection, new: NewRun, *, owner: Owner) -> Run:
        """Put a run behind the thread's others, within the caller's transaction."""
        behind = replace(new, strategy="enqueue")
        created, _ = await self._create(connection, behind, owner)
        return created.run

    async def _create(
        self, connection: Connection, new: NewRun, owner: Owner
    ) -> tuple[Created, list[_Ended]]:
        await _occupy(connection, new, owner)
        way = _Way()
        if new.strategy != "enqueue":
            # Asked a second time, it must not make way for itself.
            if (known := await self._known(connection, new, owner)) is not None:
                await settle_thread(connection, new.thread_id)
                return Created(known, is_new=False), []
            way = await self._make_way(connection, new)
        await self._check_quota(connection, owner)
        run = await _insert(connection, new, owner, inherits=way.answers_of)
        return Created(run, is_new=True), way.ended

    async def _asked_before(self, new: NewRun, owner: Owner) -> Run:
        async with self._pool.connection() as connection:
            known = await self._known(connection, new, owner)
        if known is None:
            raise RunIdTaken(f"run id {new.run_id} is in use", hint="send a fresh run id")
        return known

    async def _check_quota(self, connection: Connection, owner: Owner) -> None:
        most = self._quota(owner.tenant) if self._quota is not None else None
        if most is None:
            return
        # Requests of one tenant at once are counted one after the other.
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"runs:{owner.tenant}",)
        )
        row = await (
            await connection.execute(
                "SELECT count(*) AS n FROM engine.runs"
                " WHERE tenant = %s AND status IN ('pending', 'running')",
                (owner.tenant,),
            )
        ).fetchone()
        check(Quota(runs=most), Usage(runs=int(row["n"]) if row else 0), Usage(runs=1))

    async def get(self, run_id: UUID, *, owner: Owner) -> Run:
        """One run."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT * FROM engine.runs WHERE run_id = %s AND tenant = %s AND owner = %s",
                    (run_id, owner.tenant, owner.user),
                )
            ).fetchone()
        if row is None:
            raise RunNotFound(f"no run {run_id}")
        return Run.from_row(row)

    async def of_thread(
        self, thread_id: UUID, *, owner: Owner, limit: int = 100, offset: int = 0
    ) -> list[Run]:
        """A thread's runs, newest first."""
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute(
                    "SELECT * FROM engine.runs"
                    " WHERE thread_id = %s AND tenant = %s AND owner = %s"
                    " ORDER BY seq DESC LIMIT %s OFFSET %s",
                    (thread_id, owner.tenant, owner.user, limit, offset),
                )
            ).fetchall()
        return [Run.from_row(row) for row in rows]

    async def cancel(
        self, run_id: UUID, *, owner: Owner, action: CancelAction = "interrupt"
    ) -> RunStatus:
        """Stop a run, keeping what it did or undoing it; return the status it has now.

        A run that waits ends at once. One that runs is asked to stop and ends soon after; one that
        is over stays as it is.
        """
        thread_id = (await self.get(run_id, owner=owner)).thread_id
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            active = await self.active(connection, thread_id)
            mine = [run for run in active if run.run_id == run_id]
            ended = await self._stop(connection, mine, action, error=CANCELLED)
            await settle_thread(connection, thread_id)
        await self._announce(ended)
        return (await self.get(run_id, owner=owner)).status

    async def _known(self, connection: Connection, new: NewRun, owner: Owner) -> Run | None:
        row = await (
            await connection.execute("SELECT * FROM engine.runs WHERE run_id = %s", (new.run_id,))
        ).fetchone()
        if row is None:
            return None
        run = Run.from_row(row)
        if (run.owner, run.thread_id) != (owner, new.thread_id):
            raise RunIdTaken(f"run id {new.run_id} is in use", hint="send a fresh run id")
        return run

    async def _make_way(self, connection: Connection, new: NewRun) -> _Way:
        active = await self.active(connection, new.thread_id)
        if active and new.strategy == "reject":
            raise ThreadBusy(
                f"thread {new.thread_id} has a run",
                hint="wait for it, or send the strategy enqueue, interrupt or rollback",
            )
        action: CancelAction = "rollback" if new.strategy == "rollback" else "interrupt"
        ended = await self._stop(connection, active, action, error=REPLACED)
        # What a rolled back run has done with its answers is undone; one that never began, and one
        # that is only stopped, leaves them to whoever takes its place.
        leaves = active if action == "interrupt" else [one.run for one in ended]
        return _Way(ended=ended, answers_of=[run.run_id for run in leaves])

    async def active(self, connection: Connection, thread_id: UUID) -> list[Run]:
        """The thread's runs that are not over, oldest first, held until the transaction ends."""
        rows = await (
            await connection.execute(
                "SELECT * FROM engine.runs"
                " WHERE thread_id = %s AND status IN ('pending', 'running')"
                " ORDER BY seq FOR NO KEY UPDATE",
                (thread_id,),
            )
        ).fetchall()
        return [Run.from_row(row) for row in rows]

    async def _stop(
        self,
        connection: Connection,
        runs: list[Run],
        action: CancelAction,
        *,
        error: dict[str, str],
    ) -> list[_Ended]:
        """Stop runs; return those that ended at once."""
        return [
            _Ended(run, error)
            for run in runs
            if await self._stop_one(connection, run, action, error)
        ]

    async def _stop_one(
        self, connection: Connection, run: Run, action: CancelAction, error: dict[str, str]
    ) -> bool:
        if run.status == "pending" and await self._queue.withdraw(connection, run.job_id):
            if action == "rollback":
                await roll_back(connection, run)
            elif run.attempt:
                await give_back(connection, run)
            await connection.execute(
                "UPDATE engine.runs SET status = 'cancelled', cancel = %s, error = %s,"
                " token = NULL, finished_at = now() WHERE run_id = %s",
                (action, Jsonb(error), run.run_id),
            )
            return True
        # A worker has it, or is about to open it: the flag is what it looks at.
        await connection.execute(
            "UPDATE engine.runs SET cancel = %s, error = %s WHERE run_id = %s",
            (action, Jsonb(error), run.run_id),
        )
        await self._queue.abort(connection, run.job_id)
        return False

    async def add_answers(
        self, connection: Connection, run: Run, answers: Mapping[str, Any]
    ) -> Run:
        """Give a run that waits more answers to take along, within the caller's transaction."""
        work = replace(run.work, resume={**(run.work.resume or {}), **answers})
        await connection.execute(
            "UPDATE engine.runs SET work = %s WHERE run_id = %s",
            (Jsonb(work.to_json()), run.run_id),
        )
        return replace(run, work=work)

    async def _announce(self, ended: list[_Ended]) -> None:
        """Tell readers of runs that no worker will tell of."""
        if self._log is None:
            return
        for one in ended:
            event = Event(
                channel="lifecycle",
                run_id=str(one.run.run_id),
                data={
                    "event": "cancelled",
                    "graph": one.run.graph,
                    "status": "cancelled",
                    "error": one.error,
                },
                attempt=one.run.attempt,
                at=int(self._clock.now().timestamp() * 1000),
            )
            with contextlib.suppress(UpstreamError):
                await self._log.append(one.run.thread_id, [event.encode()])


CANCELLED = {"code": "cancelled", "message": "The run was cancelled."}
REPLACED = {"code": "replaced", "message": "A newer run on this thread took its place."}


async def _occupy(connection: Connection, new: NewRun, owner: Owner) -> None:
    """Hold the thread, make it when that is asked for, and call it busy: one statement."""
    cursor = await connection.execute(
        _MAKE_AND_OCCUPY if new.creates_thread else _OCCUPY,
        {"thread": new.thread_id, "tenant": owner.tenant, "owner": owner.user},
    )
    if await cursor.fetchone() is None:
        raise ThreadNotFound(f"no thread {new.thread_id}")


async def _insert(
    connection: Connection, new: NewRun, owner: Owner, *, inherits: list[UUID]
) -> Run:
    work = new.work
    cursor = await connection.execute(
        _INSERT,
        {
            "run": new.run_id,
            "thread": new.thread_id,
            "tenant": owner.tenant,
            "owner": owner.user,
            "graph": new.graph,
            "work": Jsonb(work.to_json()),
            "takes_kept": work.is_message,
            "inherits": inherits,
        },
    )
    row: Any = await cursor.fetchone()
    return Run.from_row(row)


_BUSY = "status = 'busy', updated_at = now()"
_OCCUPY = f"""
UPDATE engine.threads SET {_BUSY}
 WHERE thread_id = %(thread)s AND (tenant, owner) = (%(tenant)s, %(owner)s)
RETURNING {HELD}
""".encode()  # noqa: S608  # our own constants
_MAKE_AND_OCCUPY = f"""
INSERT INTO engine.threads AS thread (thread_id, tenant, owner, status)
VALUES (%(thread)s, %(tenant)s, %(owner)s, 'busy')
ON CONFLICT (thread_id) DO UPDATE SET {_BUSY}
 WHERE (thread.tenant, thread.owner) = (EXCLUDED.tenant, EXCLUDED.owner)
RETURNING {HELD}
""".encode()  # noqa: S608  # our own constants
# The run, its place in the queue and the answers it takes along, in one statement.
#
# A new message takes along the answers that still wait for others, and those of runs that it takes
# the place of (`inherits`): none of them is lost.
#
# Start-time fair queueing: a tenant's runs have rising tags, and a tenant that has nothing waiting
# starts at the tag now being served, so it waits for one run and not for another tenant's backlog.
_INSERT = f"""
WITH kept AS (
    UPDATE engine.answers SET run_id = %(run)s
     WHERE %(takes_kept)s AND thread_id = %(thread)s
       AND (run_id IS NULL OR run_id = ANY(%(inherits)s::uuid[]))
    RETURNING interrupt_id, answer
), taken AS (
    SELECT jsonb_object_agg(interrupt_id, answer) AS answers FROM kept
), fair AS MATERIALIZED (
    SELECT GREATEST(
           COALESCE(
               (SELECT max(tag) FROM engine.runs WHERE status = 'running'),
               (SELECT min(tag) FROM engine.runs WHERE status = 'pending'),
               0),
           COALESCE(
               (SELECT max(tag) + 1 FROM engine.runs
                 WHERE tenant = %(tenant)s AND status IN ('pending', 'running')),
               0)) AS tag
), job AS MATERIALIZED (
    SELECT {queued("fair.tag")} AS id FROM fair
)
INSERT INTO engine.runs (run_id, thread_id, tenant, owner, graph, work, tag, job_id)
SELECT %(run)s, %(thread)s, %(tenant)s, %(owner)s, %(graph)s,
       CASE WHEN taken.answers IS NULL THEN %(work)s::jsonb
            ELSE jsonb_set(%(work)s::jsonb, '{{resume}}', taken.answers) END,
       fair.tag, job.id
  FROM fair, job, taken
RETURNING *
""".encode()  # noqa: S608  # our own constants
