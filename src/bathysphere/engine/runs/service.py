"""Create, look up and cancel runs.

Every decision about a thread's runs is made under a lock on the thread's row, so concurrent
requests are handled one after the other. Creating is idempotent by run id.
"""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.audit.recording import Actor, record_run
from bathysphere.engine.checkpoints.rollback import reopen_questions, roll_back
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.stored_bytes import StoredBytes
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import BudgetExceeded, RunIdTaken, RunNotFound, ThreadBusy
from bathysphere.engine.events.log import Event, EventLog
from bathysphere.engine.fairness import UNLIMITED, WaitingLimits
from bathysphere.engine.records import RUN_COLUMNS, CancelAction, Run, RunStatus
from bathysphere.engine.runs.new_run import NewRun, Storing, enqueue, insert, sealed_work
from bathysphere.engine.runs.queue import Queue
from bathysphere.engine.thread_lock import lock_busy, lock_thread, update_thread_status
from bathysphere.engine.usage.budgets import Budgets
from bathysphere.tenancy.quota import Quota, Usage, check

RunQuota = Callable[[str], int | None]
"""Returns how many active runs a tenant may have; None means unlimited."""


@dataclass(frozen=True, slots=True)
class _Ended:
    """A run that ended here, not in a worker."""

    run: Run
    error: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Replaced:
    """The runs that a new run replaced, and those whose answers it inherits."""

    ended: list[_Ended] = field(default_factory=list)
    answers_of: list[UUID] = field(default_factory=list)


class Created(NamedTuple):
    """A run, and whether this request created it."""

    run: Run
    is_new: bool


class Insertion(NamedTuple):
    """A run that was created in a caller's transaction, and the runs that it replaced."""

    run: Run
    is_new: bool
    ended: tuple[_Ended, ...]


