"""Encrypt everything with the current key: what other keys, or none, have stored before.

It can be stopped and started again at any time, and while runs go on: what is done is skipped.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from bathysphere.engine.database.encryption_keys import check_keys, forget_key, recorded_keys
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.resealing import ALL, MARKS, TYPED_KEY, Reading, reseal
from bathysphere.engine.encryption.cipher import CIPHER, Encryption

_THREADS_AT_ONCE = 200
Counts = Mapping[str, Mapping[str, int]]
"""Values by table and key; the key of plain text is empty."""


class Progress(NamedTuple):
    """What a rotation has done so far."""

    threads: int
    rows: int


class KeyRotation:
    """Rewrites what was not stored with the current key."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # Not strict: plain text is what it is for.
        self._encryption = Encryption(pool.encryption.keys)

    async def run(self) -> AsyncIterator[Progress]:
        """Rewrite all threads, one after the other; yield the progress now and then.

        Raises:
            EncryptionKeyMissing: A key is missing.
            EncryptionKeyWrong: A key is another one under the same id.
            DecryptionFailed: A value was changed or moved.
        """
        async with self._pool.connection() as connection:
            await check_keys(connection, self._encryption)
        threads = rows = 0
        after = None
        while page := await self._threads(after):
            for row in page:
                rows += await self._thread(str(row["thread_id"]), row["tenant"])
            threads, after = threads + len(page), page[-1]["thread_id"]
            yield Progress(threads, rows)

    async def count(self) -> Counts:
        """Count the values by the key that they are stored with."""
        async with self._pool.connection() as connection:
            return {
                name: {
                    row["key"]: row["n"]
                    for row in await (await connection.execute(statement)).fetchall()
                }
                for name, statement in _COUNTS.items()
            }

    async def forget_unused(self) -> list[str]:
        """Forget the keys that nothing is stored with any more; return their ids."""
        counts = await self.count()
        used = {key for by_key in counts.values() for key in by_key} | {self._encryption.writer}
        async with self._pool.connection() as connection:
            unused = [key for key in await recorded_keys(connection) if key not in used]
            for key in unused:
                await forget_key(connection, key)
        return unused

    async def _threads(self, after: Any) -> list[Any]:
        values = {"after": after, "limit": _THREADS_AT_ONCE}
        async with self._pool.connection() as connection:
            return await (await connection.execute(_THREADS, values)).fetchall()

    async def _thread(self, thread_id: str, tenant: str) -> int:
        reading = Reading(thread_id=thread_id, cipher=self._encryption.tenant(tenant))
        async with self._pool.connection() as connection:
            await self._forget_words(connection, thread_id)
            return sum([await reseal(connection, table, reading, thread_id) for table in ALL])

    async def _forget_words(self, connection: Connection, thread_id: str) -> None:
        if not self._pool.encryption.indexes_messages:
            await connection.execute(
                "DELETE FROM engine.message_texts WHERE thread_id = %s", (thread_id,)
            )


_THREADS = """
SELECT thread_id, tenant FROM engine.threads
 WHERE %(after)s::uuid IS NULL OR thread_id > %(after)s::uuid
 ORDER BY thread_id LIMIT %(limit)s
"""
_JSON_KEY = rf"COALESCE(substring({{}} ->> '$sealed' from '^{CIPHER}\.([a-z0-9_-]+)\.'), '')"


def _typed(table: str) -> bytes:
    return f"""SELECT {TYPED_KEY} AS key, count(*) AS n FROM {table}
    WHERE type <> 'empty' GROUP BY 1""".encode()  # noqa: S608  # our own names


_COUNTS = {
    "channel values": _typed("checkpoint_blobs"),
    "pending writes": _typed("checkpoint_writes"),
    "saved writes": _typed("engine.writes_before"),
    "checkpoints": f"""
    SELECT {_JSON_KEY.format("v.value")} AS key, count(DISTINCT (t.thread_id, t.checkpoint_id)) AS n
      FROM checkpoints t, jsonb_each(t.checkpoint -> 'channel_values') v
     WHERE v.value <> 'null' AND NOT (v.value = 'true' AND v.key = ANY ({MARKS}))
     GROUP BY 1""".encode(),  # noqa: S608  # our own constants
    "runs": f"""
    SELECT {_JSON_KEY.format("(work -> 'sealed')")} AS key, count(*) AS n FROM engine.runs
     WHERE work ? 'sealed' OR jsonb_strip_nulls(work) ?| '{{input,update,context}}'
        OR work -> 'goto' <> '[]'
     GROUP BY 1""".encode(),  # noqa: S608  # our own constants
    "carried answers": f"""
    SELECT {_JSON_KEY.format("v.value")} AS key, count(*) AS n
      FROM engine.runs, jsonb_each(CASE jsonb_typeof(work -> 'resume') WHEN 'object'
                                   THEN work -> 'resume' ELSE '{{}}' END) v
     WHERE v.value <> 'null' GROUP BY 1""".encode(),  # noqa: S608  # our own constants
    "answers": f"""
    SELECT {_JSON_KEY.format("answer")} AS key, count(*) AS n FROM engine.answers
     WHERE answer <> 'null' GROUP BY 1""".encode(),  # noqa: S608  # our own constants
    "effects": f"""
    SELECT {_JSON_KEY.format("result")} AS key, count(*) AS n FROM engine.effects
     WHERE result IS NOT NULL AND result <> 'null' GROUP BY 1""".encode(),  # noqa: S608
}
