"""A migrated database for each module of these tests."""

import asyncio
import secrets
from collections.abc import Iterator

import psycopg
import pytest

from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate

SERVER = "postgresql://root@127.0.0.1:5432"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    """A database of its own, dropped at the end."""
    name = f"server_test_{secrets.token_hex(6)}"
    with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    found = Database(url=f"{SERVER}/{name}")
    try:
        asyncio.run(migrate(found))
        yield found
    finally:
        with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
