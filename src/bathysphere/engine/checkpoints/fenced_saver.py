"""Fenced checkpoints: a superseded attempt cannot write.

`FencedSaver` is LangGraph's PostgreSQL saver for one attempt. Each write is one statement that
first takes a share lock on the run's row if it has this attempt's token, and writes nothing
without that lock. A takeover changes the token, so it waits for a write in flight and makes every
later one fail. One statement also means that a worker paused while sending cannot leave a lock
behind.
"""

import asyncio
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.types.json import Jsonb
from typing_extensions import override

from bathysphere.core.errors import StorageLost
from bathysphere.engine.database.pool import Pool, storage_errors
from bathysphere.engine.database.stored_bytes import CountBytes
from bathysphere.engine.fencing import FENCE, superseded
from bathysphere.upstream import DeltaSnapshot

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)  # seconds between tries while PostgreSQL is unavailable


class FencedSaver(AsyncPostgresSaver):
    """The checkpoints of a thread, writable while this attempt holds the run."""

    def __init__(
        self,
        pool: Pool,
        *,
        run_id: UUID,
        token: int,
        serde: SerializerProtocol | None = None,
        count_bytes: CountBytes | None = None,
    ) -> None:
        super().__init__(pool, serde=serde)
        self._pool = pool
        self._run_id = run_id
        self._token = token
        self._count_bytes = count_bytes

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with storage_errors():
            return await super().aget_tuple(config)

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        place = config["configurable"]
        inline, stored = _split(checkpoint["channel_values"])
        versions = {name: v for name, v in new_versions.items() if name in stored}
        # Not in a thread, unlike upstream: the serializer holds the GIL anyway.
        blobs = self._dump_blobs(place["thread_id"], place["checkpoint_ns"], stored, versions)
        await self._write(
            _put(len(blobs)),
            {
                "thread": place["thread_id"],
                "ns": place["checkpoint_ns"],
                "id": checkpoint["id"],
                "parent": place.get("checkpoint_id"),
                "checkpoint": Jsonb({**checkpoint, "channel_values": inline}),
                "metadata": Jsonb(get_serializable_checkpoint_metadata(config, metadata)),
                **_numbered(blob[2:] for blob in blobs),
            },
        )
        return {
            "configurable": {
                "thread_id": place["thread_id"],
                "checkpoint_ns": place["checkpoint_ns"],
                "checkpoint_id": checkpoint["id"],
            }
        }

    @override
    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        place = config["configurable"]
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in writes)
        rows = self._dump_writes(
            place["thread_id"],
            place["checkpoint_ns"],
            place["checkpoint_id"],
            task_id,
            task_path,
            writes,
        )
        # One row per index: a statement may not touch a row twice.
        last = list({row[5]: row for row in rows}.values())
        if not last:
            return
        await self._write(
            _put_writes(len(last), replaces=replaces),
            {
                "thread": place["thread_id"],
                "ns": place["checkpoint_ns"],
                "id": place["checkpoint_id"],
                "task": task_id,
                "path": task_path,
                **_numbered(row[5:] for row in last),
            },
        )

    async def _write(self, statement: bytes, values: dict[str, Any]) -> None:
        if self._count_bytes is not None:
            await self._count_bytes(sum(map(_size, values.values())))
        fence = {"run": self._run_id, "token": self._token}
        for pause in (*_PAUSES, None):
            try:
                with storage_errors():
                    async with self._pool.connection() as connection:
                        filled = {**values, **fence}
                        cursor = await connection.execute(statement, filled, binary=True)
                        passed = await cursor.fetchone()
            except StorageLost:
                # Writes are idempotent, so they can be repeated after a lost connection.
                if pause is None:
                    raise
                await asyncio.sleep(pause)
                continue
            if passed is None:
                raise superseded(self._run_id)
            return


def _split(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    # As upstream stores them: scalars inside the checkpoint, everything else as a blob.
    inline: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, DeltaSnapshot):
            stored[name] = value
            inline[name] = True
        elif value is None or isinstance(value, str | int | float | bool):
            inline[name] = value
        else:
            stored[name] = value
    return inline, stored


# Rows are written out, not sent as arrays: psycopg dumps arrays in Python, at twice the CPU cost.
# There are few lengths, so there are few statements to prepare.
@lru_cache(maxsize=64)
def _put(count: int) -> bytes:
    blobs = f""", blobs AS (
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(thread)s, %(ns)s, b.channel, b.version, b.type, b.blob
      FROM fence, (VALUES {_rows(count, "text", "text", "text", "bytea")})
                  AS b (channel, version, type, blob)
    ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING
)"""  # noqa: S608  # our own names
    return f"""{FENCE}{blobs if count else ""}, saved AS (
    INSERT INTO checkpoints
           (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
    SELECT %(thread)s, %(ns)s, %(id)s, %(parent)s, %(checkpoint)s, %(metadata)s FROM fence
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id) DO UPDATE
       SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
)
SELECT 1 FROM fence
""".encode()  # noqa: S608  # our own names


@lru_cache(maxsize=64)
def _put_writes(count: int, *, replaces: bool) -> bytes:
    on_conflict = (
        "UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob"
        if replaces
        else "NOTHING"
    )
    return f"""{FENCE}, saved AS (
    INSERT INTO checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(thread)s, %(ns)s, %(id)s, %(task)s, %(path)s, w.idx, w.channel, w.type, w.blob
      FROM fence, (VALUES {_rows(count, "int", "text", "text", "bytea")})
                  AS w (idx, channel, type, blob)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO {on_conflict}
)
SELECT 1 FROM fence
""".encode()  # noqa: S608  # our own names


def _rows(count: int, *kinds: str) -> str:
    return ", ".join(
        "(" + ", ".join(f"%(v{row}_{n})s::{kind}" for n, kind in enumerate(kinds)) + ")"
        for row in range(count)
    )


def _size(value: Any) -> int:
    """Approximate stored bytes of a statement's value: blobs, and strings in the checkpoint."""
    if isinstance(value, bytes):
        return len(value)
    inline = value.obj.get("channel_values", {}) if isinstance(value, Jsonb) else {}
    return sum(len(text) for text in inline.values() if isinstance(text, str))


def _numbered(rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The rows' values by the parameter names that `_rows` uses."""
    cells = ((row, n, v) for row, values in enumerate(rows) for n, v in enumerate(values))
    return {f"v{row}_{n}": value for row, n, value in cells}
