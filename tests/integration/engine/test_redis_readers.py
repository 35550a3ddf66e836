"""Readers of the Redis log that are cancelled at any moment leave nothing behind."""

import asyncio
import contextlib
import random
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.engine.events.log import LogLimits
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.testing.event_log_contract import ME

URL = "redis://127.0.0.1:6379/13"

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]


@contextlib.asynccontextmanager
async def open_log(*, check_seconds):
    limits = LogLimits(keep_seconds=60)
    async with (
        Redis.from_url(URL) as redis,
        RedisEventLog(
            redis, clock=SystemClock(), check_seconds=check_seconds, limits=limits
        ) as log,
    ):
        yield log


async def test_a_reader_that_is_cancelled_while_it_subscribes_ends():
    chance = random.Random(7)
    for _ in range(20):
        async with open_log(check_seconds=0.1) as log:
            reading = [asyncio.ensure_future(anext(log.read(uuid4(), owner=ME))) for _ in range(50)]
            await asyncio.sleep(chance.choice([0, 0.001, 0.005, 0.01, 0.05]))
            for task in reading:
                task.cancel()
            done, left = await asyncio.wait(reading, timeout=5)
            assert not left
            assert all(task.cancelled() for task in done)


async def test_more_readers_than_redis_connections_can_read_at_once():
    async with open_log(check_seconds=30) as log:
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


async def test_a_reader_that_is_slow_holds_little_and_misses_nothing():
    async with open_log(check_seconds=30) as log:
        thread, largest = uuid4(), 0
        reading = log.batches(thread, owner=ME)
        await log.append(thread, [b"0"], owner=ME)
        seen = [entry.body for entry in await anext(reading)]
        bodies = [(b"%d" % number) * 100_000 for number in range(30)]
        for body in bodies:
            await log.append(thread, [body], owner=ME)
            await asyncio.sleep(0.01)
            [reader] = log._readers[thread]
            largest = max(largest, reader.size)
        async with asyncio.timeout(10):
            while len(seen) < 31:
                seen += [entry.body for entry in await anext(reading)]
        assert seen == [b"0", *bodies]
        assert 500_000 < largest < 1_300_000
        await reading.aclose()


async def test_readers_that_come_while_the_connection_is_lost_miss_nothing():
    chance = random.Random(5)
    async with open_log(check_seconds=0.05) as log, Redis.from_url(URL) as other:

        async def read_all(thread):
            await asyncio.sleep(chance.random() * 2)
            reading = log.read(thread, owner=ME)
            seen = []
            while len(seen) < 20:
                item = await anext(reading)
                seen.append(item.body)
            await reading.aclose()
            return seen

        async def lose_connections():
            while not is_over.is_set():
                await asyncio.sleep(chance.random() * 0.02)
                for client in await other.client_list(_type="pubsub"):
                    if client["db"] == "13":  # other tests use other databases
                        await other.client_kill_filter(_id=client["id"])

        is_over = asyncio.Event()
        threads = [uuid4() for _ in range(60)]
        losing = asyncio.ensure_future(lose_connections())
        reading = [asyncio.ensure_future(read_all(thread)) for thread in threads]
        for number in range(20):
            for thread in threads:
                await log.append(thread, [b"%d" % number], owner=ME)
            await asyncio.sleep(0.1)
        is_over.set()
        await losing
        done, late = await asyncio.wait(reading, timeout=10)
        assert not late
        assert all(task.result() == [b"%d" % number for number in range(20)] for task in done)


@pytest.mark.parametrize(
    "error", [RuntimeError("read() called twice"), AttributeError("writelines")]
)
async def test_readers_go_on_whatever_happens_to_the_connection(error):
    async with open_log(check_seconds=0.05) as log:
        thread = uuid4()
        reading = log.read(thread, owner=ME)
        await log.append(thread, [b"1"], owner=ME)
        assert (await anext(reading)).body == b"1"
        following, message = asyncio.ensure_future(anext(reading)), log._subscription.message
        broken = iter([error])

        async def break_once():
            for one in broken:
                raise one
            return await message()

        log._subscription.message = break_once
        await log.append(thread, [b"2"], owner=ME)
        await log.append(thread, [b"3"], owner=ME)
        async with asyncio.timeout(5):
            assert (await following).body == b"2"
            assert (await anext(reading)).body == b"3"
        await reading.aclose()
