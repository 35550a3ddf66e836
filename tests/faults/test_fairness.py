"""A tenant that queues five hundred runs does not delay another that queues one."""

import asyncio
from uuid import uuid4

import pytest
from engine_rig import ALICE, BOB, Nursery, Rig

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]

LENGTH = 1.0
QUEUED = 500


async def test_the_one_run_waits_for_at_most_two_run_lengths(rig: Rig, nursery: Nursery, within):
    one_step = {"name": "a", "steps": 1, "delay": LENGTH}
    turn = asyncio.Semaphore(8)

    async def queue_one() -> None:
        async with turn:
            await rig.start(uuid4(), "steps", input=one_step)

    async with asyncio.TaskGroup() as group:
        for _ in range(QUEUED):
            group.create_task(queue_one())
    with nursery.workers(rig.database, 2):
        busy = await rig.start(uuid4(), "steps", owner=ALICE, input=one_step)
        await asyncio.sleep(2.5 * LENGTH)  # every slot is taken by the tenant with the backlog
        run = await rig.ended(await rig.start(uuid4(), "steps", owner=BOB, input=one_step))
        assert run.status == "success"
        assert run.started_at is not None
        waited = (run.started_at - run.created_at).total_seconds()
        within(waited, 2 * LENGTH)
        assert (await rig.runs.get(busy.run_id, owner=ALICE)).status == "pending"
