"""Export one person's data to a zip archive: one JSON file per kind, and one per thread."""

from collections.abc import AsyncIterator
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.resealing import MARKS
from bathysphere.engine.personal_data.deletion import Counts
from bathysphere.engine.personal_data.stored_values import StoredThread, open_row
from bathysphere.engine.personal_data.tables import PERSONAL_TABLES, PersonalTable, parameters

_PAGE = 500
_MEMORIES = ".@bathysphere.memories."
_IN_THREAD_FILES = frozenset(
    {"saved_writes", "checkpoints", "checkpoint_values", "checkpoint_writes"}
)


class Export:
    """Writes archives. Values of any graph are read without importing its types."""

    def __init__(
        self, pool: Pool, *, clock: Clock, serializer: SerializerProtocol | None = None
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._serializer = serializer or JsonPlusSerializer(allowed_msgpack_modules=[])

    async def write(self, owner: Owner, archive: ZipFile) -> Counts:
        """Write everything of the person, as of one moment; return the rows per kind."""
        counts: Counts = {}
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            for kind, table in PERSONAL_TABLES.items():
                if kind not in _IN_THREAD_FILES:
                    rows = [row async for row in _rows(connection, table, owner)]
                    rows = [self._opened(kind, row, owner) for row in rows]
                    counts |= _write_kind(archive, kind, rows)
            async for thread_id in _thread_ids(connection, owner):
                values = await self._thread(connection, thread_id, owner)
                _write(archive, f"threads/{thread_id}.json", values)
        manifest = {
            "tenant": owner.tenant,
            "user": owner.user,
            "exported_at": self._clock.now().isoformat(),
            "counts": counts,
        }
        _write(archive, "manifest.json", manifest)
        return counts

    async def _thread(self, connection: Connection, thread_id: str, owner: Owner) -> dict[str, Any]:
        """The stored states of a thread: its checkpoints, what they refer to, and its messages."""
        cipher = self._pool.encryption.tenant(owner.tenant)
        reader = StoredThread(thread_id, cipher, self._serializer)
        found: dict[str, Any] = {}
        for name, statement in _THREAD.items():
            cursor = await connection.execute(statement.encode(), {"thread": thread_id})
            found[name] = [reader.readable(row) for row in await cursor.fetchall()]
        messages: dict[str, BaseMessage] = {}
        for row in (*found["values"], *found["writes"]):
            _collect(row.get("value"), messages)
        return {"thread_id": thread_id, "messages": list(messages.values()), **found}

    def _opened(self, kind: str, row: dict[str, Any], owner: Owner) -> dict[str, Any]:
        return open_row(kind, row, self._pool.encryption.tenant(owner.tenant))


def _collect(value: Any, messages: dict[str, BaseMessage]) -> None:
    """Collect the messages of a value; each counts once, in its newest form."""
    if isinstance(value, BaseMessage):
        messages[value.id or f"unnamed-{len(messages)}"] = value
    elif isinstance(value, list | tuple):
        for part in value:
            _collect(part, messages)


async def _rows(
    connection: Connection, table: PersonalTable, owner: Owner
) -> AsyncIterator[dict[str, Any]]:
    statement = (
        f"SELECT to_jsonb(t) - %(without)s::text[] AS row FROM {table.table} t WHERE {table.where}"  # noqa: S608
    )
    async with connection.cursor() as cursor:
        values = {**parameters(owner), "without": list(table.without)}
        async for row in cursor.stream(statement.encode(), values):
            yield row["row"]


async def _thread_ids(connection: Connection, owner: Owner) -> AsyncIterator[str]:
    after = ""
    while True:
        values = {**parameters(owner), "after": after, "limit": _PAGE}
        rows = await (await connection.execute(_THREAD_IDS, values)).fetchall()
        for row in rows:
            yield row["thread_id"]
        if len(rows) < _PAGE:
            return
        after = rows[-1]["thread_id"]


def _write_kind(archive: ZipFile, kind: str, rows: list[dict[str, Any]]) -> Counts:
    if kind != "store":
        _write(archive, f"{kind}.json", rows)
        return {kind: len(rows)} if rows else {}
    memories = [row for row in rows if _MEMORIES in row["prefix"]]
    items = [row for row in rows if _MEMORIES not in row["prefix"]]
    return _write_kind(archive, "memories", memories) | _write_kind(archive, "store_items", items)


def _write(archive: ZipFile, name: str, value: Any) -> None:
    archive.writestr(name, dumps(value), compress_type=ZIP_DEFLATED)


_THREAD_IDS = b"""
SELECT thread_id::text AS thread_id FROM engine.threads
 WHERE tenant = %(tenant)s AND owner = %(user)s AND thread_id::text > %(after)s
 ORDER BY thread_id::text LIMIT %(limit)s
"""
_THREAD = {
    "checkpoints": f"""
    SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata,
           {MARKS} AS marks
      FROM checkpoints t WHERE thread_id = %(thread)s ORDER BY checkpoint_id
    """,  # noqa: S608  # our own constant
    "values": """
    SELECT checkpoint_ns, channel, version, type, blob
      FROM checkpoint_blobs WHERE thread_id = %(thread)s ORDER BY checkpoint_ns, channel, version
    """,
    "writes": """
    SELECT checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
      FROM checkpoint_writes WHERE thread_id = %(thread)s ORDER BY checkpoint_id, task_id, idx
    """,
    "saved_writes": """
    SELECT run_id::text AS run_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
      FROM engine.writes_before WHERE thread_id = %(thread)s ORDER BY run_id, checkpoint_id, idx
    """,
}
