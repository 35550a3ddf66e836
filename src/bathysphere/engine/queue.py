"""The queue: Procrastinate on the same database, one thread's runs in order, tenants in turn.

A job's lock is its thread, so runs of a thread never overlap. What Procrastinate leaves open is
closed here: a worker that was only paused must not finish or retry a job that another worker has
taken over, so both are conditional on the job still being this worker's, at this try.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.jobs import Job, JobInserted, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg import AsyncConnection, OperationalError
from typing_extensions import override

from bathysphere.core.clock import Clock
from bathysphere.engine.database import Connection, Database, Pool

QUEUE = "runs"
TASK = "run"
_CHANNEL = f"procrastinate_queue_v1#{QUEUE}"
_LOOK: JobInserted = {"type": "job_inserted", "job_id": 0}
_log = logging.getLogger(__name__)

Execute = Callable[[UUID], Awaitable[None]]


_held: ContextVar[Job | None] = ContextVar("bathysphere_held_job", default=None)


def held_job() -> Job | None:
    """The job this task is done for, as it was when it was taken from the queue."""
    return _held.get()


def queued(tag: str) -> str:
    """SQL that queues the run `%(run)s` of `%(thread)s`, and is the job's id.

    An expression, so that a run and its job can be written by one statement.
    """
    return (
        f"(procrastinate_defer_jobs_v1(ARRAY[ROW('{QUEUE}', '{TASK}', -({tag})::int,"
        " %(thread)s::text, NULL, jsonb_build_object('run_id', %(run)s::text), NULL)"
        "::procrastinate_job_to_defer_v1]))[1]"
    )


class HandOn(Exception):  # not a failure: the run goes on elsewhere
    """Raised by a job to put it back into the queue, after `delay` seconds."""

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(delay)
        self.delay = delay


class Queue:
    """Jobs in, jobs out. One for a process; it uses the process's pool."""

    def __init__(self, pool: Pool, *, database: Database, clock: Clock) -> None:
        self._pool = pool
        connector = PsycopgConnector()
        self.app = App(connector=connector)
        self.app.job_manager = _OwnJobs(connector, pool, database)
        self._retry = _RetryHandedOn(clock)

    async def open(self) -> None:
        """Give Procrastinate the process's pool."""
        await self.app.open_async(self._pool)

    def serve(self, execute: Execute) -> None:
        """Say what a worker does with a job; an API process need not."""

        async def run(context: Any, *, run_id: str) -> None:
            _held.set(context.job)
            try:
                await execute(UUID(run_id))
            except asyncio.CancelledError as error:
                # Procrastinate ends a cancelled job, and a run without a job would be nobody's.
                raise HandOn from error

        self.app.task(name=TASK, queue=QUEUE, retry=self._retry, pass_context=True)(run)

    async def defer(self, connection: Connection, *, run_id: UUID, lock: UUID, tag: int) -> int:
        """Queue a run in the caller's transaction; return the job's id."""
        row: Any = await (
            await connection.execute(
                f"SELECT {queued('%(tag)s')} AS id".encode(),  # our own names
                {"run": run_id, "thread": lock, "tag": tag},
            )
        ).fetchone()
        return int(row["id"])

    async def withdraw(self, connection: Connection, job_id: int | None) -> bool:
        """Take a waiting job back; False when a worker already has it."""
        cursor = await connection.execute(
            "DELETE FROM procrastinate_jobs WHERE id = %s AND status = 'todo'", (job_id,)
        )
        return cursor.rowcount > 0

    async def abort(self, connection: Connection, job_id: int | None) -> None:
        """Ask the worker that has the job to stop it."""
        await connection.execute(
            "UPDATE procrastinate_jobs SET abort_requested = true"
            " WHERE id = %s AND status = 'doing' AND NOT abort_requested",
            (job_id,),
        )

    async def reap(self, stalled_after: float) -> list[UUID]:
        """Queue again the jobs of workers that have not been heard of for `stalled_after` s."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_REAP, (stalled_after,))).fetchall()
        return [UUID(row["run_id"]) for row in rows]

    async def adopt(self) -> list[UUID]:
        """Queue runs that are not over and have no job: a net below everything else."""
        async with self._pool.connection() as connection, connection.transaction():
            rows = await (await connection.execute(_ORPHANS)).fetchall()
            for row in rows:
                job_id = await self.defer(
                    connection, run_id=row["run_id"], lock=row["thread_id"], tag=row["tag"]
                )
                await connection.execute(
                    "UPDATE engine.runs SET job_id = %s WHERE run_id = %s", (job_id, row["run_id"])
                )
        return [row["run_id"] for row in rows]


class _OwnJobs(JobManager):
    """Procrastinate's jobs, changed only by the worker that has them."""

    def __init__(self, connector: PsycopgConnector, pool: Pool, database: Database) -> None:
        super().__init__(connector)
        self._pool = pool
        self._listen_url = database.listen_url or (
            database.url if database.prepare_threshold is not None else None
        )

    @override
    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        await self._change(_FINISH, job)

    @override
    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        await self._change(_RETRY, job, retry_at=retry_at)

    async def _change(self, query: str, job: Job, **values: Any) -> None:
        arguments = {"id": job.id, "worker": job.worker_id, "attempts": job.attempts, **values}
        while True:
            try:
                async with self._pool.connection() as connection:
                    cursor = await connection.execute(query.encode(), arguments)
            except OperationalError as error:
                # This worker lives, so nobody else would ever take the job up.
                _log.warning("job %s waits for PostgreSQL: %s", job.id, error)
                await asyncio.sleep(0.5)
                continue
            if not cursor.rowcount:
                _log.info("job %s is no longer this worker's: left alone", job.id)
            return

    @override
    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Wake up when a job comes; polling carries on while PostgreSQL is away."""
        if self._listen_url is None:
            await asyncio.Event().wait()
        while True:
            try:
                await self._listen(str(self._listen_url), on_notification)
            except* OperationalError as error:
                _log.warning("the queue's listener lost PostgreSQL: %s", error.exceptions[0])
                await asyncio.sleep(0.5)

    async def _listen(self, url: str, on_notification: NotificationCallback) -> None:
        async with await AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute(f'LISTEN "{_CHANNEL}"'.encode())
            # What came before we listened was not heard: look once.
            await on_notification(channel=_CHANNEL, notification=_LOOK)
            async with asyncio.TaskGroup() as group:
                nudge: asyncio.Task[None] | None = None
                while True:
                    async for notify in connection.notifies(timeout=15):
                        notification = json.loads(notify.payload)
                        await on_notification(channel=notify.channel, notification=notification)
                        if nudge is None or nudge.done():
                            nudge = group.create_task(_nudge(on_notification))
                    await connection.execute("SELECT 1")


async def _nudge(on_notification: NotificationCallback) -> None:
    # Procrastinate forgets a notification that arrives while it is fetching: remind it.
    for pause in (0.05, 0.2):
        await asyncio.sleep(pause)
        await on_notification(channel=_CHANNEL, notification=_LOOK)


class _RetryHandedOn(BaseRetryStrategy):
    """Retry what says so itself, nothing else."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @override
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if not isinstance(exception, HandOn):
            return None
        return RetryDecision(retry_at=self._clock.now() + timedelta(seconds=exception.delay))


