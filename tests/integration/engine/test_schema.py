"""The database gets its shape once, whoever asks."""

import asyncio
import secrets

import psycopg
import pytest
from engine_rig import SERVER

from bathysphere.engine.database import Database
from bathysphere.engine.schema import migrate

pytestmark = pytest.mark.services


async def test_several_processes_migrate_at_once_and_one_does_the_work():
    name = f"engine_test_{secrets.token_hex(6)}"
    with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        database = Database(url=f"{SERVER}/{name}")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(migrate(database)) for _ in range(4)]
        applied = sorted([task.result() for task in tasks], key=len)
        assert applied[:3] == [[], [], []]
        assert applied[3] == sorted(applied[3])
        assert applied[3][0] == "0001_threads_and_runs.sql"
    finally:
        with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
