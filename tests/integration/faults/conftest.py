"""A database for the session, a rig with an in-memory event log for each test."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "faults"))

from engine_rig import Rig, clean, open_rig, own_database

from bathysphere.engine.database.pool import Database


@pytest.fixture(scope="session")
def engine_database() -> Iterator[Database]:
    with own_database() as database:
        yield database


@pytest.fixture
async def rig(engine_database: Database) -> AsyncIterator[Rig]:
    clean(engine_database)
    async with open_rig(engine_database) as rig:
        yield rig
