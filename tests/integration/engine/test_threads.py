"""Threads are visible only to their owner."""

import asyncio
from uuid import uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.threads import Threads

pytestmark = pytest.mark.services


@pytest.fixture
def threads(rig: Rig) -> Threads:
    return rig.threads


async def test_a_thread_is_found_by_its_owner_only(threads: Threads):
    thread = await threads.create(uuid4(), owner=ALICE, metadata={"topic": "fish"})
    await threads.create(uuid4(), owner=ALICE, metadata={"topic": "birds"})
    await threads.create(uuid4(), owner=BOB, metadata={"topic": "fish"})
    assert await threads.search(owner=ALICE, metadata={"topic": "fish"}) == [thread]
    assert await threads.count(owner=ALICE) == 2
    assert await threads.search(owner=ALICE, status="busy") == []
    assert await threads.search(owner=BOB, ids=[thread.thread_id]) == []
    with pytest.raises(ThreadNotFound):
        await threads.get(thread.thread_id, owner=BOB)
    with pytest.raises(ThreadNotFound):
        await threads.create(thread.thread_id, owner=BOB)
    with pytest.raises(ThreadNotFound):
        await threads.update(thread.thread_id, owner=BOB, metadata={"topic": "theft"})
    with pytest.raises(ThreadNotFound):
        await threads.copy(thread.thread_id, to=uuid4(), owner=BOB)
    with pytest.raises(ThreadNotFound):
        await threads.delete(thread.thread_id, owner=BOB)
    assert (await threads.get(thread.thread_id, owner=ALICE)).metadata == {"topic": "fish"}


async def test_metadata_is_merged(threads: Threads):
    thread = await threads.create(uuid4(), owner=ALICE, metadata={"a": 1, "b": 1})
    changed = await threads.update(thread.thread_id, owner=ALICE, metadata={"b": 2})
    assert changed.metadata == {"a": 1, "b": 2}


async def test_a_renamed_thread_keeps_its_place_in_the_list(threads: Threads):
    old = await threads.create(uuid4(), owner=ALICE, metadata={"title": "Old"})
    new = await threads.create(uuid4(), owner=ALICE, metadata={"title": "New"})
    renamed = await threads.update(old.thread_id, owner=ALICE, metadata={"title": "Renamed"})
    assert renamed.updated_at == old.updated_at
    assert await threads.search(owner=ALICE) == [new, renamed]


async def test_the_thread_status_follows_its_runs(rig: Rig, threads: Threads):
    thread = uuid4()
    run = await rig.start(thread, "asker", input={"items": []})
    assert (await threads.get(thread, owner=ALICE)).status == "busy"
    async with rig.working():
        await rig.ended(run)
    assert (await threads.get(thread, owner=ALICE)).status == "interrupted"


async def test_a_copied_thread_is_independent(rig: Rig, threads: Threads):
    original, copy = uuid4(), uuid4()
    async with rig.working():
        await rig.ended(await rig.start(original, "steps", input={"name": "a", "steps": 2}))
        await threads.copy(original, to=copy, owner=ALICE)
        await rig.ended(await rig.start(copy, "steps", input={"name": "b", "steps": 1}))
    assert await rig.items(original) == ["a:0", "a:1"]
    assert await rig.items(copy) == ["a:0", "a:1", "b:0"]


async def test_a_deleted_thread_leaves_nothing(rig: Rig, threads: Threads):
    thread = uuid4()
    run = await rig.start(thread, "steps", input={"name": "a", "steps": 2})
    with pytest.raises(ThreadBusy):
        await threads.delete(thread, owner=ALICE)
    async with rig.working():
        await rig.ended(run)
    await threads.delete(thread, owner=ALICE)
    async with rig.pool.connection() as connection:
        for table in ("engine.runs", "checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            rows = await (await connection.execute(f"SELECT 1 FROM {table}")).fetchall()
            assert rows == [], table


async def test_a_locked_thread_accepts_no_run(rig: Rig, threads: Threads):
    thread = uuid4()
    await threads.create(thread, owner=ALICE)
    async with threads.lock_idle(thread, owner=ALICE):
        starting = asyncio.create_task(rig.start(thread, "steps", input={"name": "a", "steps": 1}))
        await asyncio.sleep(0.2)
        assert not starting.done()
    assert (await starting).status == "pending"
    with pytest.raises(ThreadBusy):
        async with threads.lock_idle(thread, owner=ALICE):
            pass
