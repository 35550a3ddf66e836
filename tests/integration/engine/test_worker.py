"""A worker brings every run to a readable end."""

import asyncio
import itertools
import re
from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.engine.records import Run, Work
from bathysphere.engine.runs.attempts import Attempts
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.probation import Probation

pytestmark = pytest.mark.services


async def test_a_run_publishes_its_events_and_its_end(rig: Rig):
    async with rig.working():
        run = await rig.start(uuid4(), "steps", input={"items": [], "name": "a", "steps": 1})
        events = [entry.event() for entry in await rig.events(run)]
    assert [(e.channel, e.data["event"]) for e in events if e.channel == "lifecycle"] == [
        ("lifecycle", "started"),
        ("lifecycle", "completed"),
    ]
    assert [e.data["node"] for e in events if e.channel == "updates"] == ["start", "step"]
    assert {e.attempt for e in events} == {1}


async def test_a_question_ends_the_run_and_its_answer_continues_it(rig: Rig):
    async with rig.working():
        thread = uuid4()
        asked = await rig.start(thread, "asker", input={"items": ["hi"]})
        events = [entry.event() for entry in await rig.events(asked)]
        (question,) = [e.data for e in events if e.channel == "input"]
        assert question["payload"]["question"] == "first?"
        assert (await rig.ended(asked)).status == "interrupted"
        answer = Work(resume={question["interrupt_id"]: "yes"})
        assert (await rig.ended(await rig.start(thread, "asker", work=answer))).status == (
            "interrupted"
        )
        (second,) = (await rig.state(thread, "asker")).interrupts
        last = await rig.start(thread, "asker", work=Work(resume={second.id: "no"}))
        assert (await rig.ended(last)).status == "success"
    assert await rig.items(thread, "asker") == ["hi", "first=yes", "second=no"]


async def test_transient_errors_are_retried(rig: Rig):
    async with rig.working(limits=Limits(attempts=5, retry_seconds=0.05)):
        run = await rig.start(thread := uuid4(), "failing", input={"name": "", "steps": 2})
        ended = await rig.ended(run)
    assert (ended.status, ended.attempt) == ("success", 3)
    assert await rig.journal(thread) == ["tried"] * 3


async def test_retries_end_with_a_readable_error(rig: Rig):
    async with rig.working(limits=Limits(attempts=3, retry_seconds=0.05)):
        run = await rig.start(thread := uuid4(), "failing", input={"name": "", "steps": 99})
        ended = await rig.ended(run)
        events = [entry.event() for entry in await rig.events(run)]
    assert ended.status == "error"
    assert ended.error == {
        "code": "upstream_error",
        "message": "The model is unavailable",
        "hint": None,
    }
    assert await rig.journal(thread) == ["tried"] * 3
    assert events[-1].data["error"] == ended.error


async def test_a_bug_is_not_retried(rig: Rig):
    async with rig.working():
        run = await rig.start(thread := uuid4(), "failing", input={"name": "bug", "steps": 0})
        ended = await rig.ended(run)
    assert ended.status == "error"
    assert ended.error["code"] == "run_failed"
    assert await rig.journal(thread) == ["tried"]


async def test_the_text_of_an_unknown_error_is_logged_and_not_sent_to_clients(rig: Rig, caplog):
    async with rig.working():
        run = await rig.start(uuid4(), "failing", input={"name": "bug", "steps": 0})
        ended = await rig.ended(run)
    message = ended.error["message"]
    found = re.fullmatch(
        r"The run failed because of an internal error \(reference (err_[0-9a-f]{32})\)\.", message
    )
    assert found, message
    assert "a bug in a tool" not in str(ended.error)
    record = next(r for r in caplog.records if found[1] in r.getMessage())
    assert "a bug in a tool" in str(record.exc_info[1])


async def test_a_run_whose_worker_always_dies_ends_with_a_readable_error(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    for _ in range(3):
        assert await rig.attempts.open(run.run_id) is not None  # and abandoned
    async with rig.working(limits=Limits(attempts=3)):
        ended = await rig.ended(run)
    assert (ended.status, ended.error["code"]) == ("error", "too_many_attempts")
    assert "3 attempts" in ended.error["message"]


_NUMBERS = itertools.count()


async def lose_a_worker(rig: Rig, run: Run, *, progress: bool = False) -> None:
    """Open an attempt and abandon it."""
    assert await rig.attempts.open(run.run_id) is not None
    if progress:
        async with rig.pool.connection() as connection:
            await connection.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint, metadata)"
                " VALUES (%s, %s, '{}', '{}')",
                (str(run.thread_id), f"1{next(_NUMBERS):06}"),
            )


