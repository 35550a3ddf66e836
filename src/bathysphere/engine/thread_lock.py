"""Lock a thread while deciding about its runs, and update its status afterwards."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.errors import ThreadNotFound

IDLE_TIMEOUT = "set_config('idle_in_transaction_session_timeout', '4000', true)"
"""SQL for every statement that locks a thread: see `try_lock_thread`."""


async def lock_thread(connection: Connection, thread_id: UUID, *, owner: Owner) -> None:
    """Lock the thread until the transaction ends.

    Raises:
        ThreadNotFound: It does not exist or belongs to another owner.
    """
    if not await try_lock_thread(connection, thread_id, owner=owner):
        raise ThreadNotFound(f"Thread {thread_id} not found")


async def try_lock_thread(
    connection: Connection, thread_id: UUID, *, owner: Owner | None = None
) -> bool:
    """Lock the thread's row until the transaction ends; return False if there is none.

    A process that is paused or cut off would hold the lock forever, so the transaction may be idle
    for a few seconds only.
    """
    cursor = await connection.execute(
        _LOCK,
        {
            "thread": thread_id,
            "tenant": owner.tenant if owner is not None else None,
            "owner": owner.user if owner is not None else None,
        },
    )
    return await cursor.fetchone() is not None


async def lock_busy(
    connection: Connection,
    thread_id: UUID,
    *,
    owner: Owner,
    creates: bool,
    metadata: Mapping[str, Any],
) -> None:
    """Lock the thread, mark it busy and merge metadata, creating it if requested, in one statement.

    Raises:
        ThreadNotFound: It does not exist or belongs to another owner.
    """
    cursor = await connection.execute(
        _CREATE_BUSY if creates else _LOCK_BUSY,
        {
            "thread": thread_id,
            "tenant": owner.tenant,
            "owner": owner.user,
            "metadata": Jsonb(dict(metadata)),
        },
    )
    if await cursor.fetchone() is None:
        raise ThreadNotFound(f"Thread {thread_id} not found")


async def update_thread_status(connection: Connection, thread_id: UUID) -> None:
    """Set the thread's status from its runs. The caller holds the thread's lock."""
    await connection.execute(_UPDATE_STATUS, {"thread": thread_id})


# Not FOR UPDATE: it would also block statements that only reference the thread, such as a tool that
# records its effect while its run's row is locked, and we may be waiting for that row.
_LOCK = f"""
SELECT {IDLE_TIMEOUT}, engine.enter_tenant(tenant)
  FROM engine.threads
 WHERE thread_id = %(thread)s
   AND (%(owner)s::text IS NULL OR (tenant, owner) = (%(tenant)s::text, %(owner)s::text))
   FOR NO KEY UPDATE
""".encode()  # noqa: S608  # our own constant
_BUSY = "status = 'busy', updated_at = now(), metadata = thread.metadata || %(metadata)s"
_LOCK_BUSY = f"""
UPDATE engine.threads thread SET {_BUSY}
 WHERE thread_id = %(thread)s AND (tenant, owner) = (%(tenant)s, %(owner)s)
RETURNING {IDLE_TIMEOUT}
""".encode()  # noqa: S608  # our own constants
_CREATE_BUSY = f"""
INSERT INTO engine.threads AS thread (thread_id, tenant, owner, status, metadata)
VALUES (%(thread)s, %(tenant)s, %(owner)s, 'busy', %(metadata)s)
ON CONFLICT (thread_id) DO UPDATE SET {_BUSY}
 WHERE (thread.tenant, thread.owner) = (EXCLUDED.tenant, EXCLUDED.owner)
RETURNING {IDLE_TIMEOUT}
""".encode()  # noqa: S608  # our own constants
_UPDATE_STATUS = "SELECT engine.update_thread_status(%(thread)s)"
