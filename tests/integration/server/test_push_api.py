"""Push routes: each person has their own browsers, and strange endpoints are refused."""

import sys
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_walls import BROWSER, graph, identify, town  # noqa: F401  # a fixture

from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.process.services import open_services

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]
PLACE = "/push/subscription"
OTHER = {**BROWSER, "endpoint": "https://push.example.com/y"}


async def owners(town) -> dict[str, str]:  # noqa: F811
    async with town.services.pool.connection() as connection:
        query = "SELECT endpoint, owner FROM engine.push_subscriptions"
        return {
            row["endpoint"]: row["owner"]
            for row in await (await connection.execute(query)).fetchall()
        }


async def unsubscribe(town, user: str, endpoint: str) -> int:  # noqa: F811
    answer = await town.call(user, "DELETE", PLACE, json={"endpoint": endpoint})
    return answer.status_code


async def test_a_person_subscribes_and_unsubscribes_for_themselves(town):  # noqa: F811
    offered = (await town.call("bob", "GET", "/push")).json()
    assert len(offered["public_key"]) == 87
    assert (await town.call("bob", "PUT", PLACE, json=OTHER)).status_code == 204
    assert await owners(town) == {BROWSER["endpoint"]: "alice", OTHER["endpoint"]: "bob"}
    assert await unsubscribe(town, "bob", BROWSER["endpoint"]) == 204
    assert await unsubscribe(town, "bob", OTHER["endpoint"]) == 204
    assert await owners(town) == {BROWSER["endpoint"]: "alice"}


async def test_a_shared_browser_is_the_last_ones(town):  # noqa: F811
    assert (await town.call("bob", "PUT", PLACE, json=BROWSER)).status_code == 204
    assert await owners(town) == {BROWSER["endpoint"]: "bob"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"endpoint": "http://127.0.0.1:5432/"},
        {"endpoint": "https://localhost/x"},
        {"endpoint": "https://push.example.com/" + "x" * 2048},
        {"endpoint": "https://push.example.com/\u00fc"},
        {"keys": {"p256dh": "x", "auth": "y"}},
        {"keys": {"p256dh": "x" * 1000, "auth": "y"}},
        {"keys": None},
    ],
)
async def test_what_is_no_subscription_is_refused(town, wrong):  # noqa: F811
    before = await owners(town)
    answer = await town.call("bob", "PUT", PLACE, json={**OTHER, **wrong})
    assert answer.status_code == 422, answer.text
    assert await owners(town) == before


async def test_a_server_without_push_says_so(database):
    async with open_services(database=database, graphs=Graphs({"plain": graph})) as services:
        app = create_app(services=services, identify=identify)
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url="http://test",
            headers={"x-test-user": "alice"},
        ) as client:
            assert (await client.get("/push")).json() == {"public_key": None}
            answer = await client.put(PLACE, json=BROWSER)
        assert answer.status_code == 422
        assert "BATHYSPHERE_PUSH_CONTACT" in answer.json()["hint"]
