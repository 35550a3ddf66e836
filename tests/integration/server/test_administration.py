"""Administrators see and act on the operations of all tenants; nobody else reaches any of it."""

import sys
from pathlib import Path
from uuid import UUID

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_walls import SECRET, Town, graph, identify, workspaces_of_the_town

from bathysphere.core.identity import Owner
from bathysphere.engine.graphs import Graphs
from bathysphere.server.administration.routes import router
from bathysphere.server.administration.service import Administration
from bathysphere.server.app import create_app, first_segments
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.identity.identify import ROLES_KEY
from bathysphere.server.observability.health import Health
from bathysphere.server.process.services import open_services
from bathysphere.server.process.settings import ServerSettings

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
ROUTES = sorted((method, route.path) for route in router.routes for method in route.methods)
ROOT = "root"


async def identify_with_roles(connection) -> Owner:
    owner = await identify(connection)
    connection.scope[ROLES_KEY] = frozenset({"admin"} if owner.user == ROOT else ())
    return owner


@pytest.fixture
async def town(database):
    async with open_services(
        database=database,
        graphs=Graphs({"plain": graph, "research": graph}),
        workspaces=workspaces_of_the_town(),
    ) as services:
        administration = Administration(
            health=Health(services.pool), api_keys=ApiKeys(services.pool)
        )
        app = create_app(
            services=services, identify=identify_with_roles, administration=administration
        )
        found = Town(app, services)
        thread = await found.call("alice", "POST", "/threads", json={"metadata": {"title": SECRET}})
        run = {"assistant_id": "plain", "input": {"items": [SECRET]}}
        place = f"/threads/{thread.json()['thread_id']}/runs"
        found.ids["run_id"] = (await found.call("alice", "POST", place, json=run)).json()["run_id"]
        found.ids |= {"action": "cancel", "key_id": "000000000000"}
        yield found
        await found.client.aclose()
        await app.state.mcp.aclose()


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_everybody_else_is_refused(town, method, path):
    for user in ("alice", "bob"):
        answer = await town.call(user, method, path)
        assert (answer.status_code, answer.json()["error"]) == (403, "not_allowed")
        assert town.ids["run_id"] not in answer.text
    run = await town.services.operations.get(UUID(town.ids["run_id"]))
    assert run.status == "pending"


async def test_without_administrators_there_is_nothing_to_call(town):
    app = create_app(services=town.services, identify=identify_with_roles)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        for method, path in ROUTES:
            answer = await client.request(method, path, headers={"x-test-user": ROOT})
            assert answer.status_code in (404, 405), (method, path)
    await app.state.mcp.aclose()
    assert "admin" in first_segments()  # never taken for a page of the browser app
    local = ServerSettings.model_construct(oidc_admin_claim=None, auth=())
    assert Administration.from_settings(local, town.services, Health(town.services.pool)) is None


async def test_runs_of_all_tenants_are_listed_and_cancelled_without_contents(town):
    await town.call("bob", "POST", "/runs", json={"assistant_id": "plain", "input": {"items": []}})
    answer = await town.call(ROOT, "GET", "/admin/runs")
    assert {run["tenant"] for run in answer.json()} >= {"alice", "bob"}
    assert SECRET not in answer.text
    asked = {"tenant": "bob", "status": "pending"}
    only = (await town.call(ROOT, "GET", "/admin/runs", params=asked)).json()
    assert {run["tenant"] for run in only} == {"bob"}
    async with town.services.pool.connection() as connection:
        await connection.execute(
            "UPDATE engine.runs SET error ="
            " jsonb_build_object('code', 'failed', 'message', %s::text) WHERE run_id = %s",
            (SECRET, town.ids["run_id"]),
        )
    listed = await town.call(ROOT, "GET", "/admin/runs", params={"tenant": "alice"})
    assert SECRET not in listed.text
    health = (await town.call(ROOT, "GET", "/admin/health")).json()
    assert health["checks"]["database"] == "ok"
    assert health["runs"]["pending"] >= 2
    for action, status in (("requeue", "pending"), ("cancel", "cancelled")):
        done = await town.call(ROOT, "POST", f"/admin/runs/{{run_id}}/{action}")
        assert (done.status_code, done.json()["status"]) == (200, status), done.text
    refused = await town.call(ROOT, "POST", "/admin/runs/{run_id}/replay")
    assert (refused.status_code, refused.json()["error"]) == (409, "cannot_replay")
    rows = (await town.call(ROOT, "GET", "/admin/audit")).json()["rows"]
    told = [(row["action"], row["actor"], row["user"], row["subject"]) for row in rows[:2]]
    run_id = town.ids["run_id"]
    assert told == [
        ("run.cancelled", f"{ROOT}/{ROOT}", "alice", run_id),
        ("run.requeued", f"{ROOT}/{ROOT}", "alice", run_id),
    ]


async def test_budgets_are_set_and_removed(town):
    budget = {"tenant": "carol", "user": "", "unit": "EUR", "amount": "12.50"}
    set_ = await town.call(ROOT, "PUT", "/admin/budgets", json=budget)
    assert (set_.status_code, set_.json()) == (200, budget)
    assert budget in (await town.call(ROOT, "GET", "/admin/budgets")).json()
    chosen = {"tenant": "carol", "unit": "EUR"}
    for status in (204, 404):
        answer = await town.call(ROOT, "DELETE", "/admin/budgets", params=chosen)
        assert answer.status_code == status
    for wrong in ({"amount": "-1"}, {"amount": "NaN"}, {"unit": "euro"}, {"tenant": ""}):
        answer = await town.call(ROOT, "PUT", "/admin/budgets", json={**budget, **wrong})
        assert answer.status_code == 422, wrong
    usage = await town.call(ROOT, "GET", "/admin/usage", params={"by": "user"})
    assert set(usage.json()) == {"lines", "total"}


async def test_a_key_is_shown_once_and_revoked(town):
    asked = {"tenant": "dave", "user": "dave", "label": "for a test", "days": 3}
    created = await town.call(ROOT, "POST", "/admin/keys", json=asked)
    secret, key_id = created.json()["secret"], created.json()["key_id"]
    assert created.headers["cache-control"] == "no-store"
    keys = ApiKeys(town.services.pool)
    assert await keys.owner_of(secret) == Owner(tenant="dave", user="dave")
    listed = await town.call(ROOT, "GET", "/admin/keys")
    assert {"key_id": key_id, "state": "live"}.items() <= listed.json()[0].items()
    assert secret not in listed.text
    assert (await town.call(ROOT, "DELETE", f"/admin/keys/{key_id}")).status_code == 204
    assert (await town.call(ROOT, "GET", "/admin/keys")).json()[0]["state"] == "revoked"
    assert (await town.call(ROOT, "DELETE", "/admin/keys/000000000000")).status_code == 404
    audit = await town.call(ROOT, "GET", "/admin/audit")
    assert [row["action"] for row in audit.json()["rows"][:2]] == ["key.revoked", "key.created"]
    assert audit.json()["head"] == str(await town.services.audit.verify())
    assert "for a test" not in audit.text
