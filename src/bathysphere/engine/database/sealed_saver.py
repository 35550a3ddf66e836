"""LangGraph's PostgreSQL saver, with values sealed to their thread, channel and version.

A serializer alone, such as LangGraph's `EncryptedSerializer`, cannot do this: it does not learn
where a value is stored, and strings and numbers inside the checkpoint never pass through it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from typing_extensions import override

from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.encryption.cipher import TenantCipher
from bathysphere.engine.encryption.places import Place, channel_place, write_place
from bathysphere.upstream import DeltaSnapshot, follow_checkpoint_id

_delta_of: ContextVar[tuple[str, str]] = ContextVar("delta_of")
"""The thread and namespace whose history is read: upstream's rows do not name them."""
_EMPTY = "empty"


class SealedSaver(AsyncPostgresSaver):
    """The checkpoints of one tenant's threads.

    A thread's newest checkpoint is the one with the greatest id, which begins with the time of its
    making. Clocks of several machines differ, so ids follow every checkpoint that was read.
    """

    def __init__(
        self,
        conn: Pool | Connection,
        cipher: TenantCipher,
        *,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(conn, serde=serde)
        self._cipher = cipher

    @override
    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        place = config["configurable"]
        thread_id, namespace = place["thread_id"], place["checkpoint_ns"]
        inline, blobs = self._sealed_values(config, checkpoint, new_versions)
        row = (
            *(thread_id, namespace, checkpoint["id"], place.get("checkpoint_id")),
            Jsonb({**checkpoint, "channel_values": inline}),
            Jsonb(get_serializable_checkpoint_metadata(config, metadata)),
        )
        async with self._cursor(pipeline=True) as cursor:
            if blobs:
                await cursor.executemany(self.UPSERT_CHECKPOINT_BLOBS_SQL, blobs)
            await cursor.execute(self.UPSERT_CHECKPOINTS_SQL, row)
        found = {"thread_id": thread_id, "checkpoint_ns": namespace}
        return {"configurable": {**found, "checkpoint_id": checkpoint["id"]}}

    def _sealed_values(
        self, config: RunnableConfig, checkpoint: Checkpoint, new_versions: ChannelVersions
    ) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
        """The values of a checkpoint as they are stored: inside it, and as rows of blobs."""
        place = config["configurable"]
        thread_id, namespace = place["thread_id"], place["checkpoint_ns"]
        inline, stored = split_values(checkpoint["channel_values"])
        sealed = self._seal_inline(thread_id, namespace, inline, checkpoint["channel_versions"])
        versions = {name: v for name, v in new_versions.items() if name in stored}
        # Not in a thread, unlike upstream: the serializer holds the GIL anyway.
        return sealed, self._dump_blobs(thread_id, namespace, stored, versions)

    def _seal_inline(
        self,
        thread_id: str,
        namespace: str,
        values: Mapping[str, Any],
        versions: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Seal the scalars inside a checkpoint, but for the marks of snapshots."""
        return {
            name: True
            if value is _SNAPSHOT
            else self._cipher.seal_json(
                value, channel_place(thread_id, namespace, name, versions.get(name))
            )
            for name, value in values.items()
        }

    @override
    def _dump_blobs(
        self,
        thread_id: str,
        checkpoint_ns: str,
        values: dict[str, Any],
        versions: ChannelVersions,
    ) -> list[tuple[str, str, str, str, str, bytes | None]]:
        rows = super()._dump_blobs(thread_id, checkpoint_ns, values, versions)
        return [(*row[:4], *self._sealed(row[4], row[5], channel_place(*row[:4]))) for row in rows]

    def _sealed(self, kind: str, data: bytes | None, place: Place) -> tuple[str, bytes | None]:
        return (kind, None) if data is None else self._cipher.seal_typed(kind, data, place)

    @override
    def _dump_writes(
        self,
        thread_id: str,
        checkpoint_ns: str,
        checkpoint_id: str,
        task_id: str,
        task_path: str,
        writes: Sequence[tuple[str, Any]],
    ) -> list[tuple[str, str, str, str, str, int, str, str, bytes]]:
        rows = super()._dump_writes(
            thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, writes
        )
        return [
            (*row[:7], *self._cipher.seal_typed(row[7], row[8], _place_of_write(row)))
            for row in rows
        ]

    @override
    async def _load_checkpoint_tuple(self, value: DictRow) -> CheckpointTuple:
        follow_checkpoint_id(value["checkpoint_id"])
        checkpoint = value["checkpoint"]
        versions = checkpoint.get("channel_versions") or {}
        place = value["thread_id"], value["checkpoint_ns"]
        blobs = [
            (channel, *self._opened(kind, data, channel_place(*place, name, versions.get(name))))
            for channel, kind, data in value["channel_values"] or ()
            for name in (channel.decode(),)
        ]
        opened = {
            **value,
            "checkpoint": {
                **checkpoint,
                "channel_values": dict(self._inline(place, checkpoint, {b[0] for b in blobs})),
            },
            "channel_values": blobs,
            "pending_writes": [
                self._opened_write((*place, value["checkpoint_id"]), write)
                for write in value["pending_writes"] or ()
            ],
        }
        return await super()._load_checkpoint_tuple(opened)

    def _inline(
        self, place: tuple[str, str], checkpoint: Mapping[str, Any], blobs: set[bytes]
    ) -> Iterator[tuple[str, Any]]:
        versions = checkpoint.get("channel_versions") or {}
        for name, value in (checkpoint.get("channel_values") or {}).items():
            if name.encode() in blobs:  # the mark of a snapshot
                yield name, value
            else:
                where = channel_place(*place, name, versions.get(name))
                yield name, self._cipher.open_json(value, where)

    def _opened(self, kind: bytes, data: bytes, place: Place) -> tuple[bytes, bytes]:
        if kind == _EMPTY.encode():
            return kind, data
        plain, value = self._cipher.open_typed(kind.decode(), data, place)
        return plain.encode(), value

    def _opened_write(
        self, place: tuple[str, str, str], write: Sequence[bytes]
    ) -> tuple[bytes, ...]:
        task, channel, kind, data, path, idx = write
        where = write_place(*place, task.decode(), int(idx), channel.decode())
        return (task, channel, *self._opened(kind, data, where), path, idx)

    @override
    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        place = config["configurable"]
        token = _delta_of.set((place["thread_id"], place.get("checkpoint_ns", "")))
        try:
            return await super().aget_delta_channel_history(config=config, channels=channels)
        finally:
            _delta_of.reset(token)

    @override
    def _build_delta_channels_writes_history(
        self,
        *,
        channels: Sequence[str],
        chain_by_ch: Mapping[str, list[str]],
        seed_ver_by_ch: Mapping[str, str | None],
        seed_inline_by_ch: Mapping[str, Any],
        stage2_rows: Sequence[Any],
    ) -> dict[str, DeltaChannelHistory]:
        place = _delta_of.get()
        inline = {
            name: self._cipher.open_json(value, channel_place(*place, name, seed_ver_by_ch[name]))
            for name, value in seed_inline_by_ch.items()
        }
        return super()._build_delta_channels_writes_history(
            channels=channels,
            chain_by_ch=chain_by_ch,
            seed_ver_by_ch=seed_ver_by_ch,
            seed_inline_by_ch=inline,
            stage2_rows=[self._opened_row(place, row) for row in stage2_rows],
        )

    def _opened_row(self, place: tuple[str, str], row: Mapping[str, Any]) -> Any:
        if row["blob"] is None or row["type"] == _EMPTY:
            return row
        if row["_kind"] == "b":
            where = channel_place(*place, row["channel"], row["version"])
        else:
            found = row["checkpoint_id"], row["task_id"], row["idx"], row["channel"]
            where = write_place(*place, *found)
        kind, data = self._cipher.open_typed(row["type"], row["blob"], where)
        return {**row, "type": kind, "blob": data}


def _place_of_write(row: Sequence[Any]) -> Place:
    thread_id, namespace, checkpoint_id, task_id, _, idx, channel, *_ = row
    return write_place(thread_id, namespace, checkpoint_id, task_id, idx, channel)


class _Snapshot:
    """Marks the channel of a snapshot, whose value is a blob."""


_SNAPSHOT = _Snapshot()


def split_values(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split channel values as upstream stores them: scalars inside the checkpoint, others as blobs.

    Scalars are to be sealed with `_seal_inline`.
    """
    inline: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, DeltaSnapshot):
            stored[name] = value
            inline[name] = _SNAPSHOT
        elif value is None or isinstance(value, str | int | float | bool):
            inline[name] = value
        else:
            stored[name] = value
    return inline, stored
