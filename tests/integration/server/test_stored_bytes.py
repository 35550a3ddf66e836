"""What a user and a tenant keep in the database is limited: items, copies, and what runs write."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any, TypedDict

import httpx
import pytest
from langgraph.graph import START, StateGraph

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.engine.database.stored_bytes import StorageLimits
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.worker import WorkerOptions
from bathysphere.server.app import create_app
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.services import Services, open_services, open_worker
from bathysphere.server.process.settings import ServerSettings
from bathysphere.testing.postgres import temporary_database

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
MB = 1024 * 1024
LIMITS = StorageLimits(per_user=10 * MB, per_tenant=14 * MB)


class State(TypedDict, total=False):
    text: str
    size: int


def writer() -> Any:
    """Keeps as much text as it is told; random, so that the database cannot shrink it."""
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"text": secrets.token_hex(state["size"] // 2)})
    builder.add_edge(START, "node")
    return builder.compile()


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    with temporary_database("stored") as url:
        database = Database(url=url)
        await migrate(database)
        graphs = Graphs({"writer": writer})
        async with open_services(database=database, graphs=graphs, storage=LIMITS) as opened:
            worker = await open_worker(
                opened,
                metrics=Metrics(),
                limits=Limits(attempts=1),
                options=WorkerOptions(concurrency=2),
            )
            working = asyncio.create_task(worker.run())
            yield opened
            worker.drain()
            await working


@pytest.fixture
async def ask(services: Services) -> AsyncIterator[Any]:
    async def identify(connection) -> Owner:
        return Owner(tenant="acme", user=connection.headers["x-user"])

    app = create_app(services=services, identify=identify)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60) as client:

        async def call(method: str, path: str, user: str = "ada", **more: Any) -> httpx.Response:
            return await client.request(method, path, headers={"x-user": user}, **more)

        yield call


def item(number: int, size: int = 3 * MB) -> dict[str, Any]:
    text = secrets.token_hex(size // 2)
    return {"namespace": ["notes"], "key": str(number), "value": {"text": text}}


async def big_thread(ask: Any, size: int) -> str:
    made = await ask("POST", "/threads", json={})
    thread = str(made.json()["thread_id"])
    run = {"assistant_id": "writer", "input": {"size": size}}
    done = await ask("POST", f"/threads/{thread}/runs/wait", json=run)
    assert len(done.json().get("text", "")) == size, done.text[:300]
    return thread


async def test_items_beyond_the_limit_are_refused_and_deletion_gives_back(ask):
    statuses = [(await ask("PUT", "/store/items", json=item(n))).status_code for n in range(8)]
    assert statuses == [204, 204, 204, 413, 413, 413, 413, 413]
    refused = await ask("PUT", "/store/items", json=item(9))
    assert refused.json()["error"] == "storage_full"
    assert "delete" in refused.json()["hint"]
    gone = await ask("DELETE", "/store/items", json={"namespace": ["notes"], "key": "0"})
    assert gone.status_code == 204
    await asyncio.sleep(1.1)  # what was measured a moment ago is not measured again
    assert (await ask("PUT", "/store/items", json=item(10))).status_code == 204


async def test_the_users_of_a_tenant_share_its_limit(ask):
    for number in range(3):
        assert (await ask("PUT", "/store/items", json=item(number))).status_code == 204
    assert (await ask("PUT", "/store/items", user="bob", json=item(1))).status_code == 204
    refused = await ask("PUT", "/store/items", user="bob", json=item(2))
    assert refused.status_code == 413
    assert "tenant" in refused.json()["message"]


async def test_copies_of_a_thread_count_and_deleted_ones_do_not(ask):
    thread = await big_thread(ask, MB)
    copies = [await ask("POST", f"/threads/{thread}/copy") for _ in range(10)]
    statuses = [copy.status_code for copy in copies]
    assert statuses[0] == 200
    assert statuses[-1] == 413
    made = [copy.json()["thread_id"] for copy in copies if copy.status_code == 200]
    for copied in made:
        assert (await ask("DELETE", f"/threads/{copied}")).status_code == 204
    await asyncio.sleep(1.1)
    assert (await ask("POST", f"/threads/{thread}/copy")).status_code == 200


async def test_a_run_that_exceeds_the_limit_ends_with_a_clear_error(ask):
    thread = (await ask("POST", "/threads", json={})).json()["thread_id"]
    run = {"assistant_id": "writer", "input": {"size": 12 * MB}}
    started = (await ask("POST", f"/threads/{thread}/runs", json=run)).json()["run_id"]
    await ask("GET", f"/threads/{thread}/runs/{started}/join")
    seen = (await ask("GET", f"/threads/{thread}/runs/{started}")).json()
    assert seen["status"] == "error"
    assert "Storage of this user is full" in str(seen)
    state = (await ask("GET", f"/threads/{thread}/state")).json()
    assert "text" not in state["values"]


async def test_input_beyond_the_limit_is_refused_before_a_run_begins(ask):
    for number in range(3):
        await ask("PUT", "/store/items", json=item(number))
    thread = (await ask("POST", "/threads", json={})).json()["thread_id"]
    run = {"assistant_id": "writer", "input": {"text": secrets.token_hex(MB), "size": 1}}
    assert (await ask("POST", f"/threads/{thread}/runs", json=run)).status_code == 413
    assert (await ask("GET", f"/threads/{thread}/runs")).json() == []


def test_limits_are_on_by_default():
    settings = ServerSettings()
    assert settings.max_stored_bytes_per_user == 2 * 1024**3
    assert settings.max_stored_bytes_per_tenant == 20 * 1024**3
