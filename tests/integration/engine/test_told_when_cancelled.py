"""When a pending run is cancelled, everyone who follows it is notified at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import httpx
import pytest
from api_process import identify
from engine_rig import ALICE, Rig

from bathysphere.core.errors import UpstreamError
from bathysphere.engine.records import Run
from bathysphere.server.app import create_app
from bathysphere.server.protocol.feed import Feed
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.protocol.wire import WireEvent

pytestmark = pytest.mark.services


@pytest.fixture
async def http(rig: Rig) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=create_app(services=rig.services, identify=identify))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


@pytest.fixture
async def queued(rig: Rig) -> Run:
    """A pending run, because there is no worker."""
    return await rig.start(uuid4(), "steps", input={"items": [], "name": "a", "steps": 1})


async def end_of(rig: Rig, run: Run) -> WireEvent:
    """The end of a run as received by a reader of protocol v2."""
    wishes = Filter(channels=frozenset({"lifecycle"}))
    feed = Feed(rig.services, run.thread_id, owner=ALICE, event_filter=wishes)
    async with aclosing(feed.events()) as batches:
        async for events in batches:
            for event in events:
                if event.is_end and event.data["run_id"] == str(run.run_id):
                    return event
    raise AssertionError("the feed ended")


async def test_a_reader_of_protocol_v2_sees_the_end_within_a_second(rig: Rig, queued: Run):
    reading = asyncio.create_task(end_of(rig, queued))
    await asyncio.sleep(0.2)
    await rig.runs.cancel(queued.run_id, owner=ALICE)
    async with asyncio.timeout(1):
        assert (await reading).data["event"] == "interrupted"


async def test_a_reader_sees_the_end_of_a_run_that_a_newer_one_replaced(rig: Rig, queued: Run):
    reading = asyncio.create_task(end_of(rig, queued))
    await asyncio.sleep(0.2)
    await rig.start(queued.thread_id, "steps", input={}, strategy="interrupt")
    async with asyncio.timeout(1):
        assert (await reading).data["event"] == "interrupted"


async def test_joining_a_cancelled_run_returns_at_once(
    rig: Rig, http: httpx.AsyncClient, queued: Run, within: Callable[..., None]
):
    path = f"/threads/{queued.thread_id}/runs/{queued.run_id}"
    joining = asyncio.create_task(http.get(f"{path}/join"))
    await asyncio.sleep(0.2)
    cancelled_at = time.monotonic()
    assert (await http.post(f"{path}/cancel")).status_code == 202
    assert (await joining).status_code == 200
    within(time.monotonic() - cancelled_at, 1)


async def test_a_second_cancel_publishes_an_end_that_the_first_could_not(
    rig: Rig, queued: Run, monkeypatch: pytest.MonkeyPatch
):
    """The first is lost between its commit and its event."""

    async def lost(*_: object) -> None:
        raise ConnectionError("the process died here")

    reading = asyncio.create_task(end_of(rig, queued))
    with monkeypatch.context() as patch:
        patch.setattr(rig.runs, "_announce", lost)
        with pytest.raises(ConnectionError):
            await rig.runs.cancel(queued.run_id, owner=ALICE)
    assert await rig.runs.cancel(queued.run_id, owner=ALICE) == "cancelled"
    async with asyncio.timeout(1):
        assert (await reading).data["event"] == "interrupted"


async def test_a_log_that_fails_once_still_gets_the_event(
    rig: Rig, queued: Run, monkeypatch: pytest.MonkeyPatch
):
    """Like Redis after a restart, on each older connection."""
    append, refused = rig.log.append, []

    async def refuse_once(*args: Any, **options: Any) -> int:
        if not refused:
            refused.append(True)
            raise UpstreamError("Event log cannot reach Redis")
        return await append(*args, **options)

    reading = asyncio.create_task(end_of(rig, queued))
    await asyncio.sleep(0.2)
    monkeypatch.setattr(rig.log, "append", refuse_once)
    await rig.runs.cancel(queued.run_id, owner=ALICE)
    async with asyncio.timeout(1):
        assert (await reading).data["event"] == "interrupted"
