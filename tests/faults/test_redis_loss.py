"""Redis goes away and comes back empty: runs do not notice, readers are told."""

import asyncio
import shutil
import socket
import subprocess
from collections.abc import Iterator
from uuid import uuid4

import pytest
from engine_rig import END_EVENTS, Nursery, open_rig
from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.core.clock import SystemClock
from bathysphere.engine.database import Database
from bathysphere.engine.events import Gap
from bathysphere.engine.events_redis import RedisEventLog

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


class OwnRedis:
    """A Redis of this test's own, to be killed."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [shutil.which("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    async def wait_ready(self) -> None:
        async with asyncio.timeout(10):
            while True:
                try:
                    async with Redis.from_url(self.url) as redis:
                        await redis.ping()
                        return
                except (RedisError, OSError):
                    await asyncio.sleep(0.05)


@pytest.fixture
def own_redis() -> Iterator[OwnRedis]:
    redis = OwnRedis()
    redis.start()
    yield redis
    redis.kill()


async def test_a_restarted_redis_costs_a_gap_and_nothing_else(
    engine_database: Database, nursery: Nursery, own_redis: OwnRedis
):
    await own_redis.wait_ready()
    async with (
        Redis.from_url(own_redis.url) as redis,
        RedisEventLog(redis, clock=SystemClock(), look_seconds=0.2) as log,
        open_rig(engine_database, log) as rig,
    ):
        thread = uuid4()
        seen: list[str] = []

        async def read() -> None:
            async for item in log.read(thread):
                if isinstance(item, Gap):
                    seen.append("gap")
                    continue
                event = item.event()
                if event.channel == "lifecycle":
                    seen.append(event.data["event"])
                    if event.data["event"] in END_EVENTS:
                        return

        reading = asyncio.create_task(read())
        with nursery.workers(engine_database, 1, redis=own_redis.url):
            run = await rig.start(thread, "steps", input={"name": "a", "steps": 12, "delay": 0.3})
            await rig.in_journal(thread, "a:2")
            own_redis.kill()
            await rig.in_journal(thread, "a:5")  # the run does not notice
            own_redis.start()
            ended = await rig.ended(run)
            assert (ended.status, ended.attempt) == ("success", 1)
            async with asyncio.timeout(10):
                await reading
    assert seen == ["started", "gap", "completed"]
    assert await rig_items(engine_database, thread) == [f"a:{n}" for n in range(12)]


async def rig_items(database: Database, thread) -> list[str]:
    async with open_rig(database) as rig:
        return await rig.items(thread)
