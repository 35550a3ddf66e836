"""The job queue: Procrastinate on the same database, with runs of a thread in order.

A job's lock is its thread, so runs of a thread never overlap. A gap in Procrastinate is closed
here: a worker that was only paused must not finish or retry a job that another worker has taken
over, so both require that the job still belongs to this worker, at this attempt.
"""

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

from procrastinate import App, BaseRetryStrategy, PsycopgConnector, RetryDecision
from procrastinate.jobs import Job, Notification, Status
from procrastinate.manager import JobManager, NotificationCallback
from psycopg import AsyncConnection, OperationalError
from typing_extensions import override

from bathysphere.engine.database.pool import TIMEOUTS, Connection, Database, Pool
from bathysphere.engine.fairness import ANY_SHARE, CLAIM, Shares
from bathysphere.engine.runs.announcements import CHANNEL, LOOK, QUEUE, Announcements

TASK = "run"
_LONGEST_PAUSE = 24
"""How many poll intervals a worker waits at most before it looks without news."""
_log = logging.getLogger(__name__)

Execute = Callable[[UUID], Awaitable[None]]


# Procrastinate passes a time to `retry_job`; ours is relative to this one, so that it carries the
# delay and PostgreSQL adds it to its own clock. A worker's clock may be wrong.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_current: ContextVar[Job | None] = ContextVar("bathysphere_current_job", default=None)


def current_job() -> Job | None:
    """The job that this task executes, as it was when it was fetched."""
    return _current.get()


class Requeue(Exception):  # not a failure: the run continues elsewhere
    """Raised by a job to return to the queue after `delay` seconds."""

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(delay)
        self.delay = delay


class JobAttempt(NamedTuple):
    """A job at one of its attempts."""

    job_id: int
    attempts: int


class Queue:
    """The queue of a process, which uses the process's pool."""

    def __init__(self, pool: Pool, *, database: Database) -> None:
        self._pool = pool
        connector = PsycopgConnector()
        self.app = App(connector=connector)
        self._jobs = _FencedJobs(connector, pool, database)
        self.app.job_manager = self._jobs
        self._retry = _RetryRequeued()

    async def open(self) -> None:
        """Connect Procrastinate to the process's pool."""
        await self.app.open_async(self._pool)

    def set_worker(
        self, *, shares: Shares, running: Callable[[], int], poll_seconds: float
    ) -> None:
        """Describe the worker of this process: its slots, how many it uses, how often it polls."""
        self._jobs.shares = shares
        self._jobs.poll_seconds = poll_seconds
        self._jobs.announcements.slots = shares.slots
        self._jobs.announcements.running = running

    @property
    def is_listening(self) -> bool:
        """Whether the worker of this process hears what is announced to it."""
        return self._jobs.announcements.is_listening

    def register(self, execute: Execute) -> None:
        """Register the function that executes jobs; an API process needs none."""

        async def run(context: Any, *, run_id: str) -> None:
            _current.set(context.job)
            try:
                await execute(UUID(run_id))
            except asyncio.CancelledError as error:
                # Procrastinate ends a cancelled job, and a run without a job would never continue.
                raise Requeue from error

        self.app.task(name=TASK, queue=QUEUE, retry=self._retry, pass_context=True)(run)

    async def defer(self, connection: Connection, *, run_id: UUID, lock: UUID, tag: int) -> int:
        """Queue a run in the caller's transaction; return the job's id."""
        row: Any = await (
            await connection.execute(
                _DEFER,
                {"run": run_id, "thread": lock, "tag": tag},
            )
        ).fetchone()
        return int(row["id"])

    async def withdraw(self, connection: Connection, job_id: int | None) -> bool:
        """Delete a waiting job; return False if a worker already has it."""
        cursor = await connection.execute(
            "DELETE FROM procrastinate_jobs WHERE id = %s AND status = 'todo'", (job_id,)
        )
        return cursor.rowcount > 0

    async def abort(self, connection: Connection, job_id: int | None) -> None:
        """Ask the worker that has the job to abort it."""
        await connection.execute(
            "UPDATE procrastinate_jobs SET abort_requested = true"
            " WHERE id = %s AND status = 'doing' AND NOT abort_requested",
            (job_id,),
        )

    async def requeue_stalled(self, stalled_after: float) -> list[UUID]:
        """Requeue the jobs of workers without a heartbeat for `stalled_after` seconds."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_REQUEUE_STALLED, (stalled_after,))).fetchall()
        return [UUID(row["run_id"]) for row in rows]

    async def find_missing(self, worker_id: int, running: Iterable[int]) -> set[JobAttempt]:
        """Return the jobs assigned to a worker that it is not running."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_MISSING, (worker_id, list(running)))).fetchall()
        return {JobAttempt(row["id"], row["attempts"]) for row in rows}

    async def requeue_missing(self, worker_id: int, lost: Iterable[JobAttempt]) -> list[UUID]:
        """Requeue jobs that are assigned to a live worker but not running there."""
        jobs, tries = zip(*lost, strict=True)
        values = {"worker": worker_id, "jobs": list(jobs), "tries": list(tries)}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_REQUEUE_MISSING, values)).fetchall()
        return [UUID(row["run_id"]) for row in rows]

    async def requeue_orphans(self) -> list[UUID]:
        """Queue runs that have not ended and have no job, as a safety net."""
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


