"""Attempts: a worker opens an attempt at a run, and ends it or requeues the run.

Each attempt gets a token from the database. Only the attempt whose token is in the run's row may
write, and opening an attempt replaces the token of the one before.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.engine.checkpoints.rollback import reopen_questions, roll_back, save_writes
from bathysphere.engine.conversations.message_index import index_messages
from bathysphere.engine.conversations.message_texts import MessageText
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.fencing import superseded
from bathysphere.engine.records import RUN_COLUMNS, CancelAction, Run
from bathysphere.engine.runs.queue import current_job
from bathysphere.engine.thread_lock import try_lock_thread, update_thread_status
from bathysphere.engine.usage.journal import NOTHING, Remainder, record_usage

EndStatus = Literal["success", "error", "interrupted", "timeout", "cancelled"]


class Attempts:
    """The worker's side of runs."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def open(self, run_id: UUID, *, if_suspect: bool = True) -> Run | None:
        """Open an attempt; None if the run has ended, or another worker has its job.

        A worker that was cut off during this call must not take the run from the worker that has
        the job since then. Without `if_suspect`, a run for which `is_suspect` holds is left alone.
        """
        job = current_job()
        values = {
            "run": run_id,
            "if_suspect": if_suspect,
            "job": job.id if job else None,
            "worker": job.worker_id if job else None,
            "tries": job.attempts if job else None,
        }
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_OPEN, values)).fetchone()
            if row is None:
                return None
            run = Run.from_row(row, self._pool.encryption)
            if run.work.is_command and run.attempt == 1:
                await save_writes(connection, run_id=run_id, thread_id=run.thread_id)
        return run

    async def is_suspect(self, run_id: UUID) -> bool:
        """Whether the run lost its worker and has not made progress since then."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT status = 'running' OR losses > 0 AS is_suspect"
                    " FROM engine.runs WHERE run_id = %s",
                    (run_id,),
                )
            ).fetchone()
        return row is not None and bool(row["is_suspect"])

    async def find(self, run_id: UUID) -> Run | None:
        """Return the run; None if it was deleted with its thread."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    f"SELECT {RUN_COLUMNS} FROM engine.runs WHERE run_id = %s".encode(),  # noqa: S608  # our constant
                    (run_id,),
                )
            ).fetchone()
        return Run.from_row(row, self._pool.encryption) if row is not None else None

    async def cancelled(self, run: Run) -> CancelAction | None:
        """Return how the run was cancelled since it was opened; None if it was not."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT cancel FROM engine.runs WHERE run_id = %s AND token = %s",
                    (run.run_id, run.token),
                )
            ).fetchone()
        return row["cancel"] if row is not None else None

    async def requeue(self, run: Run, *, is_strike: bool, rest: Remainder = NOTHING) -> None:
        """Return the run to the queue; a strike counts towards the limit of attempts."""
        async with self._pool.connection() as connection, connection.transaction():
            cursor = await connection.execute(
                "UPDATE engine.runs SET status = 'pending', token = NULL, strikes = strikes - %s"
                " WHERE run_id = %s AND token = %s",
                (0 if is_strike else 1, run.run_id, run.token),
            )
            if cursor.rowcount:
                await record_usage(connection, run, rest)
            elif await self._released_run(connection, run) is None:
                raise superseded(run.run_id)

    async def finish(
        self,
        run: Run,
        status: EndStatus,
        *,
        error: Mapping[str, Any] | None = None,
        texts: Sequence[MessageText] | None = None,
        rest: Remainder = NOTHING,
    ) -> Run:
        """End the run and record its usage; one that was cancelled with `rollback` is undone.

        Args:
            run: The run, as this attempt opened it.
            status: How it ended.
            error: Why it failed.
            texts: What is said in the thread now, for the search; None leaves the index alone.
            rest: What it used since its last model call began.

        Raises:
            Superseded: Another attempt has the run.
        """
        if not self._pool.encryption.indexes_messages:
            texts = None
        is_ordinary = status in ("success", "interrupted")
        if is_ordinary and (ended := await self._end(run, status, texts, rest)):
            return ended
        async with (
            self._pool.connection() as connection,
            connection.transaction(),
        ):
            # The thread before the run: everyone locks in this order.
            await try_lock_thread(connection, run.thread_id)
            values = {
                "run": run.run_id,
                "token": run.token,
                "status": status,
                "error": Jsonb(error) if error is not None else None,
            }
            row = await (await connection.execute(_FINISH, values)).fetchone()
            if row is None:
                before = await self._released_run(connection, run)
                if before is None or not before.is_over:
                    raise superseded(run.run_id)
                return before
            ended = Run.from_row(row, self._pool.encryption)
            await record_usage(connection, run, rest)
            await _settle_thread(connection, ended, texts)
        return ended

    async def _end(
        self,
        run: Run,
        status: EndStatus,
        texts: Sequence[MessageText] | None,
        rest: Remainder,
    ) -> Run | None:
        """End a run that nobody cancelled; None if it is not that simple.

        A run without messages ends in one round trip; the others' index is part of the same
        transaction.
        """
        values = (run.run_id, run.thread_id, run.token, status, *rest)
        async with (
            self._pool.connection() as connection,
            nullcontext() if texts is None else connection.transaction(),
        ):
            row: Any = await (await connection.execute(_END, values)).fetchone()
            if row["finished_at"] is not None and texts is not None:
                await index_messages(connection, run, texts)
        if row["finished_at"] is None:
            return None
        return replace(run, status=status, error=None, token=None, finished_at=row["finished_at"])

    async def _released_run(self, connection: Connection, run: Run) -> Run | None:
        """Return the run if this very attempt has already released it.

        The statement was executed, but the connection was lost before its reply arrived.
        """
        row = await (
            await connection.execute(
                f"SELECT {RUN_COLUMNS} FROM engine.runs"  # noqa: S608  # our constant
                " WHERE run_id = %s AND attempt = %s"
                " AND token IS NULL AND status <> 'running'".encode(),
                (run.run_id, run.attempt),
            )
        ).fetchone()
        return Run.from_row(row, self._pool.encryption) if row is not None else None


async def _settle_thread(
    connection: Connection, ended: Run, texts: Sequence[MessageText] | None
) -> None:
    """Bring the thread in line with the end of its run."""
    if ended.status == "cancelled" and ended.cancel == "rollback":
        await roll_back(connection, ended)
    else:
        if ended.status in ("cancelled", "error", "timeout"):
            await reopen_questions(connection, ended)
        if texts is not None:
            await index_messages(connection, ended, texts)
    await update_thread_status(connection, ended.thread_id)


# A run that is `running` when it is opened has lost its worker. Progress is a new checkpoint or a
# new write of the newest one; attempts and losses are counted since the last progress. The first
# attempt often writes only the input, which does not count as progress.
#
# What `here` finds may be older than the last write of the attempt before, for which this statement
# waits: only a first attempt can know that there are no checkpoints.
_RUNS_COLUMNS = ", ".join(f"runs.{name}" for name in RUN_COLUMNS.split(", "))
_OPEN = f"""
WITH here AS (
SELECT r.run_id, newest.id IS NOT NULL AS has_checkpoints, concat(newest.id, ':', (
           SELECT count(*) FROM checkpoint_writes
            WHERE thread_id = r.thread_id::text AND checkpoint_id = newest.id)) AS progress
  FROM engine.runs r, LATERAL (
       SELECT max(checkpoint_id) AS id FROM checkpoints WHERE thread_id = r.thread_id::text
       ) newest
 WHERE r.run_id = %(run)s
)
UPDATE engine.runs
   SET status = 'running', token = nextval('engine.attempt_tokens'), attempt = attempt + 1,
       strikes = 1 + CASE WHEN attempt > 1 AND runs.progress <> here.progress THEN 0
                          ELSE strikes END,
       losses = CASE WHEN status <> 'running' THEN losses
                     WHEN runs.progress = here.progress THEN losses + 1 ELSE 1 END,
       progress = here.progress, started_at = COALESCE(started_at, now())
  FROM here
 WHERE runs.run_id = here.run_id AND status IN ('pending', 'running')
   AND (%(if_suspect)s OR (status = 'pending' AND losses = 0))
   AND (%(job)s::bigint IS NULL OR EXISTS (
        SELECT 1 FROM procrastinate_jobs
         WHERE id = %(job)s AND status = 'doing' AND worker_id = %(worker)s
           AND attempts = %(tries)s))
