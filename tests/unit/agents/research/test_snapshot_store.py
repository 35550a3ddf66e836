"""Stored sources: researchers of one run may read the same page at the same time."""

import asyncio
from datetime import UTC, datetime, timedelta

from langgraph.store.memory import InMemoryStore

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.agent import sealer_of
from bathysphere.agents.research.snapshot_store import StoredSnapshots, snapshots_of
from bathysphere.evidence.snapshots import take_snapshot
from bathysphere.policy.permission import Call

BEGUN = datetime(2026, 11, 16, tzinfo=UTC)


class SlowStore(InMemoryStore):
    """Lets other tasks run between a read and the write that follows it."""

    async def aget(self, *place, **options):
        found = await super().aget(*place, **options)
        await asyncio.sleep(0)
        return found


async def test_one_page_read_twice_at_once_is_one_snapshot():
    stored = StoredSnapshots(SlowStore(), "t", sealer_of(ResearchConfig(key=b"k" * 32)))
    reads = [
        (
            take_snapshot("corpus:x", b"x", "text", fetched_at=BEGUN + timedelta(seconds=number)),
            Call(step=f"s{number}", tool="search_corpus", input="x"),
        )
        for number in range(3)
    ]
    kept = await asyncio.gather(*(stored.put(*read) for read in reads))
    sources = [snapshot.info.model_dump() for snapshot in kept]
    assert sources[0] == sources[1] == sources[2]
    assert len(await snapshots_of(stored, sources)) == 1