class _FencedJobs(JobManager):
    """Procrastinate's job manager; a job is changed only by the worker that has it."""

    def __init__(self, connector: PsycopgConnector, pool: Pool, database: Database) -> None:
        super().__init__(connector)
        self.shares = ANY_SHARE
        self.poll_seconds = 1.0
        self.announcements = Announcements(pool)
        self._has_held_back = False
        self._has_news = False
        """Whether a notification has arrived since the last claim began."""
        self._has_next = False
        """Whether the last claim left jobs that this worker may take as soon as it has a slot."""
        self._look_at = 0.0
        """When to ask for jobs without news: one may have become due, or its news been lost."""
        self._notify: NotificationCallback | None = None
        self._pool = pool
        self._listen_url = database.listen_url or (
            database.url if database.prepare_threshold is not None else None
        )

    @override
    async def register_worker(self) -> int:
        self.announcements.worker_id = worker_id = await super().register_worker()
        self._look_at = 0.0
        return worker_id

    @override
    async def unregister_worker(self, worker_id: int) -> None:
        await super().unregister_worker(worker_id)
        await self.announcements.tell_all()  # of what was announced to it since it stopped

    @override
    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> Job | None:
        """Claim the next job in turn, of a tenant and user that may use a slot.

        Procrastinate fetches when it is woken, at each poll, and until it gets none. The database
        is asked only after news, after a claim that left jobs waiting, and at this worker's turn.
        """
        loop = asyncio.get_running_loop()
        had_news, self._has_news = self._has_news, False
        if not had_news and loop.time() < self._look_at:
            return None
        is_first = not had_news and not self._has_next
        job, pause = await self._claim(queues or [QUEUE], worker_id, is_first=is_first)
        self._look_at = loop.time() + pause
        if job is None and self._has_news:
            # Procrastinate forgets what it was told while it fetched, as soon as this returns.
            loop.call_soon(self._wake_soon)
        return job

    async def _claim(
        self, queues: Iterable[str], worker_id: int, *, is_first: bool
    ) -> tuple[Job | None, float]:
        """Claim a job; return it, and the seconds until the next claim without news."""
        named = self.announcements.begin_claim(is_first=is_first)
        try:
            row = await self.connector.execute_query_one_async(
                query=CLAIM, worker=worker_id, queues=list(queues), **asdict(self.shares)
            )
        except BaseException:
            self.announcements.end_claim(named, found=False, has_more=False, held_back=True)
            raise
        self._has_held_back = held_back = row.pop("held_back")
        has_more, workers, due_in = (row.pop(name) for name in ("has_more", "workers", "due_in"))
        found = row["id"] is not None
        self.announcements.end_claim(named, found=found, has_more=has_more, held_back=held_back)
        self._has_next = found and has_more
        pause = 0.0 if self._has_next else self._pause(workers)
        if due_in is not None:
            pause = min(pause, due_in)
        return Job.from_row(row) if found else None, pause

    def _pause(self, workers: int) -> float:
        """Seconds until this worker looks without news; all of them do so twice per interval."""
        if self._listen_url is None:
            return self.poll_seconds / 2
        return self.poll_seconds * min(workers, _LONGEST_PAUSE) * random.random()  # noqa: S311

    def _wake_soon(self) -> None:
        self._waking = asyncio.ensure_future(self._wake())

    async def _wake(self, notification: Notification = LOOK, channel: str = CHANNEL) -> None:
        """Let Procrastinate fetch, now or as soon as it has a free slot; or abort a job."""
        self._has_news |= notification["type"] == LOOK["type"]
        if self._notify is not None:
            await self._notify(channel=channel, notification=notification)

    async def _hear(self, channel: str, notification: dict[str, Any]) -> None:
        """Take a notification that is for this worker, or for all."""
        if self.announcements.is_for_me(notification):
            await self._wake(cast("Notification", notification), channel)

    @override
    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        await self._change(_FINISH, job)
        await self._fetch_again()

    @override
    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        delay = (retry_at - _EPOCH).total_seconds() if retry_at is not None else 0.0
        await self._change(_RETRY, job, delay=delay)
        await self._fetch_again()

    async def _fetch_again(self) -> None:
        """Fetch again after a slot became free: a run may have been held back before."""
        if self._has_held_back:
            await self._wake()

    async def _change(self, query: str, job: Job, **values: Any) -> None:
        arguments = {"id": job.id, "worker": job.worker_id, "attempts": job.attempts, **values}
        while True:
            try:
                async with self._pool.connection() as connection:
                    cursor = await connection.execute(query.encode(), arguments)
            except OperationalError as error:
                # This worker is alive, so no other would ever take over the job.
                _log.warning("Job %s waits for PostgreSQL: %s", job.id, error)
                await asyncio.sleep(0.5)
                continue
            if not cursor.rowcount:
                _log.info("Job %s was taken over by another worker: left unchanged", job.id)
            return

    @override
    async def listen_for_jobs(
        self, *, on_notification: NotificationCallback, queues: Iterable[str] | None = None
    ) -> None:
        """Wake up when a job arrives; polling continues while PostgreSQL is unavailable."""
        self._notify = on_notification
        if self._listen_url is None:
            await asyncio.Event().wait()
        while True:
            try:
                await self._listen(str(self._listen_url))
            except* OperationalError as error:
                _log.warning(
                    "The queue's listener lost its PostgreSQL connection: %s", error.exceptions[0]
                )
                await asyncio.sleep(0.5)

    async def _listen(self, url: str) -> None:
        async with await AsyncConnection.connect(url, autocommit=True, **TIMEOUTS) as connection:
            await connection.execute(f'LISTEN "{CHANNEL}"'.encode())
            self.announcements.is_listening = True
            try:
                # Jobs that arrived before we listened were not notified: fetch once.
                await self._wake()
                while True:
                    async for notify in connection.notifies(timeout=15):
                        await self._hear(notify.channel, json.loads(notify.payload))
                    await connection.execute("SELECT 1")
            finally:
                self.announcements.is_listening = False


