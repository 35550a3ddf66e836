"""Creating, looking up and cancelling runs."""

import asyncio
import time
from uuid import uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.core.identity import Owner
from bathysphere.engine.errors import RunIdTaken, RunNotFound, ThreadBusy, ThreadNotFound
from bathysphere.engine.records import Strategy, Work
from bathysphere.engine.runs.service import NewRun
from bathysphere.engine.runs.worker import WorkerOptions

pytestmark = pytest.mark.services
ONE_AT_A_TIME = WorkerOptions(concurrency=1, poll_seconds=0.5, beat_seconds=0.5)


def steps(name: str, count: int = 2, delay: float = 0.0) -> dict:
    return {"input": {"items": [f"said {name}"], "name": name, "steps": count, "delay": delay}}


def trace(name: str, count: int = 2) -> list[str]:
    return [f"said {name}", *(f"{name}:{n}" for n in range(count))]


async def ten_at_once(rig: Rig, thread, strategy: Strategy) -> list:
    async def one(n: int):
        try:
            return await rig.start(thread, "steps", strategy=strategy, **steps(f"r{n}", 3, 0.05))
        except ThreadBusy as busy:
            return busy

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(n)) for n in range(10)]
    return [task.result() for task in tasks]


async def test_a_run_ends_and_leaves_its_result_in_the_thread(rig: Rig):
    async with rig.working():
        run = await rig.ended(await rig.start(thread := uuid4(), "steps", **steps("a")))
    assert (run.status, run.attempt, run.error) == ("success", 1, None)
    assert await rig.items(thread) == trace("a")


async def test_ten_concurrent_runs_with_enqueue_run_in_order_and_none_is_lost(rig: Rig):
    async with rig.working():
        runs = await ten_at_once(rig, thread := uuid4(), "enqueue")
        ended = [await rig.ended(run) for run in runs]
    assert {run.status for run in ended} == {"success"}
    in_order = [run.work.input["name"] for run in sorted(ended, key=lambda run: run.seq)]
    assert await rig.items(thread) == [item for name in in_order for item in trace(name, 3)]


async def test_ten_concurrent_runs_with_reject_accept_one(rig: Rig):
    async with rig.working():
        results = await ten_at_once(rig, thread := uuid4(), "reject")
        (run,) = [result for result in results if not isinstance(result, ThreadBusy)]
        assert (await rig.ended(run)).status == "success"
    assert await rig.items(thread) == trace(run.work.input["name"], 3)


async def test_ten_concurrent_runs_with_interrupt_keep_the_last_and_explain_the_others(rig: Rig):
    async with rig.working():
        runs = await ten_at_once(rig, thread := uuid4(), "interrupt")
        ended = sorted([await rig.ended(run) for run in runs], key=lambda run: run.seq)
    assert [run.status for run in ended[:-1]] == ["cancelled"] * 9
    assert {run.error["code"] for run in ended[:-1]} == {"replaced"}
    assert ended[-1].status == "success"
    items = await rig.items(thread)
    assert items[-4:] == trace(ended[-1].work.input["name"], 3)
    assert len(items) == len(set(items))


async def test_ten_concurrent_runs_with_rollback_keep_only_the_last(rig: Rig):
    async with rig.working():
        await rig.ended(await rig.start(thread := uuid4(), "steps", **steps("before")))
        runs = await ten_at_once(rig, thread, "rollback")
        ended = sorted([await rig.ended(run) for run in runs], key=lambda run: run.seq)
    assert ended[-1].status == "success"
    assert await rig.items(thread) == trace("before") + trace(ended[-1].work.input["name"], 3)


async def test_interrupt_keeps_the_finished_steps_of_the_run_it_stops(rig: Rig):
    async with rig.working():
        thread = uuid4()
        first = await rig.start(thread, "steps", **steps("a", 50, 0.1))
        await rig.in_journal(thread, "a:2")
        second = await rig.start(thread, "steps", strategy="interrupt", **steps("b"))
        assert (await rig.ended(first)).status == "cancelled"
        assert (await rig.ended(second)).status == "success"
    items = await rig.items(thread)
    assert items[:3] == ["said a", "a:0", "a:1"]
    assert items[-3:] == trace("b")


async def test_rollback_leaves_no_trace_of_the_run_it_stops(rig: Rig):
    async with rig.working():
        thread = uuid4()
        await rig.ended(await rig.start(thread, "steps", **steps("before")))
        first = await rig.start(thread, "steps", **steps("a", 50, 0.1))
        await rig.in_journal(thread, "a:2")
        second = await rig.start(thread, "steps", strategy="rollback", **steps("b"))
        assert (await rig.ended(first)).status == "cancelled"
        assert (await rig.ended(second)).status == "success"
    assert await rig.items(thread) == trace("before") + trace("b")


