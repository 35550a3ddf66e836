"""A worker dies between the end of a run and its push notice: another sends it."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from engine_rig import ALICE, Nursery, Rig
from push_browser import CONTACT, SECRET, Browser
from webhook_receiver import open_receiver

from bathysphere.engine.delivery.receivers import ReceiverRules
from bathysphere.server.process.deliveries import PushOptions, open_push

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


def push(poll_seconds: float) -> dict[str, Any]:
    return {"secret": SECRET.decode(), "contact": CONTACT, "poll_seconds": poll_seconds}


async def test_a_worker_killed_after_the_commit_and_before_sending(rig: Rig, nursery: Nursery):
    rules = ReceiverRules(allows_loopback=True)
    options = PushOptions(secret=SECRET, contact=CONTACT, rules=rules)
    async with open_receiver() as receiver, open_push(options, rig.pool) as opened:
        browser = Browser(receiver)
        await opened.subscriptions.put(browser.subscription, owner=ALICE)
        worker = nursery.start(rig.database, push=push(poll_seconds=600))
        try:
            steps = {"name": "a", "steps": 2, "delay": 0}
            run = await rig.ended(await rig.start(uuid4(), "steps", input=steps))
        finally:
            worker.kill()
        assert receiver.connections == 0
        with nursery.workers(rig.database, 2, push=push(poll_seconds=0.1)):
            (got,) = await receiver.wait_for(1)
            await asyncio.sleep(1)
        assert len(receiver.received) == 1
        assert browser.read(got) == {"thread": str(run.thread_id), "news": "done"}
