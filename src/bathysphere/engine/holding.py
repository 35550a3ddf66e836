"""Holding a thread: whoever decides about its runs does so alone, and leaves it with its status."""

from uuid import UUID

from bathysphere.engine.database import Connection
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.records import Owner

HELD = "set_config('idle_in_transaction_session_timeout', '4000', true)"
"""SQL for every statement that takes a thread: see `hold_thread`."""


async def lock_thread(connection: Connection, thread_id: UUID, *, owner: Owner) -> None:
    """Hold the thread until the transaction ends; refuse one that is not this owner's."""
    if not await hold_thread(connection, thread_id, owner=owner):
        raise ThreadNotFound(f"no thread {thread_id}")


async def hold_thread(
    connection: Connection, thread_id: UUID, *, owner: Owner | None = None
) -> bool:
    """Lock the thread's row; False when there is none.

    A process that is stopped or cut off while it holds a thread would hold it for ever, so the
    transaction may be idle for some seconds only.
    """
    cursor = await connection.execute(
        _HOLD,
        {
            "thread": thread_id,
            "tenant": owner.tenant if owner is not None else None,
            "owner": owner.user if owner is not None else None,
        },
    )
    return await cursor.fetchone() is not None


async def settle_thread(connection: Connection, thread_id: UUID) -> None:
    """Give the thread the status its runs leave it in. The caller holds the thread."""
    await connection.execute(_SETTLE, {"thread": thread_id})


# Not FOR UPDATE: it would also hold back those who only refer to the thread, such as a tool that
# writes down its effect while its run's row is locked, and we may be waiting for that row.
_HOLD = f"""
SELECT {HELD}
  FROM engine.threads
 WHERE thread_id = %(thread)s
   AND (%(owner)s::text IS NULL OR (tenant, owner) = (%(tenant)s::text, %(owner)s::text))
   FOR NO KEY UPDATE
""".encode()  # noqa: S608  # our own constant
_SETTLE = """
UPDATE engine.threads SET updated_at = now(), status = CASE
       WHEN EXISTS (SELECT 1 FROM engine.runs
                     WHERE thread_id = %(thread)s AND status IN ('pending', 'running'))
       THEN 'busy'
       ELSE COALESCE(
            (SELECT CASE status WHEN 'interrupted' THEN 'interrupted'
                                WHEN 'error' THEN 'error' WHEN 'timeout' THEN 'error'
                                ELSE 'idle' END
               FROM engine.runs WHERE thread_id = %(thread)s ORDER BY seq DESC LIMIT 1),
            'idle')
       END
 WHERE thread_id = %(thread)s
"""
