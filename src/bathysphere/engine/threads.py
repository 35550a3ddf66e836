"""Threads: conversations that belong to somebody. What is not the caller's does not exist."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.engine.database import Connection, Pool
from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.events import EventLog
from bathysphere.engine.holding import lock_thread
from bathysphere.engine.records import Owner, Thread, ThreadStatus


class Threads:
    """The threads of all owners, one owner at a time."""

    def __init__(self, pool: Pool, log: EventLog) -> None:
        self._pool = pool
        self._log = log

    async def create(
        self, thread_id: UUID, *, owner: Owner, metadata: Mapping[str, Any] | None = None
    ) -> Thread:
        """Make a thread; asking again for one's own gives it back unchanged."""
        made = await self.make(thread_id, owner=owner, metadata=metadata)
        return made or await self.get(thread_id, owner=owner)

    async def make(
        self, thread_id: UUID, *, owner: Owner, metadata: Mapping[str, Any] | None = None
    ) -> Thread | None:
        """Make a thread; None when its id is in use, by whomever."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "INSERT INTO engine.threads (thread_id, tenant, owner, metadata)"
                    " VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING RETURNING *",
                    (thread_id, owner.tenant, owner.user, Jsonb(dict(metadata or {}))),
                )
            ).fetchone()
        return Thread.from_row(row) if row is not None else None

    async def get(self, thread_id: UUID, *, owner: Owner) -> Thread:
        """One thread."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT * FROM engine.threads"
                    " WHERE thread_id = %s AND tenant = %s AND owner = %s",
                    (thread_id, owner.tenant, owner.user),
                )
            ).fetchone()
        if row is None:
            raise ThreadNotFound(f"no thread {thread_id}")
        return Thread.from_row(row)

    async def search(
        self,
        *,
        owner: Owner,
        status: ThreadStatus | None = None,
        metadata: Mapping[str, Any] | None = None,
        ids: Sequence[UUID] | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Thread]:
        """The owner's threads, last used first."""
        values = _filter(owner, status, metadata, ids)
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute(
                    f"SELECT * FROM engine.threads WHERE {_WHERE}"  # noqa: S608  # our constant
                    " ORDER BY updated_at DESC LIMIT %(limit)s OFFSET %(offset)s".encode(),
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
        """How many of the owner's threads there are."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    f"SELECT count(*) AS n FROM engine.threads WHERE {_WHERE}".encode(),  # noqa: S608  # our constant
                    _filter(owner, status, metadata, None),
                )
            ).fetchone()
        return int(row["n"]) if row is not None else 0

    async def update(self, thread_id: UUID, *, owner: Owner, metadata: Mapping[str, Any]) -> Thread:
        """Merge metadata into the thread's."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE engine.threads SET metadata = metadata || %s, updated_at = now()"
                " WHERE thread_id = %s AND tenant = %s AND owner = %s",
                (Jsonb(dict(metadata)), thread_id, owner.tenant, owner.user),
            )
        return await self.get(thread_id, owner=owner)

    async def copy(self, thread_id: UUID, *, to: UUID, owner: Owner) -> Thread:
        """A thread of its own with the same history."""
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            values = {"from": thread_id, "to": to, "from_text": str(thread_id), "to_text": str(to)}
            for statement in _COPY:
                await connection.execute(statement, values)
        return await self.get(to, owner=owner)

    async def delete(self, thread_id: UUID, *, owner: Owner) -> None:
        """Remove the thread and all that belongs to it.

        Raises:
            ThreadBusy: It has a run; cancel that first.
        """
        async with self.hold(thread_id, owner=owner) as connection:
            for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
                await connection.execute(
                    f"DELETE FROM {table} WHERE thread_id = %s".encode(),  # noqa: S608  # our names
                    (str(thread_id),),
                )
            await connection.execute(
                "DELETE FROM engine.threads WHERE thread_id = %s", (thread_id,)
            )
        await self._log.delete(thread_id)

    @asynccontextmanager
    async def hold(self, thread_id: UUID, *, owner: Owner) -> AsyncIterator[Connection]:
        """Keep runs away from an idle thread, in a transaction: for changing its state by hand.

        Raises:
            ThreadBusy: It has a run.
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
                raise ThreadBusy(f"thread {thread_id} has a run", hint="cancel it, or wait for it")
            yield connection


def _filter(
    owner: Owner,
    status: ThreadStatus | None,
    metadata: Mapping[str, Any] | None,
    ids: Sequence[UUID] | None,
) -> dict[str, Any]:
    return {
        "tenant": owner.tenant,
        "owner": owner.user,
        "status": status,
        "metadata": Jsonb(dict(metadata or {})),
        "ids": list(ids) if ids is not None else None,
    }


_WHERE = """
tenant = %(tenant)s AND owner = %(owner)s
AND (%(status)s::text IS NULL OR status = %(status)s)
AND (%(ids)s::uuid[] IS NULL OR thread_id = ANY(%(ids)s))
AND metadata @> %(metadata)s
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
)
