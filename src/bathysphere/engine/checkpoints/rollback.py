"""Undo a run: delete its checkpoints, and its writes to the checkpoint it resumed from.

A run that was only stopped, or failed, keeps its results. But LangGraph has stored its answers with
the questions, even where a question is still open, and would use them before any later answer:
those are removed.
"""

from uuid import UUID

from bathysphere.engine.checkpoints.interrupted_steps import closing_id
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.records import Run


async def save_writes(connection: Connection, *, run_id: UUID, thread_id: UUID) -> None:
    """Save the pending writes that a resumed run starts from, so that they can be restored."""
    await connection.execute(_SAVE, {"run": run_id, "thread": str(thread_id)})


async def roll_back(connection: Connection, run: Run) -> None:
    """Restore the thread to its state before the run, within the caller's transaction."""
    names = [str(run.run_id), closing_id(run.run_id)]
    values = {"run": run.run_id, "names": names, "thread": str(run.thread_id)}
    for statement in _UNDO:
        await connection.execute(statement, values)


async def reopen_questions(connection: Connection, run: Run) -> None:
    """Reopen the questions that the run's answers did not finish, in the caller's transaction.

    Questions that were answered before the run stay answered.
    """
    values = {"run": run.run_id, "thread": str(run.thread_id)}
    for statement in _REOPEN:
        await connection.execute(statement, values)


_SAVE = """
INSERT INTO engine.writes_before
SELECT %(run)s, w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path, w.idx,
       w.channel, w.type, w.blob
  FROM checkpoint_writes w
  JOIN (SELECT checkpoint_ns, max(checkpoint_id) AS checkpoint_id
          FROM checkpoints WHERE thread_id = %(thread)s GROUP BY checkpoint_ns) head
 USING (checkpoint_ns, checkpoint_id)
 WHERE w.thread_id = %(thread)s
   AND NOT EXISTS (SELECT 1 FROM engine.writes_before WHERE run_id = %(run)s)
"""
_UNDO = (
    """
    DELETE FROM checkpoint_writes w USING checkpoints c
     WHERE w.thread_id = %(thread)s AND c.thread_id = w.thread_id
       AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id
       AND c.metadata ->> 'run_id' = ANY(%(names)s)
    """,
    """
    DELETE FROM checkpoints
     WHERE thread_id = %(thread)s AND metadata ->> 'run_id' = ANY(%(names)s)
    """,
    """
    DELETE FROM checkpoint_writes w
     USING (SELECT DISTINCT checkpoint_ns, checkpoint_id
              FROM engine.writes_before WHERE run_id = %(run)s) b
     WHERE w.thread_id = %(thread)s
       AND w.checkpoint_ns = b.checkpoint_ns AND w.checkpoint_id = b.checkpoint_id
    """,
    """
    INSERT INTO checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
      FROM engine.writes_before WHERE run_id = %(run)s
    """,
    "DELETE FROM engine.writes_before WHERE run_id = %(run)s",
)
# A finished task has results, whose index is 0 or more.
_UNFINISHED = """
       NOT EXISTS (SELECT 1 FROM checkpoint_writes done
                    WHERE (done.thread_id, done.checkpoint_ns, done.checkpoint_id, done.task_id)
                        = (w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id)
                      AND done.idx >= 0)
"""
_REOPEN = (
    f"""
    DELETE FROM checkpoint_writes w
     USING (SELECT checkpoint_ns, max(checkpoint_id) AS checkpoint_id
              FROM checkpoints WHERE thread_id = %(thread)s GROUP BY checkpoint_ns) head
     WHERE w.thread_id = %(thread)s AND w.channel = '__resume__'
       AND w.checkpoint_ns = head.checkpoint_ns AND w.checkpoint_id = head.checkpoint_id
       AND {_UNFINISHED}
    """.encode(),  # noqa: S608  # our own constant
    f"""
    INSERT INTO checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
      FROM engine.writes_before w
     WHERE run_id = %(run)s AND channel = '__resume__' AND {_UNFINISHED}
    ON CONFLICT DO NOTHING
    """.encode(),  # noqa: S608  # our own constant
    b"DELETE FROM engine.writes_before WHERE run_id = %(run)s",
)