async def test_rolling_back_an_answer_reopens_the_question(rig: Rig):
    async with rig.working():
        thread = uuid4()
        await rig.ended(await rig.start(thread, "asker", input={"delay": 5}))
        (question,) = (await rig.state(thread, "asker")).interrupts
        answer = await rig.start(thread, "asker", work=Work(resume={question.id: "yes"}))
        await rig.in_journal(thread, "second")
        await rig.runs.cancel(answer.run_id, owner=ALICE, action="rollback")
        assert (await rig.ended(answer)).status == "cancelled"
        state = await rig.state(thread, "asker")
        assert [q.id for q in state.interrupts] == [question.id]
        assert state.values.get("items", []) == []


async def test_cancelling_a_waiting_run_ends_it_at_once(rig: Rig):
    first = await rig.start(thread := uuid4(), "steps", **steps("a"))
    second = await rig.start(thread, "steps", **steps("b"))
    assert await rig.runs.cancel(second.run_id, owner=ALICE) == "cancelled"
    assert (await rig.events(second))[-1].event().data["event"] == "cancelled"
    async with rig.working():
        assert (await rig.ended(first)).status == "success"
    assert await rig.items(thread) == trace("a")
    assert await rig.runs.cancel(first.run_id, owner=ALICE) == "success"


async def test_cancelling_a_running_run_stops_it_soon(rig: Rig):
    async with rig.working():
        run = await rig.start(thread := uuid4(), "steps", **steps("a", 100, 0.2))
        await rig.in_journal(thread, "a:1")
        await rig.runs.cancel(run.run_id, owner=ALICE)
        ended = await rig.ended(run, seconds=2)
    assert (ended.status, ended.error["code"]) == ("cancelled", "cancelled")


async def test_creating_a_run_twice_with_one_id_creates_one_run(rig: Rig):
    new = NewRun(thread_id=uuid4(), graph="steps", work=Work(input=steps("a")["input"]))
    first = await rig.runs.create(new, owner=ALICE)
    again = await rig.runs.create(new, owner=ALICE)
    assert (first.is_new, again.is_new) == (True, False)
    assert again.run.run_id == first.run.run_id
    assert len(await rig.runs.list_of_thread(new.thread_id, owner=ALICE)) == 1


async def test_objects_of_other_owners_are_not_found(rig: Rig):
    run = await rig.start(thread := uuid4(), "steps", **steps("a"))
    with pytest.raises(ThreadNotFound):
        await rig.start(thread, "steps", owner=BOB, **steps("b"))
    with pytest.raises(RunNotFound):
        await rig.runs.get(run.run_id, owner=BOB)
    with pytest.raises(RunNotFound):
        await rig.runs.cancel(run.run_id, owner=BOB)
    assert await rig.runs.list_of_thread(thread, owner=BOB) == []
    same_tenant = Owner(tenant=ALICE.tenant, user="carol@a")
    with pytest.raises(RunNotFound):
        await rig.runs.get(run.run_id, owner=same_tenant)
    with pytest.raises(RunIdTaken):
        await rig.start(uuid4(), "steps", owner=BOB, run_id=run.run_id, **steps("b"))


async def test_the_backlog_of_one_tenant_does_not_delay_another(rig: Rig):
    for n in range(500):
        await rig.start(uuid4(), "steps", **steps(f"a{n}", 1, 0.0))
    async with rig.working(options=ONE_AT_A_TIME):
        await asyncio.sleep(0.3)
        run = await rig.start(uuid4(), "steps", owner=BOB, **steps("b", 1, 0.0))
        waited = await rig.ended(run)
        async with rig.pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT count(*) AS n FROM engine.runs WHERE tenant = 'alice'"
                    " AND started_at > %s AND started_at < %s",
                    (run.created_at, waited.started_at),
                )
            ).fetchone()
        assert row["n"] <= 2
        assert waited.status == "success"


async def test_the_next_run_of_a_thread_starts_without_waiting_for_a_poll(rig: Rig, within):
    slow_poll = WorkerOptions(concurrency=4, poll_seconds=30, beat_seconds=0.5)
    async with rig.working(options=slow_poll):
        await rig.ended(await rig.start(uuid4(), "steps", **steps("warm")))
        began = time.monotonic()
        runs = await ten_at_once(rig, thread := uuid4(), "enqueue")
        ended = [await rig.ended(run, seconds=25) for run in runs]
        took = time.monotonic() - began
    within(took, slow_poll.poll_seconds, "a run waited for a poll")
    assert {run.status for run in ended} == {"success"}
    in_order = [run.work.input["name"] for run in sorted(ended, key=lambda run: run.seq)]
    assert await rig.items(thread) == [item for name in in_order for item in trace(name, 3)]
