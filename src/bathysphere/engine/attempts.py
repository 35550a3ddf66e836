"""A run as a worker has it: an attempt that is opened, ends or is handed on.

Each attempt gets a token from the database. Only the attempt whose token the run row holds may
write anything, and opening an attempt takes the token from the one before.
"""

from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.engine.database import Connection, Pool
from bathysphere.engine.errors import Superseded
from bathysphere.engine.holding import hold_thread, settle_thread
from bathysphere.engine.queue import held_job
from bathysphere.engine.records import Run
from bathysphere.engine.rollback import give_back, remember_writes, roll_back

EndStatus = Literal["success", "error", "interrupted", "timeout", "cancelled"]


class Attempts:
    """The worker's side of runs."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def open(self, run_id: UUID) -> Run | None:
        """Take the run over; None when it is already over, or its job is no longer this worker's.

        A worker that was cut off while it asked must not take the run from the one that has the
        job since.
        """
        job = held_job()
        values = {
            "run": run_id,
            "job": job.id if job else None,
            "worker": job.worker_id if job else None,
            "tries": job.attempts if job else None,
        }
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_OPEN, values)).fetchone()
            if row is None:
                return None
            run = Run.from_row(row)
            if run.work.is_command and run.attempt == 1:
                await remember_writes(connection, run_id=run_id, thread_id=run.thread_id)
        return run

    async def ended(self, run_id: UUID) -> Run | None:
        """The run, if it is over."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT * FROM engine.runs"
                    " WHERE run_id = %s AND status NOT IN ('pending', 'running')",
                    (run_id,),
                )
            ).fetchone()
        return Run.from_row(row) if row is not None else None

    async def cancelled(self, run: Run) -> bool:
        """Whether somebody asked for this run to stop since it was opened."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT cancel FROM engine.runs WHERE run_id = %s AND token = %s",
                    (run.run_id, run.token),
                )
            ).fetchone()
        return row is not None and row["cancel"] is not None

    async def hand_on(self, run: Run, *, is_strike: bool) -> None:
        """Give the run back to the queue; a strike counts towards the ceiling of attempts."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "UPDATE engine.runs SET status = 'pending', token = NULL, strikes = strikes - %s"
                " WHERE run_id = %s AND token = %s",
                (0 if is_strike else 1, run.run_id, run.token),
            )
            if not cursor.rowcount and await self._done_before(connection, run) is None:
                raise Superseded(f"run {run.run_id} was taken over")

    async def finish(
        self, run: Run, status: EndStatus, *, error: Mapping[str, Any] | None = None
    ) -> Run:
        """End the run; a cancelled one is undone first when that was asked for.

        Raises:
            Superseded: Another attempt has the run.
        """
        async with (
            self._pool.connection() as connection,
            connection.transaction(),
        ):
            # The thread before the run, in the order everyone takes them.
            await hold_thread(connection, run.thread_id)
            row = await (
                await connection.execute(
                    _FINISH,
                    {
                        "run": run.run_id,
                        "token": run.token,
                        "status": status,
                        "error": Jsonb(error) if error is not None else None,
                    },
                )
            ).fetchone()
            if row is None:
                before = await self._done_before(connection, run)
                if before is None or not before.is_over:
                    raise Superseded(f"run {run.run_id} was taken over")
                return before
            ended = Run.from_row(row)
            if ended.status == "cancelled" and ended.cancel == "rollback":
                await roll_back(connection, ended)
            elif ended.status in ("cancelled", "error", "timeout"):
                await give_back(connection, ended)
            await settle_thread(connection, run.thread_id)
        return ended

    async def _done_before(self, connection: Connection, run: Run) -> Run | None:
        """The run, when this very attempt has already let go of it.

        PostgreSQL did what we asked for, and the connection was lost before we heard of it.
        """
        row = await (
            await connection.execute(
                "SELECT * FROM engine.runs WHERE run_id = %s AND attempt = %s"
                " AND token IS NULL AND status <> 'running'",
                (run.run_id, run.attempt),
            )
        ).fetchone()
        return Run.from_row(row) if row is not None else None


_OPEN = """
UPDATE engine.runs
   SET status = 'running', token = nextval('engine.attempt_tokens'), attempt = attempt + 1,
       strikes = strikes + 1, started_at = COALESCE(started_at, now())
 WHERE run_id = %(run)s AND status IN ('pending', 'running')
   AND (%(job)s::bigint IS NULL OR EXISTS (
        SELECT 1 FROM procrastinate_jobs
         WHERE id = %(job)s AND status = 'doing' AND worker_id = %(worker)s
           AND attempts = %(tries)s))
RETURNING *, EXISTS (
    SELECT 1 FROM checkpoint_writes
     WHERE thread_id = runs.thread_id::text AND checkpoint_ns = '' AND channel = '__interrupt__'
       AND checkpoint_id = (SELECT max(checkpoint_id) FROM checkpoints
                             WHERE thread_id = runs.thread_id::text AND checkpoint_ns = '')
) AS has_asked
"""
# What would be put back is forgotten with the end of a run that ends well.
_FINISH = """
WITH ended AS (
UPDATE engine.runs
   SET status = CASE WHEN cancel = 'rollback' THEN 'cancelled' ELSE %(status)s END,
       error = CASE WHEN cancel = 'rollback' OR %(status)s = 'cancelled' THEN error
                    ELSE %(error)s::jsonb END,
       token = NULL, finished_at = now()
 WHERE run_id = %(run)s AND token = %(token)s
RETURNING *
), forgotten AS (
DELETE FROM engine.writes_before
 USING ended WHERE writes_before.run_id = ended.run_id
   AND ended.status IN ('success', 'interrupted')
)
SELECT * FROM ended
"""
