"""Delete the rows of many threads with one statement per table, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.namespaces import engine_thread_namespace, owner_namespace
from bathysphere.engine.thread_lock import IDLE_TIMEOUT


class OwnedThread(NamedTuple):
    """A thread and its owner."""

    thread_id: UUID
    owner: Owner
    updated_at: datetime | None = None
    """When it was last used; if it was used since then, it is not deleted."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "OwnedThread":
        """Create from a row with `thread_id`, `tenant`, `owner` and `updated_at`."""
        owner = Owner(tenant=row["tenant"], user=row["owner"])
        return cls(row["thread_id"], owner, row["updated_at"])


async def lock_deletable(
    connection: Connection, threads: Sequence[OwnedThread]
) -> list[OwnedThread]:
    """Lock those of the threads that are idle, without waiting for any that are in use."""
    values = {
        "threads": [thread.thread_id for thread in threads],
        "seen": [thread.updated_at for thread in threads],
    }
    rows = await (await connection.execute(_LOCK_IDLE, values)).fetchall()
    locked = {row["thread_id"]: OwnedThread.from_row(row) for row in rows}
    # A second statement sees runs that were created before the lock was taken.
    active = await (await connection.execute(_ACTIVE, {"threads": list(locked)})).fetchall()
    for row in active:
        locked.pop(row["thread_id"], None)
    return list(locked.values())


async def delete_rows(connection: Connection, threads: Sequence[OwnedThread]) -> None:
    """Delete everything that belongs to the threads. The caller holds their locks.

    Two things stay: the money of payment sessions, and the workspaces' record of changed files,
    without its reference to the thread.
    """
    values = {
        "threads": [thread.thread_id for thread in threads],
        "texts": [str(thread.thread_id) for thread in threads],
        "tenants": list({thread.owner.tenant for thread in threads}),
        "spaces": [_space(thread) for thread in threads],
        "legacy_spaces": [_legacy_space(thread) for thread in threads],
    }
    for statement in DELETE:
        await connection.execute(statement, values)


def _space(thread: OwnedThread) -> str:
    return ".".join(engine_thread_namespace(thread.owner, str(thread.thread_id)))


def _legacy_space(thread: OwnedThread) -> str:
    root = owner_namespace(thread.owner)
    return ".".join((*root, "research", "snapshots", str(thread.thread_id)))


# As in `thread_lock`, the lock does not block statements that only reference the thread.
_LOCK_IDLE = f"""
SELECT thread.thread_id, thread.tenant, thread.owner, thread.updated_at, {IDLE_TIMEOUT}
  FROM engine.threads thread
  JOIN unnest(%(threads)s::uuid[], %(seen)s::timestamptz[]) AS wanted (thread_id, updated_at)
    ON wanted.thread_id = thread.thread_id
 WHERE thread.status <> 'busy' AND engine.is_tenant_here(thread.tenant)
   AND (wanted.updated_at IS NULL OR wanted.updated_at = thread.updated_at)
   FOR NO KEY UPDATE OF thread SKIP LOCKED
""".encode()  # noqa: S608  # our own constant
_ACTIVE = """
SELECT DISTINCT thread_id FROM engine.runs
 WHERE thread_id = ANY(%(threads)s) AND status IN ('pending', 'running')
"""
# Runs, effects, answers, schedules and saved writes are deleted with the thread's row. The range of
# prefixes is what the store's index can find; a dot and a slash are neighbours.
DELETE = (
    "DELETE FROM checkpoints WHERE thread_id = ANY(%(texts)s)",
    "DELETE FROM checkpoint_blobs WHERE thread_id = ANY(%(texts)s)",
    "DELETE FROM checkpoint_writes WHERE thread_id = ANY(%(texts)s)",
    """
    DELETE FROM store USING unnest(%(spaces)s::text[]) AS gone (space)
     WHERE store.prefix ~>=~ gone.space AND store.prefix ~<~ (gone.space || '/')
       AND (store.prefix = gone.space OR starts_with(store.prefix, gone.space || '.'))
    """,
    "DELETE FROM store WHERE prefix = ANY(%(legacy_spaces)s)",
    """
    UPDATE payments.charges SET memo = NULL
     WHERE thread_id = ANY(%(texts)s) AND memo IS NOT NULL
    """,
    """
    UPDATE engine.file_changes SET thread_id = NULL, run_id = NULL
     WHERE tenant = ANY(%(tenants)s) AND thread_id = ANY(%(threads)s) AND finished_at IS NOT NULL
    """,
    "DELETE FROM engine.threads WHERE thread_id = ANY(%(threads)s)",
)
