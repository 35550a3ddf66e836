"""Order of claims, shares of a worker's slots, and limits on pending runs."""

import asyncio
from dataclasses import replace
from uuid import uuid4

import pytest
from engine_rig import ALICE, BOB, QUICK, Rig
from procrastinate.jobs import Job, Status

from bathysphere.core.identity import Owner
from bathysphere.engine.errors import TooManyWaiting
from bathysphere.engine.fairness import Shares, WaitingLimits
from bathysphere.engine.runs.announcements import QUEUE
from bathysphere.engine.runs.queue import Queue

pytestmark = pytest.mark.services
MALLORY = Owner(tenant="evil", user="mallory")
TRENT = Owner(tenant="evil", user="trent")


class Claimer:
    """A worker that only claims."""

    def __init__(self, rig: Rig, slots: int) -> None:
        self.rig = rig
        self.queue = Queue(rig.pool, database=rig.database)
        self.queue.set_worker(
            shares=Shares.of(slots, reserve=0.25), running=lambda: 0, poll_seconds=0
        )
        self.worker_id: int | None = None

    async def claim(self) -> Job | None:
        jobs = self.queue.app.job_manager
        if self.worker_id is None:
            await self.queue.open()
            self.worker_id = await jobs.register_worker()
        return await jobs.fetch_job([QUEUE], self.worker_id)

    async def claim_all(self, most: int) -> list[Job]:
        claimed = []
        while len(claimed) < most and (job := await self.claim()) is not None:
            claimed.append(job)
        return claimed

    async def finish(self, job: Job) -> None:
        async with self.rig.pool.connection() as connection:
            await connection.execute(
                "UPDATE engine.runs SET status = 'success' WHERE job_id = %s", (job.id,)
            )
        await self.queue.app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=True)

    async def owner_of(self, job: Job | None) -> Owner | None:
        if job is None:
            return None
        async with self.rig.pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT tenant, owner FROM engine.runs WHERE job_id = %s", (job.id,)
                )
            ).fetchone()
        return Owner(tenant=row["tenant"], user=row["owner"])


async def queue_runs(rig: Rig, owner: Owner, count: int) -> None:
    for _ in range(count):
        await rig.start(uuid4(), "steps", owner=owner, input={})


async def known(rig: Rig, owner: Owner) -> None:
    """A user who has used the server before."""
    run = await rig.start(uuid4(), "steps", owner=owner, input={})
    await rig.runs.cancel(run.run_id, owner=owner)


async def test_one_tenant_never_holds_all_slots_if_others_exist(rig: Rig):
    await queue_runs(rig, MALLORY, 12)
    await known(rig, BOB)
    worker = Claimer(rig, slots=8)
    assert len(await worker.claim_all(8)) == 6
    await queue_runs(rig, BOB, 1)
    assert await worker.owner_of(await worker.claim()) == BOB


async def test_one_user_never_holds_every_slot_of_the_tenant(rig: Rig):
    await queue_runs(rig, MALLORY, 12)
    await queue_runs(rig, BOB, 1)
    await known(rig, TRENT)
    worker = Claimer(rig, slots=8)
    first = await worker.claim_all(8)
    owners = [await worker.owner_of(job) for job in first]
    assert owners.count(BOB) == 1
    assert owners.count(MALLORY) <= 4
    await queue_runs(rig, TRENT, 1)
    assert await worker.owner_of(await worker.claim()) == TRENT


async def test_users_of_one_tenant_together_leave_slots_to_other_tenants(rig: Rig):
    for number in range(8):
        await queue_runs(rig, Owner(tenant="evil", user=f"sock{number}"), 3)
    await queue_runs(rig, BOB, 1)
    worker = Claimer(rig, slots=8)
    owners = [await worker.owner_of(job) for job in await worker.claim_all(8)]
    assert owners.count(BOB) == 1
    assert len([one for one in owners if one.tenant == "evil"]) <= 6


async def test_a_single_user_can_use_every_slot(rig: Rig):
    await queue_runs(rig, ALICE, 10)
    assert len(await Claimer(rig, slots=8).claim_all(8)) == 8


async def test_tenants_take_turns_and_so_do_users_within_a_tenant(rig: Rig):
    await queue_runs(rig, MALLORY, 20)
    await queue_runs(rig, TRENT, 3)
    await queue_runs(rig, BOB, 3)
    worker = Claimer(rig, slots=8)
    order = []
    for _ in range(8):
        job = await worker.claim()
        order.append(await worker.owner_of(job))
        await worker.finish(job)
    assert order.count(BOB) == 3
    assert order[:4].count(BOB) == 2
    assert order.index(TRENT) <= 3
    assert order.count(TRENT) >= 2


async def test_a_run_that_was_held_back_starts_as_soon_as_a_slot_is_free(rig: Rig):
    await known(rig, BOB)
    step = {"name": "a", "steps": 1, "delay": 0.2}
    runs = [await rig.start(uuid4(), "steps", owner=MALLORY, input=step) for _ in range(9)]
    lazy = replace(QUICK, poll_seconds=30.0)
    async with rig.working(options=lazy), asyncio.timeout(10):
        for run in runs:
            assert (await rig.ended(run)).status == "success"


@pytest.mark.parametrize(
    ("limits", "same_thread", "refused"),
    [
        (WaitingLimits(per_thread=2), True, "Thread .* already has 2 pending"),
        (WaitingLimits(per_user=2), False, "This user already has 2 pending"),
        (WaitingLimits(per_tenant=2), False, "This tenant already has 2 pending"),
    ],
)
async def test_pending_runs_are_limited(rig: Rig, limits, same_thread, refused):
    rig.runs._storing = rig.runs._storing._replace(waiting=limits)
    thread = uuid4()
    for _ in range(2):
        await rig.start(thread if same_thread else uuid4(), "steps", owner=MALLORY, input={})
    with pytest.raises(TooManyWaiting, match=refused) as refusal:
        await rig.start(thread if same_thread else uuid4(), "steps", owner=MALLORY, input={})
    assert refusal.value.hint
    await rig.start(uuid4(), "steps", owner=BOB, input={})
    async with rig.pool.connection() as connection:
        row = await (
            await connection.execute("SELECT count(*) AS n FROM procrastinate_jobs")
        ).fetchone()
    assert row["n"] == 3