async def test_a_run_that_loses_two_workers_without_progress_is_set_aside(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    for _ in range(2):
        await lose_a_worker(rig, run)
    async with rig.working():
        ended = await rig.ended(run)
        events = [entry.event() for entry in await rig.events(run)]
    assert (ended.status, ended.error["code"]) == ("error", "worker_lost")
    assert "2 workers died" in ended.error["message"]
    assert events[-1].data["error"] == ended.error


async def test_a_run_that_makes_progress_may_lose_any_number_of_workers(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    for _ in range(7):
        await lose_a_worker(rig, run, progress=True)
    opened = await rig.attempts.open(run.run_id)
    assert (opened.attempt, opened.strikes, opened.losses) == (8, 1, 1)


async def test_a_requeued_run_has_lost_no_worker(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    for _ in range(4):
        opened = await rig.attempts.open(run.run_id)
        await rig.attempts.requeue(opened, is_strike=False)
    assert (opened.strikes, opened.losses) == (1, 0)
    assert not await rig.attempts.is_suspect(run.run_id)


async def test_suspect_runs_go_one_at_a_time_until_they_make_progress():
    probation, order, (first, second) = Probation(probation_s=60), [], (uuid4(), uuid4())

    async def go(run_id, wait: asyncio.Event):
        async with probation.exclusive(run_id):
            order.append(run_id)
            await wait.wait()

    one, two = asyncio.Event(), asyncio.Event()
    tasks = [asyncio.create_task(go(first, one)), asyncio.create_task(go(second, two))]
    await asyncio.sleep(0.05)
    assert order == [first]
    probation.passed(first)  # it makes progress, and is no longer a suspect
    await asyncio.sleep(0.05)
    assert order == [first, second]
    probation.passed(first)
    one.set()
    two.set()
    await asyncio.gather(*tasks)
    async with Probation(probation_s=0.05).exclusive(first):
        pass


async def test_a_run_that_takes_too_long_is_ended(rig: Rig):
    async with rig.working(limits=Limits(run_seconds=0.5)):
        run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 99, "delay": 0.2})
        ended = await rig.ended(run)
    assert (ended.status, ended.error["code"]) == ("timeout", "run_timeout")


async def test_an_unknown_graph_is_an_error_not_a_hang(rig: Rig):
    async with rig.working():
        ended = await rig.ended(await rig.start(uuid4(), "nowhere", input={}))
    assert (ended.status, ended.error["code"]) == ("error", "graph_not_found")


async def test_a_graph_gets_its_caller_from_the_row_of_the_run(rig: Rig):
    async with rig.working():
        thread = uuid4()
        lies = {"items": [], "tenant": "root"}
        await rig.ended(await rig.start(thread, "context", owner=BOB, input=lies))
    assert await rig.items(thread, "context") == ["bob", "bob@b", str(thread)]


async def test_checkpoints_contain_only_ids_of_the_caller(rig: Rig):
    async with rig.working():
        run = await rig.start(uuid4(), "context", input={"items": []})
        await rig.ended(run)
    async with rig.pool.connection() as connection:
        rows = await (await connection.execute("SELECT metadata FROM checkpoints")).fetchall()
    keys = {key for row in rows for key in row["metadata"]}
    assert keys <= {"run_id", "graph", "step", "source", "parents"}


async def test_a_drained_worker_requeues_within_the_process_too(rig: Rig):
    thread = uuid4()
    async with rig.working():
        run = await rig.start(thread, "steps", input={"name": "a", "steps": 6, "delay": 0.2})
        await rig.in_journal(thread, "a:1")
    handed_on = await rig.runs.get(run.run_id, owner=ALICE)
    assert (handed_on.status, handed_on.token, handed_on.strikes) == ("pending", None, 0)
    async with rig.working():
        assert (await rig.ended(run)).status == "success"
    assert await rig.journal(thread) == [f"a:{n}" for n in range(6)]


async def test_a_run_without_a_job_is_requeued(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    async with rig.pool.connection() as connection:
        await connection.execute("DELETE FROM procrastinate_jobs")
    async with rig.working():
        assert (await rig.ended(run)).status == "success"


async def test_an_unpublished_end_is_published_by_the_next_worker(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    opened = await rig.attempts.open(run.run_id)
    await rig.attempts.finish(opened, "success")  # and the worker is gone
    async with rig.working():
        (event,) = [entry.event() for entry in await rig.events(run)]
    assert event.data["event"] == "completed"


async def test_a_run_that_its_last_worker_releases_late_is_not_overtaken(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    """The worker was paused, was taken for dead, and wakes up while another takes the run."""
    thread = uuid4()
    first = await rig.start(thread, "steps", input={"items": [], "name": "first", "steps": 2})
    second = await rig.start(thread, "steps", input={"items": [], "name": "second", "steps": 1})
    paused = Attempts(rig.pool)
    opened = await paused.open(first.run_id)
    look = Attempts.is_suspect

    async def is_suspect(attempts: Attempts, run_id: UUID) -> bool:
        monkeypatch.setattr(Attempts, "is_suspect", look)
        await paused.requeue(opened, is_strike=False)
        return await look(attempts, run_id)

    monkeypatch.setattr(Attempts, "is_suspect", is_suspect)
    async with rig.working():
        ended = [await rig.ended(run) for run in (first, second)]
    assert [run.status for run in ended] == ["success", "success"]
    assert await rig.items(thread) == ["first:0", "first:1", "second:0"]
    assert ended[0].finished_at < ended[1].started_at
