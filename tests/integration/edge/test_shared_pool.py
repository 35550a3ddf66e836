"""Tenants share the connections of a process equally."""

import asyncio

import pytest

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.tenant_shares import acting_owner

pytestmark = pytest.mark.services
ADA = Owner(tenant="acme", user="ada")
BOB = Owner(tenant="other", user="bob")


async def look(pool: Pool, owner: Owner | None, seconds: float) -> None:
    acting_owner.set(owner)
    async with pool.connection() as connection:
        await connection.execute("SELECT pg_sleep(%s)", (seconds,))


async def test_hundreds_of_lookups_by_one_tenant_leave_connections_for_others(pool):
    many = [asyncio.create_task(look(pool, ADA, 0.1)) for _ in range(300)]
    await asyncio.sleep(0.3)
    async with asyncio.timeout(1):  # behind all lookups of the other tenant it would take three
        await asyncio.gather(look(pool, BOB, 0), look(pool, None, 0))
    assert not all(task.done() for task in many)
    await asyncio.gather(*many)


async def test_who_needs_a_second_connection_gets_it_though_the_share_is_used_up(pool):
    async def nested() -> None:
        acting_owner.set(ADA)
        async with pool.connection() as outer, pool.connection() as inner:
            await outer.execute("SELECT 1")
            await inner.execute("SELECT 1")

    await asyncio.wait_for(asyncio.gather(*(nested() for _ in range(5))), 20)