class Runs:
    """The runs of all threads."""

    def __init__(
        self,
        pool: Pool,
        queue: Queue,
        *,
        log: EventLog,
        clock: Clock,
        quota: RunQuota | None = None,
        waiting: WaitingLimits = UNLIMITED,
        stored: StoredBytes | None = None,
        budgets: Budgets | None = None,
        on_dropped: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._on_dropped = on_dropped
        self._stored = stored
        self._budgets = budgets
        self._quota = quota
        self._storing = Storing(waiting, pool.encryption)
        self._pool = pool
        self._queue = queue
        self._log = log
        self._clock = clock

    async def create(self, new: NewRun, *, owner: Owner) -> Created:
        """Create a run on a thread; its strategy applies if the thread has an active run.

        Raises:
            ThreadNotFound: The thread does not exist or belongs to another owner.
            ThreadBusy: The thread has an active run and the strategy is `reject`.
            RunIdTaken: The run id is used by a run of another thread or owner.
            TooManyWaiting: The thread, the user or the tenant has too many pending runs.
            StorageFull: The user or the tenant has reached its storage limit.
            BudgetExceeded: The user or the tenant has used up its budget.
        """
        if (refusal := await self._over_budget(owner)) is not None:
            async with self._pool.connection() as connection:
                # A repeated request is answered with its run, whatever was used since.
                if (known := await self._find(connection, new, owner)) is not None:
                    return Created(known, is_new=False)
            raise refusal
        if self._stored is not None:
            await self._stored.reserve(owner, len(repr(new.work)))
        try:
            if self._is_plain(new, owner):
                async with self._pool.connection() as connection:
                    run = await enqueue(connection, new, owner, self._storing)
                if run is not None:
                    return Created(run, is_new=True)
            async with self._pool.connection() as connection, connection.transaction():
                created, ended = await self._create(connection, new, owner)
        except UniqueViolation:
            return Created(await self._existing_run(new, owner), is_new=False)
        await self._announce(ended)
        return created

    async def _over_budget(self, owner: Owner) -> BudgetExceeded | None:
        spent = await self._budgets.spent(owner) if self._budgets is not None else None
        return None if spent is None else BudgetExceeded.of(spent)

    def _is_plain(self, new: NewRun, owner: Owner) -> bool:
        """Whether nothing has to be decided before the run is inserted."""
        has_quota = self._quota is not None and self._quota(owner.tenant) is not None
        return new.strategy == "enqueue" and not has_quota

    async def enqueue(self, connection: Connection, new: NewRun, *, owner: Owner) -> Run:
        """Create a run after the thread's others, within the caller's transaction."""
        if (refusal := await self._over_budget(owner)) is not None:
            raise refusal
        behind = replace(new, strategy="enqueue")
        created, _ = await self._create(connection, behind, owner)
        return created.run

    async def create_within(
        self, connection: Connection, new: NewRun, *, owner: Owner
    ) -> Insertion:
        """Create a run within the caller's transaction; `announce` it after the commit."""
        if (refusal := await self._over_budget(owner)) is not None:
            raise refusal
        created, ended = await self._create(connection, new, owner)
        return Insertion(created.run, created.is_new, tuple(ended))

    async def announce(self, insertion: Insertion) -> None:
        """Publish the end of the runs that a new run replaced."""
        await self._announce(list(insertion.ended))

    async def _create(
        self, connection: Connection, new: NewRun, owner: Owner
    ) -> tuple[Created, list[_Ended]]:
        await lock_busy(
            connection,
            new.thread_id,
            owner=owner,
            creates=new.creates_thread,
            metadata=new.thread_metadata,
        )
        replaced = _Replaced()
        if new.strategy != "enqueue":
            # A repeated request must not replace its own run.
            if (known := await self._find(connection, new, owner)) is not None:
                await update_thread_status(connection, new.thread_id)
                return Created(known, is_new=False), []
            replaced = await self._apply_strategy(connection, new)
        await self._check_quota(connection, owner)
        inherits = replaced.answers_of
        run = await insert(connection, new, owner, self._storing, inherits=inherits)
        return Created(run, is_new=True), replaced.ended

    async def _existing_run(self, new: NewRun, owner: Owner) -> Run:
        async with self._pool.connection() as connection:
            known = await self._find(connection, new, owner)
        if known is None:
            raise RunIdTaken(f"Run id {new.run_id} is already in use", hint="send a new run id")
        return known

    async def _check_quota(self, connection: Connection, owner: Owner) -> None:
        most = self._quota(owner.tenant) if self._quota is not None else None
        if most is None:
            return
        # Concurrent requests of a tenant are counted one after the other.
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
        """Return a run."""
        async with tenant_connection(self._pool, owner) as connection:
            row = await (
                await connection.execute(
                    f"SELECT {RUN_COLUMNS} FROM engine.runs"  # noqa: S608  # our constant
                    " WHERE run_id = %s AND tenant = %s AND owner = %s".encode(),
                    (run_id, owner.tenant, owner.user),
                )
            ).fetchone()
        if row is None:
            raise RunNotFound(f"Run {run_id} not found")
        return Run.from_row(row, self._pool.encryption)

    async def list_of_thread(
        self,
        thread_id: UUID,
        *,
        owner: Owner,
        statuses: Collection[RunStatus] | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Run]:
        """Return a thread's runs, newest first: all, or those with some statuses."""
        wanted = list(statuses) if statuses is not None else None
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (
                await connection.execute(
                    f"SELECT {RUN_COLUMNS} FROM engine.runs"  # noqa: S608  # our constant
                    " WHERE thread_id = %s AND tenant = %s AND owner = %s"
                    " AND (%s::text[] IS NULL OR status = ANY(%s))"
                    " ORDER BY seq DESC LIMIT %s OFFSET %s".encode(),
                    (thread_id, owner.tenant, owner.user, wanted, wanted, limit, offset),
                )
            ).fetchall()
        return [Run.from_row(row, self._pool.encryption) for row in rows]

    async def active_of_assistant(self, assistant_id: UUID, *, owner: Owner) -> list[UUID]:
        """Return the owner's active runs that were started with a stored assistant."""
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (
                await connection.execute(
                    "SELECT run_id FROM engine.runs WHERE tenant = %s AND owner = %s"
                    " AND status IN ('pending', 'running') AND work ->> 'assistant_id' = %s"
                    " ORDER BY seq DESC",
                    (owner.tenant, owner.user, str(assistant_id)),
                )
            ).fetchall()
        return [row["run_id"] for row in rows]

    async def cancel(
        self,
        run_id: UUID,
        *,
        owner: Owner,
        action: CancelAction = "interrupt",
        by: Actor | None = None,
    ) -> RunStatus:
        """Cancel a run, keeping or undoing its results; return its current status.

        A pending run ends at once. A running one is asked to stop and ends soon after; one that has
        ended stays as it is. `by` is an operator, whose doing is recorded.
        """
        thread_id = (await self.get(run_id, owner=owner)).thread_id
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            active = await self.active(connection, thread_id)
            mine = [run for run in active if run.run_id == run_id]
            ended = await self._stop(connection, mine, action, error=CANCELLED)
            await update_thread_status(connection, thread_id)
            if mine and by is not None:
                await record_run(connection, "run.cancelled", mine[0], by)
        await self._announce(ended)
        run = await self.get(run_id, owner=owner)
        if run.status == "cancelled" and not run.attempt and not ended:
            # No worker ever had it, and whatever cancelled it may have died before publishing.
            await self._announce([_Ended(run, dict(run.error or CANCELLED))])
        return run.status

    async def _find(self, connection: Connection, new: NewRun, owner: Owner) -> Run | None:
        row = await (
            await connection.execute(
                f"SELECT {RUN_COLUMNS} FROM engine.runs"  # noqa: S608  # our constant
                " WHERE run_id = %s".encode(),
                (new.run_id,),
            )
        ).fetchone()
        if row is None:
            return None
        run = Run.from_row(row, self._pool.encryption)
        if (run.owner, run.thread_id) != (owner, new.thread_id):
            raise RunIdTaken(f"Run id {new.run_id} is already in use", hint="send a new run id")
        return run

    async def _apply_strategy(self, connection: Connection, new: NewRun) -> _Replaced:
        active = await self.active(connection, new.thread_id)
        if active and new.strategy == "reject":
            raise ThreadBusy(
                f"Thread {new.thread_id} has an active run",
                hint="wait for it to end, or use the strategy enqueue, interrupt or rollback",
            )
        action: CancelAction = "rollback" if new.strategy == "rollback" else "interrupt"
        ended = await self._stop(connection, active, action, error=REPLACED)
        # A rolled back run's use of its answers is undone; a run that never began, or was only
        # stopped, leaves them to the run that replaces it.
        leaving = active if action == "interrupt" else [one.run for one in ended]
        return _Replaced(ended=ended, answers_of=[run.run_id for run in leaving])

    async def active(self, connection: Connection, thread_id: UUID) -> list[Run]:
        """Return the thread's active runs, oldest first, locked until the transaction ends."""
        rows = await (
            await connection.execute(
                f"SELECT {RUN_COLUMNS} FROM engine.runs"  # noqa: S608  # our constant
                " WHERE thread_id = %s AND status IN ('pending', 'running')"
                " ORDER BY seq FOR NO KEY UPDATE".encode(),
                (thread_id,),
            )
        ).fetchall()
        return [Run.from_row(row, self._pool.encryption) for row in rows]

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
                await reopen_questions(connection, run)
            await connection.execute(
                "UPDATE engine.runs SET status = 'cancelled', cancel = %s, error = %s,"
                " token = NULL, finished_at = now() WHERE run_id = %s",
                (action, Jsonb(error), run.run_id),
            )
            return True
        # A worker has it, or is about to open it, and will check this flag.
        await connection.execute(
            "UPDATE engine.runs SET cancel = %s, error = %s WHERE run_id = %s",
            (action, Jsonb(error), run.run_id),
        )
        await self._queue.abort(connection, run.job_id)
        return False

    async def add_answers(
        self, connection: Connection, run: Run, answers: Mapping[str, Any]
    ) -> Run:
        """Add answers to a pending run, within the caller's transaction."""
        work = replace(run.work, resume={**(run.work.resume or {}), **answers})
        sealed = Jsonb(sealed_work(work, run, self._pool.encryption, run.owner.tenant))
        await connection.execute(
            "UPDATE engine.runs SET work = %s WHERE run_id = %s", (sealed, run.run_id)
        )
        return replace(run, work=work)

    async def _announce(self, ended: list[_Ended]) -> None:
        """Publish the end of runs that no worker will publish."""
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
            await self._append(one.run, event)

    async def _append(self, run: Run, event: Event) -> None:
        # A restarted log refuses its old connections: the next try opens a new one.
        for pause in (0.05, 0.2, 0.5, 0.0):
            with contextlib.suppress(UpstreamError):
                await self._log.append(run.thread_id, [event.encode()], owner=run.owner)
                return
            await asyncio.sleep(pause)
        self._on_dropped(1)


CANCELLED = {"code": "cancelled", "message": "The run was cancelled."}
REPLACED = {"code": "replaced", "message": "The run was replaced by a newer run on this thread."}
