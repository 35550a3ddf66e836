"""A migrated database for each module of these tests."""

import asyncio
from collections.abc import Iterator

import pytest

from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.testing.postgres import temporary_database


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A database of its own, dropped at the end."""
    with temporary_database("server_test") as url:
        found = Database(url=url)
        asyncio.run(migrate(found))
        yield found
