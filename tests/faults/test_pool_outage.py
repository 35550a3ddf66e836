"""After an outage of PostgreSQL, a process is connected again within seconds."""

import asyncio
import time
from dataclasses import replace

import psycopg
import pytest
from engine_rig import Database
from link import Link
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import PoolTimeout

from bathysphere.engine.database.pool import Pool, open_pool

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]

OUTAGE_SECONDS = 8.0
"""With delays of 1, 2, 4 and 8 s between attempts, a pool would be back 7 s after its end."""


async def connect(pool: Pool) -> None:
    """Wait for a working connection, also if idle ones turn out to be lost."""
    while True:
        try:
            async with pool.connection(timeout=30) as connection:
                await connection.execute("SELECT 1")
        except (psycopg.OperationalError, PoolTimeout):
            await asyncio.sleep(0.01)
        else:
            return


async def test_the_pool_is_back_within_seconds_after_an_outage(engine_database: Database, within):
    parts = conninfo_to_dict(engine_database.url)
    link = await Link(int(parts.get("port") or 5432)).open()
    url = make_conninfo(engine_database.url, host="127.0.0.1", port=link.port)
    try:
        async with open_pool(replace(engine_database, url=url, max_size=2)) as pool:
            outage = asyncio.create_task(link.drop(OUTAGE_SECONDS))
            waiting = asyncio.create_task(connect(pool))
            await outage
            began = time.monotonic()
            await waiting
            within(time.monotonic() - began, 3.5)
    finally:
        await link.close()
