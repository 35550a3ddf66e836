"""Undo a run: its checkpoints go, and what it added to the checkpoint it resumed from goes too.

A run that is only stopped, or failed, keeps what it did. But LangGraph has written its answers down
beside the questions, also where the question is still open, and would use them before any later
answer: those are taken back.
"""

from uuid import UUID

from bathysphere.engine.closing import closing_id
from bathysphere.engine.database import Connection
from bathysphere.engine.records import Run


async def remember_writes(connection: Connection, *, run_id: UUID, thread_id: UUID) -> None:
    """Keep the pending writes a resumed run starts from, so that they can be put back."""
    await connection.execute(_REMEMBER, {"run": run_id, "thread": str(thread_id)})


async def roll_back(connection: Connection, run: Run) -> None:
    """Leave the thread as it was before the run, within the caller's transaction."""
    names = [str(run.run_id), closing_id(run.run_id)]
    values = {"run": run.run_id, "names": names, "thread": str(run.thread_id)}
    for statement in _UNDO:
        await connection.execute(statement, values)


async def give_back(connection: Connection, run: Run) -> None:
    """Open the questions again that the run's answers did not finish, in the caller's transaction.

    What had been answered before the run stays answered.
    """
    values = {"run": run.run_id, "thread": str(run.thread_id)}
    for statement in _GIVE_BACK:
        await connection.execute(statement, values)


_REMEMBER = """
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
# A task that is finished has results, and those have an index from 0 on.
_UNFINISHED = """
       NOT EXISTS (SELECT 1 FROM checkpoint_writes done
                    WHERE (done.thread_id, done.checkpoint_ns, done.checkpoint_id, done.task_id)
                        = (w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id)
                      AND done.idx >= 0)
"""
_GIVE_BACK = (
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
