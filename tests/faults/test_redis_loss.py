"""Redis is lost and comes back empty: runs continue, readers get a gap."""

import asyncio
from collections.abc import Iterator
from itertools import groupby
from uuid import uuid4

import pytest
from engine_rig import ALICE, END_EVENTS, Nursery, open_rig
from own_services import OwnRedis, own_redis
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.engine.database.pool import Database
from bathysphere.engine.events.log import Entry, Event, Gap
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.testing.event_log_contract import ME

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
def redis_server() -> Iterator[OwnRedis]:
    with own_redis() as server:
        yield server


async def test_a_restarted_redis_costs_a_gap_and_nothing_else(
    engine_database: Database, nursery: Nursery, redis_server: OwnRedis
):
    async with open_rig(engine_database, redis_url=redis_server.url) as rig:
        thread = uuid4()
        seen: list[str] = []

        async def read() -> None:
            async for item in rig.log.read(thread, owner=ALICE):
                if isinstance(item, Gap):
                    seen.append("gap")
                    continue
                event = item.event()
                if event.channel == "lifecycle":
                    seen.append(event.data["event"])
                    if event.data["event"] in END_EVENTS:
                        return

        reading = asyncio.create_task(read())
        with nursery.workers(engine_database, 1, redis=redis_server.url):
            run = await rig.start(thread, "steps", input={"name": "a", "steps": 12, "delay": 0.3})
            await rig.in_journal(thread, "a:2")
            redis_server.kill()
            await rig.in_journal(thread, "a:5")  # the run is not affected
            redis_server.start()
            ended = await rig.ended(run)
            assert (ended.status, ended.attempt) == ("success", 1)
            async with asyncio.timeout(10):
                await reading
    # Two gaps if the reader found the empty log before the marker changed.
    assert [kind for kind, _ in groupby(seen)] == ["started", "gap", "completed"]
    assert await rig_items(engine_database, thread) == [f"a:{n}" for n in range(12)]


async def test_a_reader_that_has_seen_nothing_yet_is_told_too(redis_server: OwnRedis):
    thread = uuid4()
    async with (
        Redis.from_url(redis_server.url) as redis,
        RedisEventLog(redis, clock=SystemClock(), check_seconds=0.1) as log,
    ):
        reading = log.read(thread, owner=ME)
        first = asyncio.ensure_future(anext(reading))
        await asyncio.sleep(0.3)
        assert not first.done()
        redis_server.flush()  # what was written just before was lost, too
        async with asyncio.timeout(5):
            assert await first == Gap(0)
        event = Event(channel="custom", run_id="r", data={})
        await log.append(thread, [event.encode()], owner=ME)
        async with asyncio.timeout(5):
            entry = await anext(reading)
        assert isinstance(entry, Entry)
        await reading.aclose()


async def rig_items(database: Database, thread) -> list[str]:
    async with open_rig(database) as rig:
        return await rig.items(thread)
