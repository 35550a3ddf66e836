"""Threads: conversations, each visible only to its owner."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.resealing import COPIED, Reading, reseal
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.events.log import EventLog
from bathysphere.engine.records import (
    THREAD_COLUMNS,
    Thread,
    ThreadSortBy,
    ThreadStatus,
    ThreadTtl,
)
from bathysphere.engine.thread_deletion import OwnedThread, delete_rows, lock_deletable
from bathysphere.engine.thread_lock import lock_thread

_BATCH = 100
"""Threads that are deleted in one transaction."""


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
        self,
        thread_id: UUID,
        *,
        owner: Owner,
        metadata: Mapping[str, Any] | None = None,
        ttl_minutes: float | None = None,
    ) -> Thread | None:
        """Create a thread, to be deleted after its `ttl_minutes`; None if its id is in use."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    _CREATE,
                    {
                        "thread": thread_id,
                        "tenant": owner.tenant,
                        "owner": owner.user,
                        "metadata": Jsonb(dict(metadata or {})),
                        "ttl": ttl_minutes,
                    },
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
        where = _where(values)
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (
                await connection.execute(
                    f"SELECT {THREAD_COLUMNS} FROM engine.threads WHERE {where}"  # noqa: S608  # our constants
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
        values = _filter(owner, status, metadata, None)
        async with tenant_connection(self._pool, owner) as connection:
            row = await (
                await connection.execute(
                    f"SELECT count(*) AS n FROM engine.threads WHERE {_where(values)}".encode(),  # noqa: S608  # our constants
                    values,
                )
            ).fetchone()
        return int(row["n"]) if row is not None else 0

    async def update(
        self,
        thread_id: UUID,
        *,
        owner: Owner,
        metadata: Mapping[str, Any],
        ttl_minutes: float | None = None,
    ) -> Thread:
        """Merge metadata into the thread's, without marking it as recently used.

        With `ttl_minutes`, the thread is deleted so many minutes from now.
        """
        values = {
            "thread": thread_id,
            "tenant": owner.tenant,
            "owner": owner.user,
            "metadata": Jsonb(dict(metadata)),
            "ttl": ttl_minutes,
        }
        async with self._pool.connection() as connection:
            await connection.execute(_UPDATE, values)
        return await self.get(thread_id, owner=owner)

    async def ttl(self, thread_id: UUID, *, owner: Owner) -> ThreadTtl | None:
        """Return the thread's own time to live, if it has one."""
        async with tenant_connection(self._pool, owner) as connection:
            row = await (
                await connection.execute(
                    "SELECT ttl_minutes, expires_at FROM engine.threads WHERE thread_id = %s"
                    " AND tenant = %s AND owner = %s AND expires_at IS NOT NULL",
                    (thread_id, owner.tenant, owner.user),
                )
            ).fetchone()
        return ThreadTtl(row["ttl_minutes"], row["expires_at"]) if row is not None else None

    async def copy(self, thread_id: UUID, *, to: UUID, owner: Owner) -> Thread:
        """Copy a thread and its history to a new id."""
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            values = {"from": thread_id, "to": to, "from_text": str(thread_id), "to_text": str(to)}
            for statement in _COPY:
                await connection.execute(statement, values)
            await self._reseal_copy(connection, thread_id, to, owner)
        return await self.get(to, owner=owner)

    async def _reseal_copy(
        self, connection: Connection, thread_id: UUID, to: UUID, owner: Owner
    ) -> None:
        """Seal the copied values for their new thread: they open at the old one only."""
        encryption = self._pool.encryption
        if not encryption.keys.keys:
            return
        cipher = encryption.tenant(owner.tenant)
        reading = Reading(thread_id=str(thread_id), cipher=cipher, is_copy=True)
        for table in COPIED:
            await reseal(connection, table, reading, str(to))

    async def delete(self, thread_id: UUID, *, owner: Owner) -> None:
        """Delete the thread and everything that belongs to it, in one transaction.

        Raises:
            ThreadBusy: It has an active run; cancel that first.
        """
        async with self.lock_idle(thread_id, owner=owner) as connection:
            await delete_rows(connection, [OwnedThread(thread_id, owner)])
        await self._log.delete(thread_id)

    async def delete_idle(self, threads: Sequence[OwnedThread]) -> list[UUID]:
        """Delete those of the threads that are idle, in one transaction; return their ids."""
        async with self._pool.connection() as connection, connection.transaction():
            idle = await lock_deletable(connection, threads)
            await delete_rows(connection, idle)
        deleted = [thread.thread_id for thread in idle]
        await self._log.delete(*deleted)
        return deleted

    async def delete_temporary(self, *, after_seconds: float, limit: int = 1000) -> list[UUID]:
        """Delete threads of stateless runs that ended `after_seconds` ago; return their ids.

        The delay leaves clients time to read the result.
        """
        return await self._delete_found(_TEMPORARY, {"seconds": after_seconds, "limit": limit})

    async def delete_unused(
        self,
        *,
        after_minutes: float | None,
        by_tenant: Mapping[str, float | None] | None = None,
        limit: int = 1000,
    ) -> list[UUID]:
        """Delete threads whose last use was `after_minutes` ago; return their ids.

        `by_tenant` has the minutes of tenants that differ; None means never.
        """
        tenants = Jsonb(dict(by_tenant or {}))
        values = {"minutes": after_minutes, "by_tenant": tenants, "limit": limit}
        return await self._delete_found(_UNUSED, values)

    async def delete_expired(self, *, limit: int = 1000) -> list[UUID]:
        """Delete threads whose own time to live is over; return their ids."""
        return await self._delete_found(_EXPIRED, {"limit": limit})

    async def _delete_found(self, statement: str, values: Mapping[str, Any]) -> list[UUID]:
        """Delete the threads that a statement finds, in batches.

        Those that another worker deletes now, or that someone uses again, are skipped. After each
        batch it pauses for as long as the batch took, so that requests and runs come between.
        """
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(statement.encode(), values)).fetchall()
        deleted: list[UUID] = []
        loop = asyncio.get_running_loop()
        for start in range(0, len(rows), _BATCH):
            began = loop.time()
            batch = [OwnedThread.from_row(row) for row in rows[start : start + _BATCH]]
            deleted += await self.delete_idle(batch)
            await asyncio.sleep(loop.time() - began)
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
        "metadata": Jsonb(dict(metadata)) if metadata else None,
        "ids": list(ids) if ids is not None else None,
        "title": [_pattern(word) for word in title_contains.split()] or None,
    }


