"""A job is changed only by the worker that has it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from engine_rig import Rig
from procrastinate.jobs import Job, Status

from bathysphere.engine.runs.announcements import QUEUE

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
    await jobs._wake()
    second = await jobs.fetch_job([QUEUE], first.worker_id)
    await jobs.finish_job(first, Status.SUCCEEDED, delete_job=True)
    assert await statuses(rig) == [("doing", second.worker_id)]


class Rounds:
    """Fetches as Procrastinate does, and counts what the database is asked for."""

    def __init__(self, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
        self.jobs = rig.queue.app.job_manager
        self.claims = 0
        self.woken = 0
        self.during: Callable[[], Awaitable[None]] | None = None
        execute = self.jobs.connector.execute_query_one_async

        async def counted(**values: Any) -> dict[str, Any]:
            self.claims += 1
            row = await execute(**values)
            if self.during is not None:
                during, self.during = self.during, None
                await during()
            return row

        async def wake(**_: Any) -> None:
            self.woken += 1

        monkeypatch.setattr(self.jobs.connector, "execute_query_one_async", counted)
        self.jobs._notify = wake

    async def fetch(self, worker: int) -> int:
        """Fetch after news until there is no job left; return how many there were."""
        await self.jobs._wake()
        found = 0
        while await self.jobs.fetch_job([QUEUE], worker) is not None:
            found += 1
        return found


@pytest.fixture
def rounds(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Rounds:
    return Rounds(rig, monkeypatch)


async def test_the_only_job_costs_one_claim_and_of_many_each_costs_one(rig: Rig, rounds: Rounds):
    worker = await rounds.jobs.register_worker()
    for count in (1, 3):
        for _ in range(count):
            await rig.start(uuid4(), "steps", input={})
        rounds.claims = 0
        assert await rounds.fetch(worker) == count
        assert rounds.claims == count


async def test_a_job_that_is_announced_after_the_last_claim_is_fetched_in_the_same_round(
    rig: Rig, rounds: Rounds
):
    worker = await rounds.jobs.register_worker()
    await rig.start(uuid4(), "steps", input={})

    async def announce() -> None:
        await rig.start(uuid4(), "steps", input={})
        await rounds.jobs._wake()

    rounds.during = announce
    assert await rounds.fetch(worker) == 2


async def test_a_job_that_is_announced_while_nothing_is_found_wakes_the_worker_again(
    rig: Rig, rounds: Rounds
):
    worker = await rounds.jobs.register_worker()

    async def announce() -> None:
        await rig.start(uuid4(), "steps", input={})
        await rounds.jobs._wake()

    rounds.during = announce
    assert await rounds.fetch(worker) == 0
    rounds.woken = 0  # Procrastinate forgets what it was told until now
    await asyncio.sleep(0.01)
    assert rounds.woken == 1
    assert await rounds.fetch(worker) == 1


async def test_nothing_is_written_down_of_what_becomes_of_a_job(rig: Rig):
    await rig.start(uuid4(), "steps", input={})
    job = await fetched(rig)
    await rig.queue.app.job_manager.retry_job(job)
    async with rig.pool.connection() as connection:
        rows = await connection.execute("SELECT type FROM procrastinate_events")
        assert await rows.fetchall() == []


async def test_runs_of_one_thread_are_never_claimed_at_the_same_time(rig: Rig):
    thread = uuid4()
    for _ in range(2):
        await rig.start(thread, "steps", input={})
    first = await fetched(rig)
    jobs = rig.queue.app.job_manager
    assert await jobs.fetch_job([QUEUE], await jobs.register_worker()) is None
    await jobs.finish_job(first, Status.SUCCEEDED, delete_job=True)
    assert (await fetched(rig)).id > first.id
