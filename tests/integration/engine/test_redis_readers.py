"""Readers of the Redis log that are cancelled at any moment leave nothing behind."""

import asyncio
import random
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.engine.events.log import LogLimits
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.testing.event_log_contract import ME

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]


async def test_a_reader_that_is_cancelled_while_it_subscribes_ends():
    chance = random.Random(7)
    async with Redis.from_url("redis://127.0.0.1:6379/13") as redis:
        for _ in range(20):
            async with RedisEventLog(redis, clock=SystemClock(), check_seconds=0.1) as log:
                reading = [
                    asyncio.ensure_future(anext(log.read(uuid4(), owner=ME))) for _ in range(50)
                ]
                await asyncio.sleep(chance.choice([0, 0.001, 0.005, 0.01, 0.05]))
                for task in reading:
                    task.cancel()
                done, left = await asyncio.wait(reading, timeout=5)
                assert not left
                assert all(task.cancelled() for task in done)


async def test_more_readers_than_redis_connections_can_read_at_once():
    async with (
        Redis.from_url("redis://127.0.0.1:6379/13") as redis,
        RedisEventLog(
            redis, clock=SystemClock(), check_seconds=30, limits=LogLimits(keep_seconds=60)
        ) as log,
    ):
        threads = [uuid4() for _ in range(400)]
        readers = [log.read(thread, owner=ME) for thread in threads]
        for thread in threads:
            await log.append(thread, [b"1"], owner=ME)
        await asyncio.gather(*(anext(reader) for reader in readers))
        going_on = [asyncio.ensure_future(anext(reader)) for reader in readers]
        await asyncio.sleep(0)
        log._wake(threads)  # as after a lost connection
        await asyncio.sleep(0.5)
        for thread in threads:
            await log.append(thread, [b"2"], owner=ME)
        # A reader that was refused a connection would wait for half a minute.
        found, late = await asyncio.wait(going_on, timeout=15)
        assert not late
        assert {task.result().body for task in found} == {b"2"}
        for reader in readers:
            await reader.aclose()
