"""Both event logs keep one contract."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import UpstreamError
from bathysphere.engine.events import EventLog, MemoryEventLog
from bathysphere.engine.events_redis import RedisEventLog
from bathysphere.testing.event_log_contract import CAP, EventLogContract, take

# A database of its own, because one test empties it.
REDIS = "redis://127.0.0.1:6379/9"


class TestMemoryEventLog(EventLogContract):
    @pytest.fixture
    def log(self) -> EventLog:
        return MemoryEventLog(clock=SystemClock(), cap=CAP)


@pytest.mark.services
class TestRedisEventLog(EventLogContract):
    @pytest.fixture
    async def redis(self) -> AsyncIterator["Redis[bytes]"]:
        async with Redis.from_url(REDIS) as redis:
            yield redis
            await redis.flushdb()

    @pytest.fixture
    async def log(self, redis: "Redis[bytes]") -> AsyncIterator[EventLog]:
        async with RedisEventLog(redis, clock=SystemClock(), cap=CAP, look_seconds=0.1) as log:
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
            await log.append(thread, [b"1", b"2"])
            assert [entry.body for entry in await take(other.read(thread), 2)] == [b"1", b"2"]

    async def test_an_unreachable_redis_is_an_upstream_error(self):
        async with Redis.from_url("redis://127.0.0.1:1/0") as nowhere:
            log = RedisEventLog(nowhere, clock=SystemClock())
            with pytest.raises(UpstreamError):
                await log.append(uuid4(), [b"1"])

    async def test_one_connection_serves_all_readers(self, log, redis):
        streams = [log.read(uuid4()) for _ in range(50)]
        waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0.3)
        clients = [c for c in await redis.client_list() if c["db"] == "9" and c["sub"] != "0"]
        assert len(clients) == 1
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
