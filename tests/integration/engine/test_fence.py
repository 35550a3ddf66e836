"""A superseded attempt cannot write, and a takeover waits for a write in flight."""

import asyncio
import time
from uuid import uuid4

import pytest
from engine_rig import Rig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from bathysphere.core.effects import Done, EffectKey, Fresh, Unknown
from bathysphere.engine.attempt_services.effects import PostgresEffectLog
from bathysphere.engine.checkpoints.fenced_saver import FencedSaver
from bathysphere.engine.errors import Superseded
from bathysphere.engine.records import Run

pytestmark = pytest.mark.services
KEY = EffectKey(namespace="", task="t1", call="call_1")


async def attempt(rig: Rig, run: Run) -> Run:
    opened = await rig.attempts.open(run.run_id)
    assert opened is not None
    return opened


def saver(rig: Rig, run: Run) -> FencedSaver:
    cipher = rig.pool.encryption.tenant(run.owner.tenant)
    return FencedSaver(rig.pool, run_id=run.run_id, token=run.token, cipher=cipher)


def effects(rig: Rig, run: Run) -> PostgresEffectLog:
    return PostgresEffectLog(rig.pool, run, token=run.token)


def place(run: Run) -> dict:
    return {"configurable": {"thread_id": str(run.thread_id), "checkpoint_ns": ""}}


def checkpoint(value: object) -> dict:
    return {**empty_checkpoint(), "channel_values": {"items": value, "n": 3}}


async def put(rig: Rig, run: Run, value: object) -> dict:
    versions = {"items": "1.0", "n": "1.0"}
    return await saver(rig, run).aput(place(run), checkpoint(value), {"step": 1}, versions)


async def test_the_plain_saver_reads_what_the_fenced_saver_wrote(rig: Rig):
    run = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    data = {**checkpoint(["x"]), "channel_versions": {"items": "1.0", "n": "1.0"}}
    where = await saver(rig, run).aput(place(run), data, {"step": 1}, data["channel_versions"])
    await saver(rig, run).aput_writes(where, [("items", ["y"]), ("n", 4)], "task", "path")
    found = await AsyncPostgresSaver(rig.pool).aget_tuple(place(run))
    assert found.checkpoint["channel_values"] == {"items": ["x"], "n": 3}
    assert found.pending_writes == [("task", "items", ["y"]), ("task", "n", 4)]
    assert found.metadata["step"] == 1


async def test_a_superseded_attempt_can_neither_save_a_checkpoint_nor_writes(rig: Rig):
    first = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    where = await put(rig, first, ["first"])
    second = await attempt(rig, first)
    with pytest.raises(Superseded):
        await put(rig, first, ["stale"])
    with pytest.raises(Superseded):
        await saver(rig, first).aput_writes(where, [("items", ["stale"])], "task")
    with pytest.raises(Superseded):
        await rig.attempts.finish(first, "success")
    with pytest.raises(Superseded):
        await rig.attempts.requeue(first, is_strike=True)
    found = await AsyncPostgresSaver(rig.pool).aget_tuple(place(first))
    assert (found.config, found.pending_writes) == (where, [])
    await put(rig, second, ["second"])


async def test_a_finished_run_accepts_no_writes(rig: Rig):
    run = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    await rig.attempts.finish(run, "success")
    with pytest.raises(Superseded):
        await put(rig, run, ["late"])


async def test_a_takeover_waits_for_the_write_in_flight(rig: Rig):
    run = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    async with rig.pool.connection() as connection, connection.transaction():
        # The lock that a write holds while it runs.
        await connection.execute(
            "SELECT 1 FROM engine.runs WHERE run_id = %s AND token = %s FOR SHARE",
            (run.run_id, run.token),
        )
        takeover = asyncio.create_task(rig.attempts.open(run.run_id))
        await asyncio.sleep(0.2)
        assert not takeover.done()
    assert (await takeover).attempt == 2


async def test_the_fence_costs_well_under_a_millisecond(rig: Rig, within):
    run = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    plain = AsyncPostgresSaver(rig.pool)
    fenced = saver(rig, run)

    async def median(which: AsyncPostgresSaver) -> float:
        spans = []
        for _ in range(60):
            began = time.perf_counter()
            await which.aput(place(run), checkpoint(["x"]), {"step": 1}, {"items": "1.0"})
            spans.append(time.perf_counter() - began)
        return sorted(spans)[30] * 1000

    await median(plain)
    within(await median(fenced) - await median(plain), 1.0)


async def test_an_effect_happens_once_and_its_result_is_returned(rig: Rig):
    first = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    assert await effects(rig, first).begin(KEY) == Fresh()
    await effects(rig, first).finish(KEY, {"paid": 21})
    second = await attempt(rig, first)
    assert await effects(rig, second).begin(KEY) == Done({"paid": 21})


async def test_an_unfinished_effect_is_unknown_until_it_is_resolved(rig: Rig):
    first = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    await effects(rig, first).begin(KEY)
    second = await attempt(rig, first)
    log = effects(rig, second)
    assert await log.begin(KEY) == Unknown()
    await log.forget(KEY)
    assert await log.begin(KEY) == Fresh()
    await log.finish(KEY, None)
    await log.forget(KEY)  # what happened stays
    assert await log.begin(KEY) == Done(None)


async def test_a_superseded_attempt_may_not_begin_an_effect(rig: Rig):
    first = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    await effects(rig, first).begin(KEY)
    second = await attempt(rig, first)
    with pytest.raises(Superseded):
        await effects(rig, first).begin(EffectKey(namespace="", task="t2", call="call_2"))
    # But it finished what it began and records it: the current attempt must know.
    await effects(rig, first).finish(KEY, "done")
    assert await effects(rig, second).begin(KEY) == Done("done")


async def test_only_one_of_two_concurrent_begins_is_fresh(rig: Rig):
    run = await attempt(rig, await rig.start(uuid4(), "steps", input={}))
    async with asyncio.TaskGroup() as group:
        begun = [group.create_task(effects(rig, run).begin(KEY)) for _ in range(8)]
    assert sorted(type(task.result()).__name__ for task in begun) == ["Fresh"] + ["Unknown"] * 7