class _RetryRequeued(BaseRetryStrategy):
    """Retry only jobs that raise `Requeue`."""

    @override
    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        if not isinstance(exception, Requeue):
            return None
        return RetryDecision(retry_at=_EPOCH + timedelta(seconds=exception.delay))


_DEFER = f"""
SELECT (procrastinate_defer_jobs_v1(ARRAY[ROW(
           '{QUEUE}', '{TASK}', -(%(tag)s)::int, %(thread)s::text, NULL,
           jsonb_build_object('run_id', %(run)s::text), NULL
       )::procrastinate_job_to_defer_v1]))[1] AS id
""".encode()
_MINE = "id = %(id)s AND status = 'doing' AND worker_id = %(worker)s AND attempts = %(attempts)s"
_FINISH = f"DELETE FROM procrastinate_jobs WHERE {_MINE}"  # noqa: S608  # our own constant
_RETRY = f"""
UPDATE procrastinate_jobs
   SET status = 'todo', attempts = attempts + 1,
       scheduled_at = CASE WHEN %(delay)s > 0 THEN now() + make_interval(secs => %(delay)s) END,
       abort_requested = false, worker_id = NULL
 WHERE {_MINE}
"""  # noqa: S608  # our own constant
# Not a join: if another worker takes the job between our read and our lock, PostgreSQL rechecks
# with the job's new row but the old worker's row, and a LEFT JOIN would find no worker for it.
_REQUEUE_STALLED = """
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
_MISSING = """
SELECT id, attempts FROM procrastinate_jobs
 WHERE status = 'doing' AND worker_id = %s AND id <> ALL(%s::bigint[])
"""
_REQUEUE_MISSING = """
UPDATE procrastinate_jobs job
   SET status = 'todo', attempts = job.attempts + 1, scheduled_at = NULL,
       abort_requested = false, worker_id = NULL
  FROM unnest(%(jobs)s::bigint[], %(tries)s::int[]) AS lost (id, attempts)
 WHERE job.id = lost.id AND job.attempts = lost.attempts
   AND job.status = 'doing' AND job.worker_id = %(worker)s
RETURNING job.args ->> 'run_id' AS run_id
"""
_ORPHANS = """
SELECT run_id, thread_id, tag FROM engine.runs run
 WHERE status IN ('pending', 'running')
   AND NOT EXISTS (SELECT 1 FROM procrastinate_jobs job WHERE job.id = run.job_id)
   FOR UPDATE SKIP LOCKED
"""
