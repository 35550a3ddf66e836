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
from bathysphere.engine.events.log import Event, EventLog, Gap, LogLimits
from bathysphere.engine.events.memory_log import MemoryEventLog
from bathysphere.engine.events.publisher import OMITTED
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.testing.event_log_contract import (
    CAP,
    CAP_BYTES,
    ME,
    EventLogContract,
    state,
    take,
)

LIMITS = LogLimits(thread_bytes=CAP_BYTES)


class HandClock(SystemClock):
    """Time that the test moves."""

    seconds = 0.0

    def monotonic(self):
        return self.seconds


# A database of its own, because one test empties it.
REDIS = "redis://127.0.0.1:6379/9"
LARGE = state([f"{number} " * 300 for number in range(20)])


async def drop_parts(redis, thread):
    for key in await redis.keys(f"*{thread}*:parts:*"):
        await redis.delete(key)


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

    async def test_a_long_conversation_takes_little_more_than_its_messages(self):
        log, thread, messages = MemoryEventLog(clock=SystemClock()), uuid4(), []
        tracemalloc.start()
        try:
            for number in range(200):
                messages.append(f"{number} " + "x" * 1000)
                await log.append(thread, [state(messages)], owner=ME)
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert log._stored < 300_000
        assert held < 700_000

    async def test_what_is_dropped_takes_nothing(self, log):
        thread = uuid4()
        for number in range(400):
            await log.append(thread, [state([f"{number} " * 200] * 20)], owner=ME)
        for _ in range(CAP):
            await log.append(thread, [b"1"], owner=ME)
        kept = log._threads[thread]
        assert (kept.parts, kept.uses, kept.size, kept.stored, log._stored) == (
            {},
            {},
            CAP,
            CAP,
            CAP,
        )

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
        assert (list(log._threads), log._stored) == ([busy], 6)

    async def test_all_threads_together_are_capped_in_bytes(self):
        log = MemoryEventLog(clock=SystemClock(), limits=LogLimits(memory_bytes=10_000))
        threads = [uuid4() for _ in range(30)]
        for thread in threads:
            await log.append(thread, [b"x" * 1000], owner=ME)
        assert list(log._threads) == threads[-10:]
        stored = sum(thread.stored for thread in log._threads.values())
        assert log._stored == stored == 10_000


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

    async def test_writers_that_do_not_know_of_each_other_store_whole_states(self, log, redis):
        async with Redis.from_url(REDIS) as other_redis:
            other = RedisEventLog(other_redis, clock=SystemClock(), cap=CAP, limits=LIMITS)
            thread, written, messages = uuid4(), [], []
            for number in range(90):
                messages.append(f"{number} " * 200)
                written.append(state(messages[-20:]))
                await (log, other)[number % 3 == 0].append(thread, written[-1:], owner=ME)
            for reader in (log, other):
                held = await reader.newest(thread, owner=ME, count=CAP)
                assert len(held) >= 3
                assert [entry.body for entry in held] == written[: -len(held) - 1 : -1]

    @pytest.mark.parametrize("later", [[], [b"3"]])
    async def test_an_event_whose_parts_are_gone_is_a_gap(self, log, redis, later):
        thread = uuid4()
        first = await log.append(thread, [b"1"], owner=ME)
        await log.append(thread, [LARGE, *later], owner=ME)
        await drop_parts(redis, thread)
        for after in (first, 0):
            reading = log.read(thread, owner=ME, after=after)
            items = [] if after else [(await anext(reading)).body]
            async with asyncio.timeout(5):
                items.append(await anext(reading))
                items += [(await anext(reading)).body for _ in later]
            assert items == [*([] if after else [b"1"]), Gap(first + 1), *later]
            await reading.aclose()

    async def test_parts_that_redis_evicted_are_stored_again(self, log, redis):
        thread = uuid4()
        other = RedisEventLog(redis, clock=SystemClock(), cap=CAP, limits=LIMITS)
        for writer in (log, other):
            await writer.append(thread, [LARGE], owner=ME)
        await drop_parts(redis, thread)
        for writer in (log, other, log):
            await writer.append(thread, [LARGE], owner=ME)
            [entry] = await log.newest(thread, owner=ME, count=1)
            assert entry.body == LARGE

    async def test_a_stream_that_redis_evicted_begins_again(self, log, redis):
        thread = uuid4()
        await log.append(thread, [b"x" * (CAP_BYTES - 1)], owner=ME)
        await redis.delete(f"bathysphere:{{{thread}}}:log")
        await log.append(thread, [b"y"] * 9, owner=ME)
        assert len(await log.newest(thread, owner=ME, count=99)) == 9

    async def test_events_of_the_version_before_are_read_and_dropped_as_others(self, log, redis):
        thread = uuid4()
        stream = f"bathysphere:{{{thread}}}:log"
        for number in range(9):
            await redis.xadd(stream, {"e": f"{number}", "o": ME.digest}, id=f"{number + 1}-0")
        assert await log.append(thread, [LARGE], owner=ME) == 10
        entries = await take(log.read(thread, owner=ME, after=7), 3)
        assert [entry.body for entry in entries] == [b"7", b"8", LARGE]
        for number in range(CAP):
            await log.append(thread, [state([f"{number} " * 300])], owner=ME)
        assert min(entry.id for entry in await log.newest(thread, owner=ME, count=CAP)) > 10

    async def test_the_version_before_reads_a_state_in_the_database_instead(self, log, redis):
        thread = uuid4()
        update = Event(channel="updates", run_id="r", data={"values": {"m": ["x" * 2000]}})
        await log.append(thread, [LARGE, update.encode(), b"3"], owner=ME)
        rows = await redis.xrange(f"bathysphere:{{{thread}}}:log")
        read = [fields[b"e"] for _, fields in rows]
        state_of, nested = (Event.decode(body) for body in read[:2])
        assert (state_of.channel, state_of.namespace) == ("values", ())
        assert (nested.channel, nested.namespace) == ("values", ("-",))
        assert OMITTED in state_of.data
        assert OMITTED in nested.data
        assert read[2] == b"3"

    async def test_a_long_conversation_takes_little_more_than_its_messages(self, redis):
        async with RedisEventLog(redis, clock=SystemClock()) as log:
            thread, messages = uuid4(), []
            for number in range(200):
                messages.append(f"{number} " + "x" * 1000)
                await log.append(thread, [state(messages)], owner=ME)
            keys = await redis.keys(f"*{thread}*")
            taken = [await redis.memory_usage(key, samples=0) for key in keys]
            assert sum(taken) < 500_000
            await log.delete(thread)
            assert await redis.keys(f"*{thread}*") == []

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
