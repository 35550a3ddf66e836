"""A thread's own `ttl`, with the stock client: shown, renewed, and kept by the sweep."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

from bathysphere.core.identity import Owner
from bathysphere.engine.expiry import thread_sweep
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.process.services import Services, open_services

pytestmark = pytest.mark.services
ALICE = Owner(tenant="acme", user="alice")


async def identify(request: Any) -> Owner:
    return ALICE


@asynccontextmanager
async def serving(database) -> AsyncIterator[tuple[LangGraphClient, Services]]:
    async with open_services(database=database, graphs=Graphs({})) as services:
        app = create_app(services=services, identify=identify)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
            yield LangGraphClient(http), services


async def let_time_pass(services: Services, thread_id: str, minutes: float) -> None:
    async with services.pool.connection() as connection:
        await connection.execute(
            "UPDATE engine.threads SET expires_at = expires_at - make_interval(mins => %s),"
            " updated_at = updated_at - make_interval(mins => %s) WHERE thread_id = %s",
            (int(minutes), int(minutes), UUID(thread_id)),
        )


async def exists(client: LangGraphClient, thread_id: str) -> bool:
    try:
        await client.threads.get(thread_id)
    except NotFoundError:
        return False
    return True


def in_minutes(minutes: float, found: str) -> bool:
    expected = datetime.now(UTC) + timedelta(minutes=minutes)
    return abs(datetime.fromisoformat(found) - expected) < timedelta(minutes=5)


def test_a_ttl_is_shown_on_request_and_renewed_by_an_update(database):
    async def scenario() -> None:
        async with serving(database) as (client, _):
            thread = (await client.threads.create(ttl=60))["thread_id"]
            assert "ttl" not in await client.threads.get(thread)
            found = (await client.threads.get(thread, include=["ttl"]))["ttl"]
            assert (found["strategy"], found["ttl_minutes"]) == ("delete", 60)
            assert in_minutes(60, found["expires_at"])
            await client.threads.update(thread, metadata={"a": 1})
            assert (await client.threads.get(thread, include=["ttl"]))["ttl"] == found
            await client.threads.update(thread, metadata={}, ttl={"ttl": 600})
            renewed = (await client.threads.get(thread, include=["ttl"]))["ttl"]
            assert renewed["ttl_minutes"] == 600
            assert in_minutes(600, renewed["expires_at"])
            plain = (await client.threads.create())["thread_id"]
            assert "ttl" not in await client.threads.get(plain, include=["ttl"])

    asyncio.run(scenario())


def test_a_thread_goes_when_its_own_time_is_over_and_not_before(database):
    async def scenario() -> None:
        async with serving(database) as (client, services):
            short, long, plain = [
                (await client.threads.create(ttl=ttl))["thread_id"] for ttl in (10, 100, None)
            ]
            for thread in (short, long, plain):
                await let_time_pass(services, thread, 50)
            assert await thread_sweep(services.threads, minutes=None)() == 1
            kept = [await exists(client, one) for one in (short, long, plain)]
            assert kept == [False, True, True]
            # The project's time is for threads without a time of their own.
            assert await thread_sweep(services.threads, minutes=20)() == 1
            assert [await exists(client, one) for one in (long, plain)] == [True, False]

    asyncio.run(scenario())


def test_a_thread_in_use_stays_until_its_run_has_ended(database):
    async def scenario() -> None:
        async with serving(database) as (client, services):
            thread = (await client.threads.create(ttl=10))["thread_id"]
            await let_time_pass(services, thread, 50)
            async with services.pool.connection() as connection:
                await connection.execute("UPDATE engine.threads SET status = 'busy'")
            assert await thread_sweep(services.threads, minutes=None)() == 0
            async with services.pool.connection() as connection:
                await connection.execute("UPDATE engine.threads SET status = 'idle'")
            assert await thread_sweep(services.threads, minutes=None)() == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "ttl", [{"ttl": 5, "strategy": "keep_latest"}, {"ttl": 0}, {"ttl": -1}, {"ttl": 1e300}, {}, 5]
)
def test_what_cannot_be_done_is_refused(database, ttl):
    async def scenario() -> None:
        async with serving(database) as (client, _):
            thread = (await client.threads.create())["thread_id"]
            with pytest.raises(UnprocessableEntityError):
                await client.http.post("/threads", json={"ttl": ttl})
            with pytest.raises(UnprocessableEntityError):
                await client.http.patch(f"/threads/{thread}", json={"ttl": ttl})

    asyncio.run(scenario())
