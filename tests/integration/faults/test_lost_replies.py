"""PostgreSQL does what a worker asks for, and the worker does not hear of it: it asks again."""

import asyncio
from types import SimpleNamespace
from uuid import uuid4

import psycopg
import pytest
from engine_rig import Rig

from bathysphere.engine.errors import Superseded
from bathysphere.engine.runs.attempts import Attempts
from bathysphere.engine.runs.queue import Queue, Requeue, _current

pytestmark = pytest.mark.services


async def opened(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    mine = await rig.attempts.open(run.run_id)
    assert mine is not None
    return mine


async def test_handing_on_again_is_no_takeover(rig: Rig):
    run = await opened(rig)
    for _ in range(2):
        await rig.attempts.requeue(run, is_strike=True)
    now = await rig.runs.get(run.run_id, owner=run.owner)
    assert (now.status, now.strikes) == ("pending", 1)
    assert (await rig.attempts.open(run.run_id)).attempt == 2
    with pytest.raises(Superseded):
        await rig.attempts.requeue(run, is_strike=True)


async def test_ending_again_tells_the_same_end(rig: Rig):
    run = await opened(rig)
    first = await rig.attempts.finish(run, "error", error={"code": "x"})
    again = await rig.attempts.finish(run, "success")
    assert first == again
    assert again.status == "error"


async def test_an_attempt_that_was_taken_over_cannot_end_the_run_even_when_it_is_over(rig: Rig):
    run = await opened(rig)
    second = await rig.attempts.open(run.run_id)
    with pytest.raises(Superseded):
        await rig.attempts.finish(run, "error")
    await rig.attempts.finish(second, "success")
    with pytest.raises(Superseded):
        await rig.attempts.finish(run, "error")


async def test_a_run_whose_hand_on_was_not_heard_of_keeps_its_place_in_the_queue(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
):
    """The thread's next run must not start before it."""
    requeue = Attempts.requeue
    lost: list[bool] = []

    async def unheard(self: Attempts, run, **options) -> None:
        await requeue(self, run, **options)
        if not lost:
            lost.append(True)
            raise ConnectionLost

    class ConnectionLost(psycopg.OperationalError):
        """The reply did not come."""

    monkeypatch.setattr(Attempts, "requeue", unheard)
    thread = uuid4()
    first = await rig.start(thread, "failing", input={"name": "upstream", "steps": 1})
    second = await rig.start(thread, "failing", input={"name": "upstream", "steps": 0})
    async with rig.working():
        ended = [await rig.ended(run) for run in (first, second)]
    assert lost
    assert [run.status for run in ended] == ["success", "success"]
    assert ended[0].finished_at < ended[1].started_at


async def test_a_cancelled_job_stays_in_the_queue(rig: Rig):
    queue = Queue(rig.pool, database=rig.database)

    async def cancelled(_) -> None:
        raise asyncio.CancelledError

    queue.register(cancelled)
    with pytest.raises(Requeue):
        await queue.app.tasks["run"].func(SimpleNamespace(job=None), run_id=str(uuid4()))


async def test_a_worker_whose_job_was_given_away_cannot_take_the_run(rig: Rig):
    """It was cut off while it asked for the run; meanwhile another worker got the job."""
    run = await rig.start(uuid4(), "failing", input={"name": "x", "steps": 0})
    fetched = await rig.queue.app.job_manager.fetch_job(queues=None, worker_id=await a_worker(rig))
    held = _current.set(fetched)
    try:
        assert (await rig.attempts.open(run.run_id)).attempt == 1
        async with rig.pool.connection() as connection:
            await connection.execute(
                "UPDATE procrastinate_jobs SET status = 'todo', attempts = attempts + 1,"
                " worker_id = NULL WHERE id = %s",
                (fetched.id,),
            )
        assert await rig.attempts.open(run.run_id) is None
    finally:
        _current.reset(held)


async def a_worker(rig: Rig) -> int:
    return await rig.queue.app.job_manager.register_worker()