def _where(values: Mapping[str, Any]) -> str:
    """The conditions that have a value: a plan for all of them would suit none."""
    return " AND ".join(text for name, text in _WHERE.items() if values[name] is not None)


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
_WHERE: Mapping[str, str] = {
    "tenant": "tenant = %(tenant)s",
    "owner": "owner = %(owner)s",
    "status": "status = %(status)s",
    "ids": "thread_id = ANY(%(ids)s::uuid[])",
    "metadata": "metadata @> %(metadata)s",
    "title": "metadata ->> 'title' ILIKE ALL (%(title)s::text[])",
}
# The newest run decides: a thread that was used again by a stateful run is kept. A webhook that is
# still to be sent needs the thread.
_TEMPORARY = """
SELECT run.thread_id, run.tenant, run.owner, thread.updated_at
  FROM engine.runs run JOIN engine.threads thread USING (thread_id)
 WHERE run.deletes_thread AND run.finished_at < now() - make_interval(secs => %(seconds)s)
   AND engine.is_tenant_here(run.tenant)
   AND NOT EXISTS (SELECT 1 FROM engine.runs later
                    WHERE later.thread_id = run.thread_id AND later.seq > run.seq)
   AND NOT EXISTS (SELECT 1 FROM engine.webhooks webhook
                    WHERE webhook.run_id = run.run_id AND webhook.dead_at IS NULL)
 ORDER BY run.finished_at LIMIT %(limit)s
"""
_TTL = "now() + make_interval(secs => %(ttl)s::float8 * 60)"
_CREATE = f"""
INSERT INTO engine.threads (thread_id, tenant, owner, metadata, ttl_minutes, expires_at)
VALUES (%(thread)s, %(tenant)s, %(owner)s, %(metadata)s, %(ttl)s::float8, {_TTL})
ON CONFLICT DO NOTHING
RETURNING {THREAD_COLUMNS}
""".encode()  # noqa: S608  # our own constants
_UPDATE = f"""
UPDATE engine.threads
   SET metadata = metadata || %(metadata)s, ttl_minutes = COALESCE(%(ttl)s::float8, ttl_minutes),
       expires_at = COALESCE({_TTL}, expires_at)
 WHERE thread_id = %(thread)s AND tenant = %(tenant)s AND owner = %(owner)s
""".encode()  # noqa: S608  # our own constants
# A thread in use is deleted after its run.
_EXPIRED = """
SELECT thread_id, tenant, owner, updated_at FROM engine.threads
 WHERE expires_at <= now() AND status <> 'busy' AND engine.is_tenant_here(tenant)
 ORDER BY expires_at LIMIT %(limit)s
"""
_UNUSED = """
SELECT thread_id, tenant, owner, updated_at FROM engine.threads
 WHERE status <> 'busy' AND expires_at IS NULL AND engine.is_tenant_here(tenant)
   AND updated_at < now() - make_interval(secs => 60 *
       CASE WHEN %(by_tenant)s ? tenant THEN (%(by_tenant)s ->> tenant)::float8
            ELSE %(minutes)s::float8 END)
 ORDER BY updated_at LIMIT %(limit)s
"""
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
    """
    INSERT INTO engine.message_texts
           (thread_id, message_id, role, tenant, owner, position, body, words)
    SELECT %(to)s, message_id, role, tenant, owner, position, body, words
      FROM engine.message_texts WHERE thread_id = %(from)s
    """,
)
