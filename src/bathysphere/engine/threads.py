"""Threads: conversations, each visible only to its owner."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.events.log import EventLog
from bathysphere.engine.namespaces import engine_thread_namespace, owner_namespace
from bathysphere.engine.records import THREAD_COLUMNS, Thread, ThreadSortBy, ThreadStatus
from bathysphere.engine.thread_lock import lock_thread


class Threads:
    """The threads of all owners; each call acts for one of them."""

    def __init__(self, pool: Pool, log: EventLog) -> None:
        self._pool = pool
        self._log = log

    async def create(
        self, thread_id: UUID, *, owner: Owner, metadata: Mapping[str, Any] | None = None
    ) -> Thread:
        """Create a thread; one that this owner already has is returned unchanged."""
        created = await self.try_create(thread_id, owner=owner, metadata=metadata)
        return created or await self.get(thread_id, owner=owner)

    async def try_create(
        self, thread_id: UUID, *, owner: Owner, metadata: Mapping[str, Any] | None = None
    ) -> Thread | None:
        """Create a thread; return None if its id is in use, by any owner."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "INSERT INTO engine.threads (thread_id, tenant, owner, metadata)"  # noqa: S608  # our constant
                    " VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
                    f" RETURNING {THREAD_COLUMNS}".encode(),
                    (thread_id, owner.tenant, owner.user, Jsonb(dict(metadata or {}))),
                )
            ).fetchone()
        return Thread.from_row(row) if row is not None else None

    async def get(self, thread_id: UUID, *, owner: Owner) -> Thread:
        """Return a thread."""
        async with tenant_connection(self._pool, owner) as connection:
            row = await (
                await connection.execute(
                    f"SELECT {THREAD_COLUMNS} FROM engine.threads"  # noqa: S608  # our constant
                    " WHERE thread_id = %s AND tenant = %s AND owner = %s".encode(),
                    (thread_id, owner.tenant, owner.user),
                )
            ).fetchone()
        if row is None:
            raise ThreadNotFound(f"Thread {thread_id} not found")
        return Thread.from_row(row)

    async def search(
        self,
        *,
        owner: Owner,
        status: ThreadStatus | None = None,
        metadata: Mapping[str, Any] | None = None,
        ids: Sequence[UUID] | None = None,
        title_contains: str = "",
        sort_by: ThreadSortBy = "updated_at",
        is_ascending: bool = False,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Thread]:
        """Return the owner's threads; by default the most recently used first."""
        order = f"{_ORDER[sort_by]} {'ASC' if is_ascending else 'DESC'}, thread_id"
        values = _filter(owner, status, metadata, ids, title_contains)
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (
                await connection.execute(
                    f"SELECT {THREAD_COLUMNS} FROM engine.threads WHERE {_WHERE}"  # noqa: S608  # our constant
                    f" ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s".encode(),
                    {**values, "limit": limit, "offset": offset},
                )
            ).fetchall()
        return [Thread.from_row(row) for row in rows]

    async def count(
        self,
        *,
        owner: Owner,
        status: ThreadStatus | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> int:
        """Count the owner's threads."""
        async with tenant_connection(self._pool, owner) as connection:
            row = await (
                await connection.execute(
                    f"SELECT count(*) AS n FROM engine.threads WHERE {_WHERE}".encode(),  # noqa: S608  # our constant
                    _filter(owner, status, metadata, None),
                )
            ).fetchone()
        return int(row["n"]) if row is not None else 0

    async def update(self, thread_id: UUID, *, owner: Owner, metadata: Mapping[str, Any]) -> Thread:
        """Merge metadata into the thread's, without marking it as recently used."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE engine.threads SET metadata = metadata || %s"
                " WHERE thread_id = %s AND tenant = %s AND owner = %s",
                (Jsonb(dict(metadata)), thread_id, owner.tenant, owner.user),
            )
        return await self.get(thread_id, owner=owner)

    async def copy(self, thread_id: UUID, *, to: UUID, owner: Owner) -> Thread:
        """Copy a thread and its history to a new id."""
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            values = {"from": thread_id, "to": to, "from_text": str(thread_id), "to_text": str(to)}
            for statement in _COPY:
                await connection.execute(statement, values)
        return await self.get(to, owner=owner)

    async def delete(self, thread_id: UUID, *, owner: Owner) -> None:
        """Delete the thread and everything that belongs to it, in one transaction.

        Two things stay: the money of its payment session, and the workspace's record of changed
        files, without its reference to the thread.

        Raises:
            ThreadBusy: It has an active run; cancel that first.
        """
        async with self.lock_idle(thread_id, owner=owner) as connection:
            values = {
                "thread": thread_id,
                "text": str(thread_id),
                **_store_prefixes(owner, thread_id),
            }
            for statement in _DELETE:
                await connection.execute(statement, values)
        await self._log.delete(thread_id)

    async def delete_temporary(self, *, after_seconds: float, limit: int = 100) -> list[UUID]:
        """Delete threads of stateless runs that ended `after_seconds` ago; return their ids.

        The delay leaves clients time to read the result.
        """
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute(_TEMPORARY, {"seconds": after_seconds, "limit": limit})
            ).fetchall()
        return await self._delete_found(rows)

    async def delete_unused(self, *, after_minutes: float, limit: int = 100) -> list[UUID]:
        """Delete threads whose last use was `after_minutes` ago; return their ids."""
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute(_UNUSED, {"minutes": after_minutes, "limit": limit})
            ).fetchall()
        return await self._delete_found(rows)

    async def _delete_found(self, rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
        deleted = []
        for row in rows:
            owner = Owner(tenant=row["tenant"], user=row["owner"])
            # Another worker deleted it first, or someone started a run on it.
            with suppress(ThreadNotFound, ThreadBusy):
                await self.delete(row["thread_id"], owner=owner)
                deleted.append(row["thread_id"])
        return deleted

    @asynccontextmanager
    async def lock_idle(self, thread_id: UUID, *, owner: Owner) -> AsyncIterator[Connection]:
        """Lock an idle thread in a transaction, so that its state can be changed without a run.

        Raises:
            ThreadBusy: It has an active run.
        """
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            row = await (
                await connection.execute(
                    "SELECT 1 FROM engine.runs"
                    " WHERE thread_id = %s AND status IN ('pending', 'running') LIMIT 1",
                    (thread_id,),
                )
            ).fetchone()
            if row is not None:
                raise ThreadBusy(
                    f"Thread {thread_id} has an active run", hint="cancel it, or wait for it to end"
                )
            yield connection


def _store_prefixes(owner: Owner, thread_id: UUID) -> dict[str, str]:
    """The store prefixes of a thread's items."""
    legacy = (*owner_namespace(owner), "research", "snapshots", str(thread_id))
    return {
        "space": ".".join(engine_thread_namespace(owner, str(thread_id))),
        "legacy_space": ".".join(legacy),
    }


def _filter(
    owner: Owner,
    status: ThreadStatus | None,
    metadata: Mapping[str, Any] | None,
    ids: Sequence[UUID] | None,
    title_contains: str = "",
) -> dict[str, Any]:
    return {
        "tenant": owner.tenant,
        "owner": owner.user,
        "status": status,
        "metadata": Jsonb(dict(metadata or {})),
        "ids": list(ids) if ids is not None else None,
        "title": [_pattern(word) for word in title_contains.split()],
    }


def _pattern(word: str) -> str:
    """A LIKE pattern for text that contains the word, with wildcards escaped."""
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


# The state of a thread changes with its runs, and each of them marks the thread as used.
_ORDER: Mapping[ThreadSortBy, str] = {
    "thread_id": "thread_id",
    "status": "status",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "state_updated_at": "updated_at",
}
_WHERE = """
tenant = %(tenant)s AND owner = %(owner)s
AND (%(status)s::text IS NULL OR status = %(status)s)
AND (%(ids)s::uuid[] IS NULL OR thread_id = ANY(%(ids)s))
AND metadata @> %(metadata)s
AND (cardinality(%(title)s::text[]) = 0 OR metadata ->> 'title' ILIKE ALL (%(title)s::text[]))
"""
# The newest run decides: a thread that was used again by a stateful run is kept. A webhook that is
# still to be sent needs the thread.
_TEMPORARY = """
SELECT run.thread_id, run.tenant, run.owner FROM engine.runs run
 WHERE run.deletes_thread AND run.finished_at < now() - make_interval(secs => %(seconds)s)
   AND NOT EXISTS (SELECT 1 FROM engine.runs later
                    WHERE later.thread_id = run.thread_id AND later.seq > run.seq)
   AND NOT EXISTS (SELECT 1 FROM engine.webhooks webhook
                    WHERE webhook.run_id = run.run_id AND webhook.dead_at IS NULL)
 ORDER BY run.finished_at LIMIT %(limit)s
"""
_UNUSED = """
SELECT thread_id, tenant, owner FROM engine.threads
 WHERE status <> 'busy' AND updated_at < now() - make_interval(secs => %(minutes)s * 60)
 ORDER BY updated_at LIMIT %(limit)s
"""
# Runs, effects, answers and saved writes are deleted with the thread's row.
_DELETE = (
    "DELETE FROM checkpoints WHERE thread_id = %(text)s",
    "DELETE FROM checkpoint_blobs WHERE thread_id = %(text)s",
    "DELETE FROM checkpoint_writes WHERE thread_id = %(text)s",
    """
    DELETE FROM store
     WHERE prefix = %(space)s OR starts_with(prefix, %(space)s || '.') OR prefix = %(legacy_space)s
    """,
    "UPDATE payments.charges SET memo = NULL WHERE thread_id = %(text)s AND memo IS NOT NULL",
    """
    UPDATE engine.file_changes SET thread_id = NULL, run_id = NULL
     WHERE thread_id = %(thread)s AND finished_at IS NOT NULL
    """,
    "DELETE FROM engine.threads WHERE thread_id = %(thread)s",
)
_COPY = (
    """
    INSERT INTO engine.threads (thread_id, tenant, owner, status, metadata)
    SELECT %(to)s, tenant, owner,
           CASE WHEN status = 'busy' THEN 'idle' ELSE status END, metadata
      FROM engine.threads WHERE thread_id = %(from)s
    """,
    """
    INSERT INTO checkpoints
           (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
            metadata)
    SELECT %(to_text)s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
           metadata
      FROM checkpoints WHERE thread_id = %(from_text)s
    """,
    """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(to_text)s, checkpoint_ns, channel, version, type, blob
      FROM checkpoint_blobs WHERE thread_id = %(from_text)s
    """,
    """
    INSERT INTO checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(to_text)s, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob
      FROM checkpoint_writes WHERE thread_id = %(from_text)s
    """,
)
