"""A database for the session, a rig for each test."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

sys.path.insert(0, str(Path(__file__).parent))

from engine_rig import REDIS, Nursery, Rig, clean, open_rig, own_database

from bathysphere.core.clock import SystemClock
from bathysphere.engine.database import Database
from bathysphere.engine.events_redis import RedisEventLog


@pytest.fixture(scope="session")
def engine_database() -> Iterator[Database]:
    with own_database() as database:
        yield database


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
async def rig(engine_database: Database) -> AsyncIterator[Rig]:
    """An engine whose events go through Redis, as the worker processes' do."""
    clean(engine_database)
    async with (
        Redis.from_url(REDIS) as redis,
        RedisEventLog(redis, clock=SystemClock()) as log,
        open_rig(engine_database, log) as rig,
    ):
        yield rig
