"""Fenced checkpoints: a superseded attempt cannot write.

`FencedSaver` is LangGraph's PostgreSQL saver for one attempt. Each write is one statement that
first takes a share lock on the run's row if it has this attempt's token, and writes nothing
without that lock. A takeover changes the token, so it waits for a write in flight and makes every
later one fail. One statement also means that a worker paused while sending cannot leave a lock
behind.

What a task returned is stored together with the checkpoint that follows it, in the same statement,
if that comes within some milliseconds, which it does unless other tasks of the step go on. `aclose`
stores what is left.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.types.json import Jsonb
from typing_extensions import override

from bathysphere.core.errors import BathysphereError, StorageLost
from bathysphere.engine.database.pool import Pool, storage_errors
from bathysphere.engine.database.sealed_saver import SealedSaver
from bathysphere.engine.database.stored_bytes import CountBytes
from bathysphere.engine.encryption.cipher import MARK, TenantCipher
from bathysphere.engine.fencing import FENCE, superseded

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0)  # seconds between tries while PostgreSQL is unavailable
_JOIN_SECONDS = 0.01  # how long writes wait for the checkpoint that follows them


class _WriteKey(NamedTuple):
    """What identifies a write of the thread."""

    namespace: str
    checkpoint_id: str
    task_id: str
    idx: int


_Rows = dict[_WriteKey, Sequence[Any]]


class FencedSaver(SealedSaver):
    """The checkpoints of a thread, writable while this attempt holds the run."""

    def __init__(
        self,
        pool: Pool,
        *,
        run_id: UUID,
        token: int,
        cipher: TenantCipher,
        serde: SerializerProtocol | None = None,
        count_bytes: CountBytes | None = None,
        has_checkpoints: bool = True,
        joins_writes: bool = False,
    ) -> None:
        """Create the saver of an attempt.

        Args:
            pool: Connections to PostgreSQL.
            run_id: The run.
            token: The token of the attempt.
            cipher: Seals and opens the values of the run's tenant.
            serde: Serializer of the values.
            count_bytes: Called with the size of what is about to be stored.
            has_checkpoints: Whether the thread may have checkpoints. If not, none are looked for
                until this saver has stored one.
            joins_writes: Whether writes wait for the checkpoint that follows them. Call `aclose`
                at the end then.
        """
        super().__init__(pool, cipher, serde=serde)
        self._pool = pool
        self._run_id = run_id
        self._token = token
        self._count_bytes = count_bytes
        self._has_checkpoints = has_checkpoints
        self._joins_writes = joins_writes
        self._ordered = asyncio.Lock()
        self._thread_id = ""
        self._waiting: _Rows = {}
        self._timer: asyncio.TimerHandle | None = None
        self._storing: asyncio.Task[None] | None = None

    @override
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        if not self._has_checkpoints:
            return None
        await self.aclose()
        with storage_errors():
            return await super().aget_tuple(config)

    async def has_begun(self, thread_id: UUID) -> bool:
        """Whether the thread's newest checkpoint is from this run."""
        place = {"thread_id": str(thread_id), "checkpoint_ns": ""}
        newest = await self.aget_tuple({"configurable": place})
        return newest is not None and newest.metadata.get("run_id") == str(self._run_id)

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        place = config["configurable"]
        sealed, blobs = self._sealed_values(config, checkpoint, new_versions)
        values = {
            "thread": place["thread_id"],
            "ns": place["checkpoint_ns"],
            "id": checkpoint["id"],
            "parent": place.get("checkpoint_id"),
            "checkpoint": _jsonb({**checkpoint, "channel_values": sealed}),
            "metadata": _jsonb(get_serializable_checkpoint_metadata(config, metadata)),
            **_numbered("b", (blob[2:] for blob in blobs)),
        }
        self._has_checkpoints = True
        async with self._taken() as writes:
            statement = _put(len(blobs), len(writes))
            await self._write(statement, {**values, **_numbered("w", writes)})
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
        rows = self._dump_writes(
            place["thread_id"],
            place["checkpoint_ns"],
            place["checkpoint_id"],
            task_id,
            task_path,
            writes,
        )
        # One row per index: a statement may not touch a row twice.
        last: _Rows = {_WriteKey(row[1], row[2], row[3], row[5]): row[1:] for row in rows}
        marks = [channel in WRITES_IDX_MAP for channel, _ in writes]
        # Questions, answers and errors do not wait: no checkpoint follows them.
        if self._joins_writes and not any(marks):
            self._join(place["thread_id"], last)
        else:
            await self._store(place["thread_id"], list(last.values()), replaces=all(marks))

    def _join(self, thread_id: str, rows: _Rows) -> None:
        """Let writes wait for their checkpoint; the first of a task is kept, as in the table."""
        self._thread_id = thread_id
        self._waiting = {**rows, **self._waiting}
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_JOIN_SECONDS, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        if self._waiting and (self._storing is None or self._storing.done()):
            self._storing = asyncio.create_task(self._store_unfollowed())

    async def _store_unfollowed(self) -> None:
        # After a failure they wait again: the next checkpoint, or `aclose`, stores them or fails.
        with contextlib.suppress(BathysphereError, psycopg.Error):
            await self.aclose()

    async def aclose(self) -> None:
        """Store the writes that no checkpoint has followed."""
        if self._waiting or self._ordered.locked():
            async with self._taken() as rows:
                await self._store(self._thread_id, rows)

    @asynccontextmanager
    async def _taken(self) -> AsyncIterator[list[Sequence[Any]]]:
        """Take the waiting writes for a statement; if it fails, they wait again.

        One statement at a time: a checkpoint must not be stored before the writes that led to it.
        """
        async with self._ordered:
            taken, self._waiting = self._waiting, {}
            try:
                yield list(taken.values())
            except BaseException:
                self._waiting = {**self._waiting, **taken}
                raise

    async def _store(
        self, thread_id: str, rows: list[Sequence[Any]], *, replaces: bool = False
    ) -> None:
        if rows:
            values = {"thread": thread_id, **_numbered("w", rows)}
            await self._write(_put_writes(len(rows), replaces=replaces), values)

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


