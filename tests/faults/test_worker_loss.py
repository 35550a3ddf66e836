"""Workers die, pause and resume: nothing is lost or doubled, takeover within ten seconds."""

import asyncio
import signal
import time
from uuid import uuid4

import pytest
from engine_rig import Nursery, Rig, WorkerProcess

from bathysphere.engine.records import Work

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


def expected(name: str, steps: int) -> list[str]:
    return [f"{name}:{n}" for n in range(steps)]


async def has_taken_over(rig: Rig, run, attempt: int) -> float:
    began = time.monotonic()
    async with asyncio.timeout(15):
        while (await rig.runs.get(run.run_id, owner=run.owner)).attempt < attempt:  # noqa: ASYNC110  # another process changes it
            await asyncio.sleep(0.02)
    return time.monotonic() - began


def who(processes: list[WorkerProcess], pid: int) -> WorkerProcess:
    return next(process for process in processes if process.pid == pid)


async def test_a_run_survives_the_death_of_its_worker(rig: Rig, nursery: Nursery, within):
    with nursery.workers(rig.database, 2) as workers:
        thread = uuid4()
        run = await rig.start(
            thread, "steps", input={"items": ["hello"], "name": "a", "steps": 8, "delay": 0.3}
        )
        queued = await rig.start(thread, "steps", input={"name": "b", "steps": 2, "delay": 0})
        who(workers, await rig.in_journal(thread, "a:3")).kill()
        within(await has_taken_over(rig, run, 2), 10)
        assert (await rig.ended(run)).status == "success"
        assert (await rig.ended(queued)).status == "success"
    assert await rig.items(thread) == ["hello", *expected("a", 8), *expected("b", 2)]
    ran = await rig.journal(thread)
    assert [step for step in ran if ran.count(step) > 1] in ([], ["a:3"] * 2, ["a:4"] * 2)
    events = [entry.event() for entry in await rig.events(run)]
    assert [e.data["event"] for e in events if e.channel == "lifecycle"] == [
        "started",
        "running",
        "completed",
    ]


async def test_a_worker_that_wakes_after_takeover_cannot_write(rig: Rig, nursery: Nursery, within):
    with nursery.workers(rig.database, 2) as workers:
        thread = uuid4()
        run = await rig.start(thread, "steps", input={"name": "a", "steps": 12, "delay": 0.4})
        paused = who(workers, await rig.in_journal(thread, "a:2"))
        paused.send(signal.SIGSTOP)
        within(await has_taken_over(rig, run, 2), 10)
        await rig.in_journal(thread, "a:5")
        paused.send(signal.SIGCONT)
        assert (await rig.ended(run)).status == "success"
        await asyncio.sleep(1.0)  # the resumed worker has time to do damage
        assert await rig.items(thread) == expected("a", 12)
        # It finished its step, could not save it, and stopped there.
        assert await rig.executed_by(paused.pid, thread) == expected("a", 3)
        again = await rig.start(thread, "steps", input={"name": "b", "steps": 3, "delay": 0.1})
        assert (await rig.ended(again)).status == "success"
    assert await rig.items(thread) == [*expected("a", 12), *expected("b", 3)]
    assert (await rig.runs.get(run.run_id, owner=run.owner)).attempt == 2


async def test_a_tool_that_blocks_the_loop_past_the_takeover_time_runs_once(
    rig: Rig, nursery: Nursery
):
    with nursery.workers(rig.database, 2):
        thread = uuid4()
        run = await rig.start(thread, "blocker", input={"delay": 7.0})
        ended = await rig.ended(run, seconds=30)
    assert (ended.status, ended.attempt) == ("success", 1)
    assert await rig.journal(thread) == ["blocked"]
    assert await rig.items(thread, "blocker") == ["blocked"]


async def test_a_drained_worker_finishes_its_step_and_hands_the_run_on(
    rig: Rig, nursery: Nursery, within
):
    with nursery.workers(rig.database, 2) as workers:
        thread = uuid4()
        run = await rig.start(thread, "steps", input={"name": "a", "steps": 8, "delay": 0.3})
        holder = who(workers, await rig.in_journal(thread, "a:2"))
        began = time.monotonic()
        assert await asyncio.to_thread(holder.drain) == 0
        within(time.monotonic() - began, 5)
        ended = await rig.ended(run)
    assert (ended.status, ended.attempt, ended.strikes) == ("success", 2, 1)
    assert await rig.items(thread) == expected("a", 8)
    assert await rig.journal(thread) == expected("a", 8)  # no step ran twice


async def test_an_old_answer_is_never_used_for_a_new_question(rig: Rig, nursery: Nursery):
    with nursery.workers(rig.database, 2) as workers:
        thread = uuid4()
        asked = await rig.ended(await rig.start(thread, "asker", input={"delay": 1.0}))
        assert asked.status == "interrupted"
        (question,) = (await rig.state(thread, "asker")).interrupts
        run = await rig.start(thread, "asker", work=Work(resume={question.id: "yes"}))
        who(workers, await rig.in_journal(thread, "second")).kill()
        ended = await rig.ended(run)
        assert (ended.status, ended.attempt) == ("interrupted", 2)
    state = await rig.state(thread, "asker")
    assert state.values["items"] == ["first=yes"]
    assert [q.value["question"] for q in state.interrupts] == ["pay 1000?"]


async def test_lost_connections_lose_no_run(rig: Rig, nursery: Nursery):
    with nursery.workers(rig.database, 2):
        thread = uuid4()
        run = await rig.start(thread, "steps", input={"name": "a", "steps": 10, "delay": 0.2})
        for step in ("a:1", "a:4", "a:7"):
            await rig.in_journal(thread, step)
            await rig.cut_workers_off()
        ended = await rig.ended(run)
        assert ended.status == "success", ended.error
        after = await rig.start(thread, "steps", input={"name": "b", "steps": 1, "delay": 0})
        assert (await rig.ended(after)).status == "success"
    assert await rig.items(thread) == [*expected("a", 10), "b:0"]
