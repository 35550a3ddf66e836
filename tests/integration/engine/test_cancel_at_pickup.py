"""A cancellation that arrives while a worker claims the run ends it and frees its thread."""

import asyncio
import os
import random
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from engine_rig import ALICE, QUICK, Rig
from procrastinate.jobs import Job

from bathysphere.engine.runs.queue import Requeue
from bathysphere.engine.runs.worker import Worker, WorkerOptions

pytestmark = pytest.mark.services
# CANCEL_PAIRS=20000 is the stress that found the defect; some hundreds fit into a test run.
PAIRS = int(os.environ.get("CANCEL_PAIRS", "300"))


def on_fetch(worker: Worker, do: Callable[[Job], Awaitable[None]]) -> None:
    """Do something between the fetch of a job and the first step of its task."""
    jobs: Any = worker._queue.app.job_manager
    fetch = jobs.fetch_job

    async def fetch_job(**arguments: Any) -> Job | None:
        job = await fetch(**arguments)
        if job is not None:
            await do(job)
        return job

    jobs.fetch_job = fetch_job


async def test_a_cancel_between_the_fetch_and_the_first_step_does_not_wedge_the_thread(rig: Rig):
    thread = uuid4()
    run = await rig.start(thread, "steps", input={"items": [], "name": "a", "steps": 1})
    aborted: list[int] = []
    async with rig.working(options=WorkerOptions(concurrency=4)) as worker:

        async def cancel(job: Job) -> None:
            if aborted or job.id is None:
                return
            aborted.append(job.id)
            await rig.runs.cancel(run.run_id, owner=ALICE)
            # Runs after the task is created and before its first step.
            asyncio.get_running_loop().call_soon(
                worker._worker._handle_abort_jobs_requested, [job.id]
            )

        on_fetch(worker, cancel)
        assert (await rig.ended(run, seconds=5)).status == "cancelled"
        later = await rig.start(thread, "steps", input={"items": [], "name": "b", "steps": 1})
        assert (await rig.ended(later, seconds=5)).status == "success"
    assert aborted == [run.job_id]
    assert await rig.journal(thread) == ["b:0"]


async def test_a_run_cancelled_while_it_is_claimed_ends(rig: Rig):
    dice, turn = random.Random(1), asyncio.Semaphore(20)

    async def pair() -> None:
        async with turn:
            run = await rig.start(uuid4(), "steps", input={"items": [], "name": "a", "steps": 1})
            await asyncio.sleep(dice.uniform(0, 0.02))
            await rig.runs.cancel(run.run_id, owner=ALICE)
            assert (await rig.ended(run, seconds=10)).is_over

    async with rig.working(options=QUICK), asyncio.TaskGroup() as group:
        for _ in range(PAIRS):
            group.create_task(pair())


async def test_a_cancellation_that_a_library_swallows_is_repeated(rig: Rig):
    steps = {"items": [], "name": "a", "steps": 200, "delay": 0.1}
    run = await rig.start(uuid4(), "steps", input=steps)
    is_waiting, is_swallowed = asyncio.Event(), asyncio.Event()
    async with rig.working() as worker:
        closes_step = worker._executor._closes_step

        async def swallow(run: Any) -> bool:
            """As `asyncio.wait_for` does if the connection comes with the cancellation."""
            try:
                is_waiting.set()
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                is_swallowed.set()
            return await closes_step(run)

        worker._executor._closes_step = swallow
        await is_waiting.wait()
        await rig.runs.cancel(run.run_id, owner=ALICE)
        assert (await rig.ended(run, seconds=10)).status == "cancelled"
    assert is_swallowed.is_set()


async def test_a_running_or_finished_job_is_not_requeued(rig: Rig):
    await rig.start(uuid4(), "steps", input={})
    jobs = rig.queue.app.job_manager
    worker_id = await jobs.register_worker()
    job = await jobs.fetch_job(["runs"], worker_id)
    assert await rig.queue.find_missing(worker_id, [job.id]) == set()
    lost = await rig.queue.find_missing(worker_id, [])
    assert [one.job_id for one in lost] == [job.id]
    await jobs.finish_job(job, None, delete_job=True)
    assert await rig.queue.requeue_missing(worker_id, lost) == []


async def test_the_delay_of_a_requeued_job_uses_the_database_clock(rig: Rig):
    """A worker whose clock is ten minutes ahead would delay requeued runs by ten minutes."""
    await rig.start(uuid4(), "steps", input={})
    jobs = rig.queue.app.job_manager
    job = await jobs.fetch_job(["runs"], await jobs.register_worker())
    decision = rig.queue._retry.get_retry_decision(exception=Requeue(30.0), job=job)
    await jobs.retry_job(job, retry_at=decision.retry_at)
    async with rig.pool.connection() as connection:
        row = await (
            await connection.execute(
                "SELECT scheduled_at - now() AS wait FROM procrastinate_jobs WHERE id = %s",
                (job.id,),
            )
        ).fetchone()
    assert timedelta(seconds=25) < row["wait"] <= timedelta(seconds=30)


async def test_a_requeue_asks_for_a_delay_and_not_for_a_time(rig: Rig):
    """A decision that contained the worker's time would change from one to the next."""
    await rig.start(uuid4(), "steps", input={})
    jobs = rig.queue.app.job_manager
    job = await jobs.fetch_job(["runs"], await jobs.register_worker())

    def decide(delay: float) -> datetime:
        decision = rig.queue._retry.get_retry_decision(exception=Requeue(delay), job=job)
        return decision.retry_at

    first = decide(30.0)
    await asyncio.sleep(0.01)
    assert decide(30.0) == first
    assert decide(40.0) - first == timedelta(seconds=10)
