"""A migrated database for the session, an empty ledger for each test.

`PAYMENTS_DATABASE` names one that is there already: mutation testing makes it once for all mutants.
"""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ledger_rig import Rig, empty, open_rig, own_database

from bathysphere.engine.database.pool import Database


@pytest.fixture(scope="session")
def payments_database() -> Iterator[Database]:
    if given := os.environ.get("PAYMENTS_DATABASE"):
        yield Database(url=given, max_size=16)
        return
    with own_database() as database:
        yield database


@pytest.fixture
async def rig(payments_database: Database) -> AsyncIterator[Rig]:
    empty(payments_database)
    async with open_rig(payments_database) as rig:
        yield rig


@pytest.fixture
def clean_database(payments_database: Database) -> Database:
    empty(payments_database)
    return payments_database
