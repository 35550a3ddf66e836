"""Fixtures: one database per session, emptied for each test, and one rig per test."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from engine_rig import REDIS, Nursery, Rig, clean, open_rig, own_database

from bathysphere.engine.database.pool import Database


@pytest.fixture(scope="session")
def session_database() -> Iterator[Database]:
    with own_database() as database:
        yield database


@pytest.fixture
def engine_database(session_database: Database) -> Database:
    """Without the runs that earlier tests left: a worker would execute them first."""
    clean(session_database)
    return session_database


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
async def rig(engine_database: Database) -> AsyncIterator[Rig]:
    """An engine whose events go through Redis, like those of the worker processes."""
    async with open_rig(engine_database, redis_url=REDIS) as rig:
        yield rig
