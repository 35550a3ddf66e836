"""Schedules and webhooks over HTTP: whose they are, and what is refused."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_walls import graph

from bathysphere.core.identity import Owner
from bathysphere.engine.crons.service import CronLimits
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.identity.identify import anonymous
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.deliveries import WebhookOptions
from bathysphere.server.process.services import (
    ScheduleOptions,
    Services,
    open_scheduler,
    open_services,
)

pytestmark = pytest.mark.services
ADA = Owner(tenant="acme", user="ada")
CRON = {"assistant_id": "plain", "schedule": "* * * * *", "input": {"items": ["x"]}}


class HandClock:
    def __init__(self) -> None:
        self.now = datetime(2026, 5, 4, 12, tzinfo=UTC)

    async def read(self, connection: Any) -> datetime:
        return self.now


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def services(database, clock):
    limits = CronLimits(per_tenant=3, max_bytes=1000)
    async with open_services(
        database=database,
        graphs=Graphs({"plain": graph}),
        schedules=ScheduleOptions(limits=limits, clock=clock.read),
        webhooks=WebhookOptions(master=b"a secret of thirty-two characters"),
    ) as opened:
        async with opened.pool.connection() as connection:
            await connection.execute(
                "TRUNCATE engine.threads, engine.crons, identity.api_keys CASCADE"
            )
        yield opened


def client_of(services: Services, identify: Any, key: str | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=create_app(services=services, identify=identify))
    headers = {"x-api-key": key} if key else {}
    return httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers)


async def rows(services: Services, query: str) -> list[dict[str, Any]]:
    async with services.pool.connection() as connection:
        return await (await connection.execute(query)).fetchall()


async def test_a_schedule_is_bound_to_the_key_of_the_request_and_not_to_what_it_says(
    services, clock
):
    keys = ApiKeys(services.pool)
    first, second = [await keys.create(ADA) for _ in range(2)]
    claims = {"key_id": "another", "user_id": "eve", "tenant": "evil", "authorized_until": None}
    async with client_of(services, keys.identify, first.secret) as client:
        made = (await client.post("/runs/crons", json={**CRON, **claims})).json()
    (row,) = await rows(services, "SELECT * FROM engine.crons")
    assert (row["tenant"], row["owner"], row["key_id"]) == ("acme", "ada", first.key.key_id)
    assert row["authorized_until"] is None
    await keys.revoke(first.key.key_id)
    clock.now += timedelta(minutes=1)
    assert await open_scheduler(services, Metrics()).tick() == "disabled"
    assert await rows(services, "SELECT * FROM engine.runs") == []
    async with client_of(services, keys.identify, second.secret) as client:
        place = f"/runs/crons/{made['cron_id']}"
        seen = (await client.get(place)).json()
        assert (seen["enabled"], seen["disabled_reason"]) == (False, "api_key_ended")
        seen = (await client.patch(place, json={"enabled": True})).json()
        assert (seen["enabled"], seen["disabled_reason"]) == (True, None)
    clock.now += timedelta(minutes=1)
    metrics = Metrics()
    assert await open_scheduler(services, metrics).tick() == "created"
    assert b'bathysphere_cron_due_times_total{outcome="created"} 1.0' in metrics.render()


async def test_without_sign_in_a_schedule_does_not_end_and_with_a_token_it_does(services, clock):
    async def by_token(connection: Any) -> Owner:
        return ADA

    for identify, until in ((anonymous, None), (by_token, clock.now + timedelta(days=30))):
        # A key that nobody has checked, as LangGraph's clients send it from the environment.
        async with client_of(services, identify, "bsk_000000000000_" + "x" * 43) as client:
            assert (await client.post("/runs/crons", json=CRON)).status_code == 200
        (row,) = await rows(services, "DELETE FROM engine.crons RETURNING *")
        assert (row["key_id"], row["authorized_until"]) == (None, until)


@pytest.mark.parametrize(
    ("change", "status", "word"),
    [
        ({"schedule": "* * * * * *"}, 422, "schedule"),
        ({"schedule": 5}, 422, "schedule"),
        ({"timezone": "Mars/Olympus"}, 422, "timezone"),
        ({"end_time": "2020-01-01T00:00:00"}, 422, "end_time"),
        ({"end_time": "soon"}, 422, "end_time"),
        ({"assistant_id": "nobody"}, 404, "nobody"),
        ({"input": {"items": ["x" * 2000]}}, 422, "input"),
        ({"context": {"x": 1}}, 422, "x"),
        ({"webhook": "https://127.0.0.1/"}, 422, "webhook"),
        ({"webhook": "/runs"}, 422, "webhook"),
        ({"config": {"configurable": {"checkpoint_id": "c"}}}, 422, "config"),
        ({"multitask_strategy": "never"}, 422, "multitask_strategy"),
    ],
)
async def test_what_is_wrong_with_a_schedule_is_named(services, change, status, word):
    async with client_of(services, anonymous) as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        place = f"/threads/{thread}/runs/crons"
        answer = await client.post(place, json={**CRON, **change})
        assert answer.status_code == status, answer.text
        assert word in answer.json()["message"]
        made = (await client.post(place, json=CRON)).json()
        if "assistant_id" not in change and "multitask_strategy" not in change:
            changed = await client.patch(f"/runs/crons/{made['cron_id']}", json=change)
            is_end = change.get("end_time") == "2020-01-01T00:00:00"
            assert changed.status_code == (200 if is_end else status), changed.text
            assert not is_end or changed.json()["next_run_date"] is None


async def test_a_tenant_has_a_limited_number(services):
    async with client_of(services, anonymous) as client:
        statuses = [(await client.post("/runs/crons", json=CRON)).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


async def test_a_webhook_is_refused_where_none_are_sent(database):
    run = {"assistant_id": "plain", "input": {}, "webhook": "https://hooks.example.com/"}
    async with (
        open_services(database=database, graphs=Graphs({"plain": graph})) as services,
        client_of(services, anonymous) as client,
    ):
        for path, body in (("/runs", run), ("/runs/crons", {**CRON, **run})):
            answer = await client.post(path, json=body)
            assert (answer.status_code, answer.json()["error"]) == (422, "not_supported")
            assert "BATHYSPHERE_WEBHOOK_SECRET" in answer.json()["hint"]


@pytest.mark.parametrize("url", ["http://hooks.example.com/", "https://10.0.0.1/", "nonsense", ""])
@pytest.mark.parametrize("path", ["", "/wait", "/stream"])
async def test_a_webhook_that_cannot_be_one_is_refused_with_the_run(services, url, path):
    run = {"assistant_id": "plain", "input": {}, "webhook": url}
    async with client_of(services, anonymous) as client:
        answer = await client.post(f"/runs{path}", json=run)
    assert answer.status_code == 422
    assert "webhook" in answer.json()["message"]
    assert await rows(services, "SELECT * FROM engine.runs") == []
