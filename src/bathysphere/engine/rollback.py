"""Undo a run: its checkpoints go, and what it added to the checkpoint it resumed from goes too."""

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