# Rows are written out, not sent as arrays: psycopg dumps arrays in Python, at twice the CPU cost.
# There are few lengths, so there are few statements to prepare.
@lru_cache(maxsize=256)
def _put(blobs: int, writes: int) -> bytes:
    parts = (_blobs(blobs) if blobs else "") + (_writes(writes) if writes else "")
    return f"""{FENCE}{parts}, saved AS (
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
    return f"{FENCE}{_writes(count, replaces=replaces)} SELECT 1 FROM fence".encode()  # noqa: S608


def _blobs(count: int) -> str:
    return f""", blobs AS (
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT %(thread)s, %(ns)s, b.channel, b.version, b.type, b.blob
      FROM fence, (VALUES {_rows("b", count, "text", "text", "text", "bytea")})
                  AS b (channel, version, type, blob)
    ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING
)"""  # noqa: S608  # our own names


def _writes(count: int, *, replaces: bool = False) -> str:
    on_conflict = (
        "UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob"
        if replaces
        else "NOTHING"
    )
    kinds = ("text", "text", "text", "text", "int", "text", "text", "bytea")
    return f""", writes AS (
    INSERT INTO checkpoint_writes
           (thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob)
    SELECT %(thread)s, w.ns, w.id, w.task, w.path, w.idx, w.channel, w.type, w.blob
      FROM fence, (VALUES {_rows("w", count, *kinds)})
                  AS w (ns, id, task, path, idx, channel, type, blob)
    ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO {on_conflict}
)"""  # noqa: S608  # our own names


def _rows(name: str, count: int, *kinds: str) -> str:
    return ", ".join(
        "(" + ", ".join(f"%({name}{row}_{n})s::{kind}" for n, kind in enumerate(kinds)) + ")"
        for row in range(count)
    )


def _size(value: Any) -> int:
    """Approximate stored bytes of a statement's value: blobs, and strings in the checkpoint."""
    if isinstance(value, bytes):
        return len(value)
    inline = value.obj.get("channel_values", {}) if isinstance(value, Jsonb) else {}
    texts = (text.get(MARK) if isinstance(text, dict) else text for text in inline.values())
    return sum(len(text) for text in texts if isinstance(text, str))


def _numbered(name: str, rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """The rows' values by the parameter names that `_rows` uses."""
    cells = ((row, n, v) for row, values in enumerate(rows) for n, v in enumerate(values))
    return {f"{name}{row}_{n}": value for row, n, value in cells}


def _jsonb(value: Any) -> Jsonb:
    return Jsonb(value, dumps=_dumps)


def _dumps(value: Any) -> bytes | str:
    try:
        return orjson.dumps(value)
    except TypeError:  # such as a number above 64 bits
        return json.dumps(value)
