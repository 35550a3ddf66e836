"""The layers together, as the settings choose them."""

import orjson
import pytest
from asgi_calls import Echo, call

from bathysphere.core.clock import SystemClock
from bathysphere.server.asgi.probes import Probes, not_found
from bathysphere.server.asgi.stack import Edge, wrap
from bathysphere.server.identity import once
from bathysphere.server.identity.identify import anonymous
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.settings import ServerSettings

HOST = {"host": "localhost:8123"}
PAGE = "https://page.example"


class Sick:
    async def check(self):
        return {"process": "ok", "database": "unavailable"}


async def figures() -> bytes:
    return b"figures"


def app(**settings):
    edge = Edge(
        settings=ServerSettings(**settings),
        identify=once(anonymous),
        health=Sick(),
        metrics=Metrics(),
        render=figures,
        clock=SystemClock(),
        is_public=lambda scope: False,
    )
    return wrap(Echo(), edge)


def public(**settings):
    return app(host="0.0.0.0", auth="api-key", **settings)


async def test_no_page_of_another_origin_is_invited_by_default():
    answered = await call(public(), headers={**HOST, "origin": PAGE}, method="GET")
    assert answered.status == 200
    assert not [name for name in answered.headers if name.startswith("access-control")]


async def test_a_page_in_the_list_is_invited_and_no_other_and_never_with_cookies():
    server = public(cors_origins=PAGE)
    asking = {**HOST, "origin": PAGE, "access-control-request-method": "POST"}
    asking["access-control-request-headers"] = "authorization,content-type"
    invited = await call(server, headers=asking, method="OPTIONS")
    assert invited.status == 200
    assert invited.headers["access-control-allow-origin"] == PAGE
    assert "access-control-allow-credentials" not in invited.headers
    other = await call(
        server, headers={**asking, "origin": "https://evil.example"}, method="OPTIONS"
    )
    assert "access-control-allow-origin" not in other.headers


async def test_a_page_in_the_list_may_also_call_the_server_of_this_machine():
    server = app(cors_origins=PAGE)
    assert (await call(server, headers={**HOST, "origin": PAGE})).status == 200
    assert (await call(server, headers={**HOST, "origin": "https://evil.example"})).status == 403


@pytest.mark.parametrize(
    ("settings", "token", "status"),
    [
        ({"metrics_token": "t0ken"}, None, 401),
        ({"metrics_token": "t0ken"}, "wrong", 401),
        ({"metrics_token": "t0ken"}, "t0ken", 200),
    ],
)
async def test_figures_are_for_who_has_their_token(settings, token, status):
    headers = {**HOST, **({"authorization": f"Bearer {token}"} if token else {})}
    answered = await call(app(**settings), path="/metrics", method="GET", headers=headers)
    assert answered.status == status
    assert (answered.body == b"figures") is (status == 200)


@pytest.mark.parametrize("server", [app, public])
async def test_a_server_without_a_token_has_no_figures(server):
    answered = await call(server(), path="/metrics", method="GET", headers=HOST)
    assert answered.body != b"figures"


async def test_a_process_can_live_and_not_be_ready():
    server = app()
    assert (await call(server, path="/livez", method="GET", headers=HOST)).status == 200
    ready = await call(server, path="/readyz", method="GET", headers=HOST)
    assert ready.status == 503
    assert b'"database":"unavailable"' in ready.body


@pytest.mark.parametrize(
    ("failed", "status", "word"),
    [({}, 200, "ready"), ({"redis"}, 200, "degraded"), ({"redis", "database"}, 503, "not ready")],
)
async def test_without_redis_a_process_stays_with_its_load_balancer(failed, status, word):
    class Checked:
        async def check(self) -> dict[str, str]:
            return {
                name: "unavailable" if name in failed else "ok"
                for name in ("process", "database", "migrations", "redis")
            }

    probes = Probes(not_found, health=Checked())
    ready = await call(probes, path="/readyz", method="GET", headers=HOST)
    assert ready.status == status
    assert orjson.loads(ready.body)["status"] == word


async def test_every_answer_has_its_headers_and_a_name_even_a_refusal():
    refused = await call(app(), headers={"host": "evil.example"})
    assert refused.status == 421
    assert {"content-security-policy", "x-content-type-options", "x-request-id"} <= set(
        refused.headers
    )


async def test_a_large_body_is_refused_by_the_whole():
    assert (await call(app(max_body_bytes=3), b"12", b"34", headers=HOST)).status == 413
