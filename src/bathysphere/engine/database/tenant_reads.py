"""Reads as a tenant: row-level security in PostgreSQL shows only the owner's rows.

The ownership clauses of our statements are the first barrier, row-level security is the second. The
role and the owner are set per transaction, so that a pooled connection, even behind PgBouncer in
transaction mode, carries nothing over to its next user.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.store.base import BaseStore, Op, PutOp, Result, TTLConfig
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncCursor
from psycopg.rows import DictRow, dict_row
from typing_extensions import override

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.sealed_saver import SealedSaver
from bathysphere.engine.namespaces import owner_namespace


@asynccontextmanager
async def tenant_connection(pool: Pool, owner: Owner) -> AsyncIterator[Connection]:
    """Open a transaction that can only read, and only the owner's rows."""
    async with pool.connection() as connection, connection.transaction():
        space = ".".join(owner_namespace(owner)[1:])
        values = {"tenant": owner.tenant, "owner": owner.user, "space": space}
        await connection.execute(_SET_OWNER, values)
        yield connection


class TenantSaver(SealedSaver):
    """Read-only access to the checkpoints of one owner's threads."""

    def __init__(self, pool: Pool, owner: Owner) -> None:
        super().__init__(pool, pool.encryption.tenant(owner.tenant))
        self._pool = pool
        self._owner = owner

    @override
    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        async with (
            tenant_connection(self._pool, self._owner) as connection,
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            yield cursor


class NewestSaver(TenantSaver):
    """The newest checkpoints of several of an owner's threads, read with one query."""

    def __init__(self, pool: Pool, owner: Owner) -> None:
        super().__init__(pool, owner)
        self._newest: dict[str, CheckpointTuple | None] = {}

    async def fetch(self, thread_ids: Iterable[UUID]) -> None:
        """Read the newest root checkpoint of each thread."""
        names = [str(thread_id) for thread_id in thread_ids]
        self._newest = dict.fromkeys(names)
        async with self._cursor() as cursor:
            await cursor.execute(self.SELECT_SQL + _NEWEST, (names,), binary=True)
            rows = await cursor.fetchall()
        for row in rows:
            if row["checkpoint"]["v"] < _VERSION:  # needs a separate query
                del self._newest[row["thread_id"]]
            else:
                self._newest[row["thread_id"]] = await self._load_checkpoint_tuple(row)

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        place = config["configurable"]
        is_newest = not place.get("checkpoint_id") and not place.get("checkpoint_ns")
        if is_newest and place["thread_id"] in self._newest:
            return self._newest[place["thread_id"]]
        return await super().aget_tuple(config)


_reader: ContextVar[Owner | None] = ContextVar("reader", default=None)


class RowSecuredStore(AsyncPostgresStore):
    """LangGraph's store; reads through `TenantStore` are subject to row-level security."""

    def __init__(self, pool: Pool, *, index: Any = None, ttl: TTLConfig | None = None) -> None:
        super().__init__(conn=pool, index=index, ttl=ttl)
        self._pool = pool

    @override
    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        if (owner := _reader.get()) is None:
            async with super()._cursor(pipeline=pipeline) as cursor:
                yield cursor
            return
        async with (
            tenant_connection(self._pool, owner) as connection,
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            yield cursor


class TenantStore(BaseStore):
    """A store whose reads see one owner's items. Writes pass through unchanged."""

    def __init__(self, store: BaseStore, owner: Owner) -> None:
        self._store = store
        self._owner = owner
        self.supports_ttl = store.supports_ttl
        self.ttl_config = store.ttl_config

    @override
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        return self._store.batch(ops)

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        operations: list[Any] = list(ops)
        if any(isinstance(op, PutOp) for op in operations):
            return await self._store.abatch(operations)
        token = _reader.set(self._owner)
        try:
            return await self._store.abatch(operations)
        finally:
            _reader.reset(token)


_VERSION = 4  # older checkpoints store their pending sends elsewhere
_NEWEST = """
WHERE checkpoint_ns = '' AND (thread_id, checkpoint_id) IN (
    SELECT wanted.thread_id, (SELECT c.checkpoint_id FROM checkpoints c
                               WHERE c.thread_id = wanted.thread_id AND c.checkpoint_ns = ''
                               ORDER BY c.checkpoint_id DESC LIMIT 1)
      FROM unnest(%s::text[]) AS wanted (thread_id))
"""
_SET_OWNER = """
SELECT set_config('app.tenant', %(tenant)s, true), set_config('app.owner', %(owner)s, true),
       set_config('app.space', %(space)s, true), set_config('role', 'bathysphere_tenant', true)
"""