_MINE = "id = %(id)s AND status = 'doing' AND worker_id = %(worker)s AND attempts = %(attempts)s"
_FINISH = f"DELETE FROM procrastinate_jobs WHERE {_MINE}"  # noqa: S608  # our own constant
_RETRY = f"""
UPDATE procrastinate_jobs
   SET status = 'todo', attempts = attempts + 1, scheduled_at = %(retry_at)s,
       abort_requested = false, worker_id = NULL
 WHERE {_MINE}
"""  # noqa: S608  # our own constant
# Not a join: when another worker takes the job between our look and our lock, PostgreSQL asks again
# with the job's new row but the old worker's, and a LEFT JOIN would find that no worker has it.
_REAP = """
UPDATE procrastinate_jobs
   SET status = 'todo', attempts = attempts + 1, scheduled_at = NULL,
       abort_requested = false, worker_id = NULL
 WHERE id IN (
       SELECT job.id
         FROM procrastinate_jobs job
        WHERE job.status = 'doing'
          AND NOT EXISTS (
              SELECT 1 FROM procrastinate_workers worker
               WHERE worker.id = job.worker_id
                 AND worker.last_heartbeat >= now() - make_interval(secs => %s))
          FOR UPDATE OF job SKIP LOCKED)
RETURNING args ->> 'run_id' AS run_id
"""
_ORPHANS = """
SELECT run_id, thread_id, tag FROM engine.runs run
 WHERE status IN ('pending', 'running')
   AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs job WHERE job.id = run.job_id)
   FOR UPDATE SKIP LOCKED
"""
