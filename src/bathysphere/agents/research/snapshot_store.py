"""Stored sources and call records of a research thread, outside its state.

Pages are too large for checkpoints and stream updates. They are kept in the graph's store, under
the thread's reserved namespace (`core.writers.thread_namespace`), which the HTTP API cannot reach
and which is deleted with the thread. Seals are verified on every read.
"""

import asyncio
import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

from langgraph.store.base import BaseStore

from bathysphere.agents.research.plan_seal import Sealer
from bathysphere.core.canonical import digest
from bathysphere.core.errors import NotAllowed, UpstreamError
from bathysphere.core.writers import thread_namespace
from bathysphere.evidence.snapshots import Snapshot, SnapshotInfo, UnknownSnapshot, by_id
from bathysphere.policy.permission import Call

SNAPSHOTS = ("research", "snapshots")
CALLS = ("research", "calls")
Result = dict[str, Any]

_storing: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
"""Snapshots being stored, by thread and id: researchers of one run read the same page at once."""


class SourceChanged(NotAllowed):
    """Stored data was modified after a run wrote it."""

    code = "source_changed"


class StoredSnapshots:
    """The snapshots of one thread in a LangGraph store, each sealed with the call that took it."""

    def __init__(self, store: BaseStore, thread_id: str, sealer: Sealer) -> None:
        self._store = store
        self._thread = thread_id
        self._sealer = sealer
        self._space = (*thread_namespace(thread_id), *SNAPSHOTS)

    async def put(self, snapshot: Snapshot, call: Call) -> Snapshot:
        """Store a snapshot; the same contents read again are the snapshot that is stored.

        An earlier report of the thread may rest on it, also on when it was read.

        Raises:
            SourceChanged: The stored snapshot was modified.
        """
        lock = _storing.setdefault((self._thread, snapshot.id), asyncio.Lock())
        async with lock:
            if await self._store.aget(self._space, snapshot.id) is not None:
                return await self.get(snapshot.id)
            await self._write(snapshot, call)
        return snapshot

    async def _write(self, snapshot: Snapshot, call: Call) -> None:
        info = snapshot.info.model_dump()
        made = call.model_dump()
        value = {
            "info": info,
            "body": base64.b64encode(snapshot.body).decode(),
            "text": base64.b64encode(snapshot.text_bytes).decode(),
            "call": made,
            "seal": self._sealer.seal(self._sealed(info, made)),
        }
        await self._store.aput(self._space, snapshot.id, value, index=False)

    async def get(self, snapshot_id: str) -> Snapshot:
        """Load a snapshot and verify it.

        Raises:
            UnknownSnapshot: It does not exist.
            SourceChanged: It was modified.
        """
        item = await self._store.aget(self._space, snapshot_id)
        if item is None:
            raise UnknownSnapshot(f"Unknown snapshot: {snapshot_id}")
        snapshot = _read(item.value)
        sealed = self._sealed(item.value["info"], item.value.get("call"))
        if snapshot.id != snapshot_id or not self._sealer.is_sealed(sealed, item.value.get("seal")):
            raise SourceChanged(f"Source was modified after it was read: {snapshot.info.url}")
        return snapshot

    def _sealed(self, info: Any, call: Any) -> dict[str, Any]:
        return {"of": "snapshot", "thread": self._thread, "call": call, "info": info}


class CallRecords:
    """The calls made under one approval, so that none is repeated from an earlier checkpoint.

    A run can be forked right after its approval, with its counters at zero. Recorded results are
    returned instead of making the calls again.
    """

    def __init__(self, store: BaseStore, thread_id: str, sealer: Sealer, *, grant: str) -> None:
        self._store = store
        self._thread = thread_id
        self._sealer = sealer
        self._grant = grant
        self._space = (*thread_namespace(thread_id), *CALLS)

    async def get(self, call: Call) -> Result | None:
        """The recorded result of a call, if any.

        Raises:
            SourceChanged: The record was modified.
        """
        item = await self._store.aget(self._space, self._key(call))
        if item is None:
            return None
        result: Any = item.value.get("result")
        if not self._sealer.is_sealed(self._sealed(call, result), item.value.get("seal")):
            raise SourceChanged(f"Call record was modified: {call.tool} {call.input}")
        return dict(result)

    async def put(self, call: Call, result: Result) -> None:
        """Record the result of a call."""
        value = {"result": result, "seal": self._sealer.seal(self._sealed(call, result))}
        await self._store.aput(self._space, self._key(call), value, index=False)

    def _key(self, call: Call) -> str:
        return digest([self._grant, call.model_dump()])

    def _sealed(self, call: Call, result: Any) -> dict[str, Any]:
        made = {"thread": self._thread, "grant": self._grant, "call": call.model_dump()}
        return {"of": "call", **made, "result": result}


async def snapshots_of(
    stored: StoredSnapshots, sources: Iterable[Mapping[str, Any]]
) -> dict[str, Snapshot]:
    """Load the snapshots listed in a state and check that they match it.

    Raises:
        SourceChanged: One was modified.
    """
    found = [await stored.get(source["id"]) for source in sources]
    for snapshot, source in zip(found, sources, strict=True):
        if snapshot.info.model_dump() != dict(source):
            raise SourceChanged(f"Source was modified after it was read: {source['url']}")
    return by_id(found)


def _read(value: Mapping[str, Any]) -> Snapshot:
    try:
        body = base64.b64decode(value["body"], validate=True)
        text = base64.b64decode(value["text"], validate=True).decode("utf-8")
        snapshot = Snapshot(SnapshotInfo.model_validate(value["info"]), body, text)
    except (KeyError, ValueError, binascii.Error) as error:
        raise UpstreamError("Stored source is unreadable") from error
    snapshot.check()
    return snapshot