RETURNING {_RUNS_COLUMNS}, here.has_checkpoints OR attempt > 1 AS has_checkpoints, EXISTS (
    SELECT 1 FROM checkpoint_writes
     WHERE thread_id = runs.thread_id::text AND checkpoint_ns = '' AND channel = '__interrupt__'
       AND checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints
                             WHERE thread_id = runs.thread_id::text AND checkpoint_ns = '')
) AS has_interrupt
""".encode()  # noqa: S608  # our own constants
_END = "SELECT engine.finish_run(%s, %s, %s, %s, %s, %s) AS finished_at"
# Saved writes are not needed after a run that ended without an error.
_FINISH = f"""
WITH ended AS (
UPDATE engine.runs
   SET status = CASE WHEN cancel = 'rollback' THEN 'cancelled' ELSE %(status)s END,
       error = CASE WHEN cancel = 'rollback' OR %(status)s = 'cancelled' THEN error
                    ELSE %(error)s::jsonb END,
       token = NULL, finished_at = now()
 WHERE run_id = %(run)s AND token = %(token)s
RETURNING {RUN_COLUMNS}
), forgotten AS (
DELETE FROM engine.writes_before
 USING ended WHERE writes_before.run_id = ended.run_id
   AND ended.status IN ('success', 'interrupted')
)
SELECT {RUN_COLUMNS} FROM ended
""".encode()  # noqa: S608  # our own constants
