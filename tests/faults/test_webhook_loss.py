"""A worker dies between the end of a run and its webhook: another sends it, with the same id."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from engine_rig import Nursery, Rig
from webhook_receiver import MASTER, open_receiver

from bathysphere.engine.records import Work

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
STEPS = {"name": "a", "steps": 2, "delay": 0}


def webhooks(poll_seconds: float) -> dict[str, Any]:
    return {"master": MASTER.decode(), "timeout_seconds": 5, "poll_seconds": poll_seconds}


async def pending(rig: Rig) -> list[dict[str, Any]]:
    async with rig.pool.connection() as connection:
        return await (await connection.execute("SELECT * FROM engine.webhooks")).fetchall()


async def test_a_worker_killed_after_the_commit_and_before_sending(rig: Rig, nursery: Nursery):
    async with open_receiver() as receiver:
        # Its sender looks once, at the start, when nothing is due.
        worker = nursery.start(rig.database, webhooks=webhooks(poll_seconds=600))
        try:
            await asyncio.sleep(0.5)
            work = Work(input=STEPS, webhook=receiver.url())
            run = await rig.ended(await rig.start(uuid4(), "steps", work=work))
        finally:
            worker.kill()
        (row,) = await pending(rig)
        assert (row["run_id"], row["attempts"], receiver.connections) == (run.run_id, 0, 0)
        with nursery.workers(rig.database, 2, webhooks=webhooks(poll_seconds=0.1)):
            (got,) = await receiver.wait_for(1)
            await asyncio.sleep(1)
        assert len(receiver.received) == 1
        assert got.verified()["values"]["items"] == ["a:0", "a:1"]
        assert await pending(rig) == []


async def test_a_worker_killed_while_sending(rig: Rig, nursery: Nursery):
    async with open_receiver() as receiver:
        worker = nursery.start(rig.database, webhooks=webhooks(poll_seconds=0.1))
        try:
            work = Work(input=STEPS, webhook=receiver.url("/slow"))
            await rig.start(uuid4(), "steps", work=work)
            (first,) = await receiver.wait_for(1, "/slow")
        finally:
            worker.kill()
        with nursery.workers(rig.database, 1, webhooks=webhooks(poll_seconds=0.1)):
            _, second = await receiver.wait_for(2, "/slow")  # when the lease has passed
        assert first.id == second.id
        assert first.verified()["run_id"] == second.verified()["run_id"]
