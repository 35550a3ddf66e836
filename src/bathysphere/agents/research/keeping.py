"""Where the sources of a run are kept: in the graph's store, beside the thread, not in its state.

A checkpoint is written at every step and a stream carries every update; the bytes of pages belong
into neither. What is read back is checked against the hashes that the state holds.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.store.base import BaseStore

from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.evidence.snapshots import Snapshot, SnapshotInfo, UnknownSnapshot, by_id

SPACE = "research"


class StoredSnapshots:
    """The snapshots of one thread in a LangGraph store."""

    def __init__(self, store: BaseStore, thread_id: str) -> None:
        self._store = store
        self._space = (SPACE, "snapshots", thread_id)

    async def put(self, snapshot: Snapshot) -> str:
        """Keep a snapshot; the same one twice is one."""
        value = {
            "info": snapshot.info.model_dump(),
            "body": base64.b64encode(snapshot.body).decode(),
            "text": base64.b64encode(snapshot.text_bytes).decode(),
        }
        await self._store.aput(self._space, snapshot.id, value, index=False)
        return snapshot.id

    async def get(self, snapshot_id: str) -> Snapshot:
        """Give a snapshot back, checked."""
        item = await self._store.aget(self._space, snapshot_id)
        if item is None:
            raise UnknownSnapshot(f"there is no snapshot {snapshot_id!r}")
        return _read(item.value)


async def snapshots_of(
    kept: StoredSnapshots, sources: Iterable[Mapping[str, Any]]
) -> dict[str, Snapshot]:
    """The snapshots that a state knows of, each the very one that it knows.

    Raises:
        CallerError: One was changed after it was taken.
    """
    found = [await kept.get(source["id"]) for source in sources]
    for snapshot, source in zip(found, sources, strict=True):
        if snapshot.info.model_dump() != dict(source):
            raise CallerError(f"the source {source['url']} is not what was read in this run")
    return by_id(found)


def _read(value: Mapping[str, Any]) -> Snapshot:
    try:
        body = base64.b64decode(value["body"], validate=True)
        text = base64.b64decode(value["text"], validate=True).decode("utf-8")
        snapshot = Snapshot(SnapshotInfo.model_validate(value["info"]), body, text)
    except (KeyError, ValueError, binascii.Error) as error:
        raise UpstreamError("a stored source cannot be read") from error
    snapshot.check()
    return snapshot
