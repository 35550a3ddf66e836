"""Both event logs keep one contract."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.json_text import dumps
from bathysphere.engine.events.log import EventLog, LogLimits, MemoryEventLog
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.testing.event_log_contract import CAP, CAP_BYTES, ME, EventLogContract, take

LIMITS = LogLimits(thread_bytes=CAP_BYTES)


class HandClock(SystemClock):
    """Time that the test moves."""

    seconds = 0.0

    def monotonic(self):
        return self.seconds


# A database of its own, because one test empties it.
REDIS = "redis://127.0.0.1:6379/9"


class TestMemoryEventLog(EventLogContract):
    @pytest.fixture
    def log(self) -> EventLog:
        return MemoryEventLog(clock=SystemClock(), cap=CAP, limits=LIMITS)

    async def test_an_event_takes_about_as_much_memory_as_it_has_bytes(self):
        log, bodies, thread = MemoryEventLog(clock=SystemClock()), 500, uuid4()
        tracemalloc.start()
        try:
            for number in range(bodies):
                await log.append(thread, [dumps({"number": number})], owner=ME)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert held < bodies * 600, "the encoder's buffer is kept with each"

    async def test_readers_of_unknown_threads_leave_nothing_behind(self):
        log = MemoryEventLog(clock=SystemClock())
        waiting = [asyncio.ensure_future(anext(log.read(uuid4(), owner=ME))) for _ in range(500)]
        await asyncio.sleep(0.05)
        assert not log._threads
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        assert not log._waiting

    async def test_a_quiet_thread_is_forgotten_after_an_hour(self):
        clock = HandClock()
        log = MemoryEventLog(clock=clock)
        quiet, busy = uuid4(), uuid4()
        await log.append(quiet, [b"old"], owner=ME)
        await log.append(busy, [b"old"], owner=ME)
        clock.seconds += 3000
        await log.append(busy, [b"new"], owner=ME)
        clock.seconds += 700
        assert await log.last_id(quiet) == 0
        assert len(await log.newest(busy, owner=ME, count=9)) == 2
        assert (list(log._threads), log._size) == ([busy], 6)

    async def test_all_threads_together_are_capped_in_bytes(self):
        log = MemoryEventLog(clock=SystemClock(), limits=LogLimits(memory_bytes=10_000))
        threads = [uuid4() for _ in range(30)]
        for thread in threads:
            await log.append(thread, [b"x" * 1000], owner=ME)
        assert list(log._threads) == threads[-10:]
        assert log._size == sum(thread.size for thread in log._threads.values()) == 10_000


@pytest.mark.services
class TestRedisEventLog(EventLogContract):
    @pytest.fixture
    async def redis(self) -> AsyncIterator["Redis[bytes]"]:
        async with Redis.from_url(REDIS) as redis:
            yield redis
            await redis.flushdb()

    @pytest.fixture
    async def log(self, redis: "Redis[bytes]") -> AsyncIterator[EventLog]:
        async with RedisEventLog(
            redis, clock=SystemClock(), cap=CAP, limits=LIMITS, check_seconds=0.1
        ) as log:
            self.redis = redis
            yield log

    async def lose_everything(self, log: EventLog, threads: Sequence[UUID]) -> None:
        await self.redis.flushdb()

    async def test_another_process_reads_what_this_one_writes(self, log, redis):
        async with (
            Redis.from_url(REDIS) as other_redis,
            RedisEventLog(other_redis, clock=SystemClock()) as other,
        ):
            thread = uuid4()
            await log.append(thread, [b"1", b"2"], owner=ME)
            assert [entry.body for entry in await take(other.read(thread, owner=ME), 2)] == [
                b"1",
                b"2",
            ]

    async def test_an_unreachable_redis_is_an_upstream_error(self):
        async with Redis.from_url("redis://127.0.0.1:1/0") as nowhere:
            log = RedisEventLog(nowhere, clock=SystemClock())
            with pytest.raises(UpstreamError):
                await log.append(uuid4(), [b"1"], owner=ME)

    async def test_one_connection_serves_all_readers(self, log, redis):
        streams = [log.read(uuid4(), owner=ME) for _ in range(50)]
        waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0.3)
        clients = [c for c in await redis.client_list() if c["db"] == "9" and c["sub"] != "0"]
        assert len(clients) == 1
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
