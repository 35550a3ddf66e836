"""What an operator does with the runs of all tenants: find them, and queue them again.

A run that was given up because its workers kept dying is a dead letter. Its thread is intact up to
its last finished step, so it can be replayed from there once the cause is mended.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from bathysphere.core.errors import CallerError
from bathysphere.engine.audit.recording import OPERATOR, Actor, record_run
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.errors import RunNotFound
from bathysphere.engine.records import RUN_COLUMNS, Run, RunStatus
from bathysphere.engine.runs.queue import Queue
from bathysphere.engine.thread_lock import try_lock_thread, update_thread_status

DEAD_CODES = ("too_many_attempts", "worker_lost")
_REPLAYABLE = ("error", "timeout")


class CannotReplay(CallerError):
    """The run cannot go on where it stopped."""

    code = "cannot_replay"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """Where an active run is: in the queue, or with a worker."""

    status: str
    worker_id: int | None
    last_heartbeat: datetime | None


class RunOperations:
    """The runs of all tenants, for operators only: nothing here asks whose a run is."""

    def __init__(self, pool: Pool, queue: Queue) -> None:
        self._pool = pool
        self._queue = queue

    async def list(
        self,
        *,
        status: RunStatus | None = None,
        tenant: str | None = None,
        is_dead: bool = False,
        limit: int = 50,
    ) -> list[Run]:
        """Return runs, newest first; `is_dead` keeps those that were given up."""
        codes = list(DEAD_CODES) if is_dead else None
        values = {"status": status, "tenant": tenant, "codes": codes, "limit": limit}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_LIST, values)).fetchall()
        return [Run.from_row(row, self._pool.encryption) for row in rows]

    async def counts(self) -> dict[str, int]:
        """How many runs are pending, running, and given up."""
        async with self._pool.connection() as connection:
            row: Any = await (await connection.execute(_COUNTS, (list(DEAD_CODES),))).fetchone()
        return dict(row)

    async def get(self, run_id: UUID) -> Run:
        """Return a run.

        Raises:
            RunNotFound: There is no such run.
        """
        async with self._pool.connection() as connection:
            return await self._get(connection, run_id)

    async def job(self, run: Run) -> Job | None:
        """Return where the run is; None if it has ended."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_JOB, (run.job_id,))).fetchone()
        return Job(**row) if row is not None else None

    async def requeue(self, run_id: UUID, *, by: Actor = OPERATOR) -> Run:
        """Take an active run from its worker and give it to the next one.

        The worker may be alive: its attempt is superseded, and writes nothing more.

        Raises:
            RunNotFound: There is no such run.
            CannotReplay: It has ended.
        """
        async with self._pool.connection() as connection, connection.transaction():
            run = await self._get(connection, run_id)
            if run.is_over:
                raise CannotReplay(
                    f"Run {run_id} has ended ({run.status})", hint="use `replay` to run it again"
                )
            await self._enqueue(connection, run)
            await record_run(connection, "run.requeued", run, by)
        return run

    async def replay(self, run_id: UUID, *, by: Actor = OPERATOR) -> Run:
        """Let a failed run go on after its last finished step, with all its attempts.

        Raises:
            RunNotFound: There is no such run.
            CannotReplay: It did not fail, or its thread has gone on.
        """
        async with self._pool.connection() as connection, connection.transaction():
            thread_id = (await self._get(connection, run_id)).thread_id
            await try_lock_thread(connection, thread_id)
            run = await self._get(connection, run_id)
            if run.status not in _REPLAYABLE:
                raise CannotReplay(
                    f"Run {run_id} did not fail: it is {run.status}",
                    hint="only failed runs are replayed",
                )
            if await self._has_newer(connection, run):
                raise CannotReplay(
                    f"Thread {thread_id} has newer runs", hint="send the message again instead"
                )
            await connection.execute(_REVIVE, (run_id,))
            await self._enqueue(connection, run)
            await update_thread_status(connection, thread_id)
            await record_run(connection, "run.replayed", run, by)
            return await self._get(connection, run_id)

    async def _get(self, connection: Connection, run_id: UUID) -> Run:
        row: Any = await (await connection.execute(_GET, (run_id,))).fetchone()
        if row is None:
            raise RunNotFound(f"Run {run_id} not found", hint="see `bathysphere runs list`")
        return Run.from_row(row, self._pool.encryption)

    async def _has_newer(self, connection: Connection, run: Run) -> bool:
        values = (run.thread_id, run.seq)
        return await (await connection.execute(_NEWER, values)).fetchone() is not None

    async def _enqueue(self, connection: Connection, run: Run) -> None:
        await connection.execute("DELETE FROM procrastinate_jobs WHERE id = %s", (run.job_id,))
        job_id = await self._queue.defer(
            connection, run_id=run.run_id, lock=run.thread_id, tag=run.tag
        )
        await connection.execute(
            "UPDATE engine.runs SET job_id = %s WHERE run_id = %s", (job_id, run.run_id)
        )


_GET = f"SELECT {RUN_COLUMNS} FROM engine.runs WHERE run_id = %s".encode()  # noqa: S608  # our own constant
_LIST = f"""
SELECT {RUN_COLUMNS} FROM engine.runs
 WHERE (%(status)s::text IS NULL OR status = %(status)s)
   AND (%(tenant)s::text IS NULL OR tenant = %(tenant)s)
   AND (%(codes)s::text[] IS NULL OR status = 'error' AND error ->> 'code' = ANY(%(codes)s))
 ORDER BY created_at DESC LIMIT %(limit)s
""".encode()  # noqa: S608  # our own constant
_COUNTS = b"""
SELECT (SELECT count(*) FROM engine.runs WHERE status = 'pending') AS pending,
       (SELECT count(*) FROM engine.runs WHERE status = 'running') AS running,
       (SELECT count(*) FROM engine.runs
         WHERE status = 'error' AND error ->> 'code' = ANY(%s)) AS dead
"""
_JOB = b"""
SELECT job.status::text AS status, job.worker_id, worker.last_heartbeat
  FROM procrastinate_jobs job LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
 WHERE job.id = %s
"""
_NEWER = b"SELECT 1 FROM engine.runs WHERE thread_id = %s AND seq > %s LIMIT 1"
_REVIVE = b"""
UPDATE engine.runs
   SET status = 'pending', error = NULL, cancel = NULL, token = NULL, finished_at = NULL,
       strikes = 0, losses = 0, progress = NULL
 WHERE run_id = %s
"""
