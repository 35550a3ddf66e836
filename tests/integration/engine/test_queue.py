"""A job is changed only by the worker that has it."""

from uuid import uuid4

import pytest
from engine_rig import Rig
from procrastinate.jobs import Job, Status

from bathysphere.engine.runs.queue import QUEUE

pytestmark = pytest.mark.services


async def fetched(rig: Rig) -> Job:
    jobs = rig.queue.app.job_manager
    job = await jobs.fetch_job([QUEUE], await jobs.register_worker())
    assert job is not None
    return job


async def silence(rig: Rig, job: Job) -> None:
    """Make the job's worker silent for a minute."""
    async with rig.pool.connection() as connection:
        await connection.execute(
            "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute'"
            " WHERE id = %s",
            (job.worker_id,),
        )


async def statuses(rig: Rig) -> list[tuple[str, int | None]]:
    async with rig.pool.connection() as connection:
        rows = await (
            await connection.execute("SELECT status, worker_id FROM procrastinate_jobs")
        ).fetchall()
    return [(row["status"], row["worker_id"]) for row in rows]


async def test_the_job_of_a_silent_worker_is_requeued_once(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={})
    first = await fetched(rig)
    assert await rig.queue.requeue_stalled(5) == []
    await silence(rig, first)
    assert await rig.queue.requeue_stalled(5) == [run.run_id]
    assert await rig.queue.requeue_stalled(5) == []


async def test_a_worker_that_lost_its_job_can_neither_finish_nor_retry_it(rig: Rig):
    await rig.start(uuid4(), "steps", input={})
    first = await fetched(rig)
    await silence(rig, first)
    await rig.queue.requeue_stalled(5)
    second = await fetched(rig)
    jobs = rig.queue.app.job_manager
    await jobs.finish_job(first, Status.SUCCEEDED, delete_job=True)
    await jobs.retry_job(first)
    assert await statuses(rig) == [("doing", second.worker_id)]
    await jobs.finish_job(second, Status.SUCCEEDED, delete_job=True)
    assert await statuses(rig) == []


async def test_an_earlier_attempt_of_the_same_worker_cannot_finish_the_job(rig: Rig):
    await rig.start(uuid4(), "steps", input={})
    first = await fetched(rig)
    await silence(rig, first)
    await rig.queue.requeue_stalled(5)
    jobs = rig.queue.app.job_manager
    second = await jobs.fetch_job([QUEUE], first.worker_id)
    await jobs.finish_job(first, Status.SUCCEEDED, delete_job=True)
    assert await statuses(rig) == [("doing", second.worker_id)]


async def test_runs_of_one_thread_are_never_claimed_at_the_same_time(rig: Rig):
    thread = uuid4()
    for _ in range(2):
        await rig.start(thread, "steps", input={})
    first = await fetched(rig)
    jobs = rig.queue.app.job_manager
    assert await jobs.fetch_job([QUEUE], await jobs.register_worker()) is None
    await jobs.finish_job(first, Status.SUCCEEDED, delete_job=True)
    assert (await fetched(rig)).id > first.id
