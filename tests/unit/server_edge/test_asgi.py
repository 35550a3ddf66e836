"""The layers around the app, each by itself."""

import asyncio
import json
import logging

import pytest
from asgi_calls import Answer, Echo, answer, call, scope
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.server.asgi.access_log import AccessLog
from bathysphere.server.asgi.admission import CHARGE_KEY, Admission, RateLimits
from bathysphere.server.asgi.body_limit import BodyLimit
from bathysphere.server.asgi.hosts import HostGuard
from bathysphere.server.asgi.measure import Measure
from bathysphere.server.asgi.security_headers import SecurityHeaders
from bathysphere.server.asgi.token_bucket import MemoryBuckets, Rate
from bathysphere.server.errors import TooManyRequests
from bathysphere.server.identity import Unauthenticated, once
from bathysphere.server.observability.metrics import Metrics

LOCAL = ("localhost", "127.0.0.1", "[::1]")


class HandClock(SystemClock):
    def __init__(self) -> None:
        self.seconds = 100.0

    def monotonic(self) -> float:
        return self.seconds


# ── bodies ──


async def test_a_body_at_the_limit_passes():
    assert (await call(BodyLimit(Echo(), limit=10), b"12345", b"67890")).body == b"10"


async def test_a_body_that_is_said_to_be_too_large_is_refused_unread():
    echo = Echo()
    refused = await call(BodyLimit(echo, limit=10), headers={"content-length": "11"})
    assert (refused.status, echo.calls) == (413, 0)
    assert json.loads(refused.body)["error"] == "body_too_large"


@pytest.mark.parametrize("claimed", [{}, {"content-length": "3"}, {"content-length": "-1"}])
async def test_a_body_that_turns_out_too_large_is_refused(claimed):
    refused = await call(BodyLimit(Echo(), limit=10), b"12345", b"678901", headers=claimed)
    assert refused.status == 413


async def test_an_app_that_answers_the_broken_body_itself_is_overruled():
    app = FastAPI()

    @app.post("/")
    async def take(body: dict) -> dict:
        return body

    body = json.dumps({"text": "x" * 100}).encode()
    headers = {"content-type": "application/json"}
    refused = await call(BodyLimit(app, limit=50), body[:40], body[40:], headers=headers)
    assert refused.status == 413


async def test_an_answer_that_has_begun_is_not_broken_by_a_late_body():
    async def early(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await receive()

    assert (await call(BodyLimit(early, limit=3), b"12", b"34")).status == 200


# ── hosts and origins ──


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8123", "127.0.0.1:1", "[::1]:8123", "[::1]"]
)
async def test_our_own_names_are_let_in(host):
    assert (await call(HostGuard(Echo(), hosts=LOCAL), headers={"host": host})).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "",
        "127.0.0.1@evil",
        "::1",
        ":80",
    ],
)
async def test_a_name_that_was_pointed_at_us_is_refused(host):
    echo = Echo()
    refused = await call(HostGuard(echo, hosts=LOCAL), headers={"host": host})
    assert (refused.status, echo.calls) == (421, 0)


@pytest.mark.parametrize("headers", [[], [("host", "localhost"), ("host", "evil.example")]])
async def test_no_host_or_two_hosts_are_refused(headers):
    assert (await call(HostGuard(Echo(), hosts=LOCAL), headers=headers)).status == 421


@given(st.text(max_size=40))
async def test_no_other_text_is_our_host(text):
    guard = HostGuard(Echo(), hosts=LOCAL)
    name = text.lower().rpartition(":")[0] or text.lower()
    if name in LOCAL or text.lower() in LOCAL:
        return
    request = scope()
    request["headers"] = [(b"host", text.encode("utf-8", "replace"))]
    refused = Answer()
    await guard(request, None, refused.send)
    assert refused.status == 421


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:8123", 200),
        ("https://localhost:8123", 200),
        ("http://pages.example", 200),
        ("http://localhost:3000", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("", 403),
        ("http://localhost:8123@evil.example", 403),
    ],
)
async def test_only_our_own_pages_and_allowed_ones_may_call_where_nobody_is_asked(origin, status):
    guard = HostGuard(Echo(), hosts=LOCAL, same_origin=True, origins=["http://pages.example"])
    headers = {"host": "localhost:8123", "origin": origin}
    assert (await call(guard, headers=headers)).status == status


@pytest.mark.parametrize(
    ("fetch", "method", "status"),
    [
        ({"site": "cross-site", "mode": "no-cors", "dest": "image"}, "GET", 403),
        ({"site": "cross-site", "mode": "no-cors", "dest": "empty"}, "POST", 403),
        ({"site": "cross-site", "mode": "navigate", "dest": "document"}, "POST", 403),
        ({"site": "cross-site", "mode": "navigate", "dest": "iframe"}, "GET", 403),
        ({"site": "cross-site", "mode": "navigate", "dest": "document"}, "GET", 200),
        ({"site": "same-origin", "mode": "cors", "dest": "empty"}, "POST", 200),
        ({"site": "none", "mode": "navigate", "dest": "document"}, "GET", 200),
        ({}, "POST", 200),
    ],
)
async def test_another_site_may_link_to_us_and_nothing_else(fetch, method, status):
    guard = HostGuard(Echo(), hosts=LOCAL)
    headers = {"host": "localhost", **{f"sec-fetch-{k}": v for k, v in fetch.items()}}
    assert (await call(guard, headers=headers, method=method)).status == status


async def test_another_site_cannot_even_link_to_what_needs_an_identity():
    guard = HostGuard(Echo(), hosts=LOCAL, is_public=lambda scope: False)
    fetch = {"site": "cross-site", "mode": "navigate", "dest": "document"}
    headers = {"host": "localhost", **{f"sec-fetch-{k}": v for k, v in fetch.items()}}
    assert (await call(guard, headers=headers, method="GET")).status == 403


async def test_an_origin_in_the_list_may_call_across_sites():
    page = "http://pages.example"
    guard = HostGuard(Echo(), hosts=LOCAL, origins=[page])
    headers = {"host": "localhost", "sec-fetch-site": "cross-site", "origin": page}
    assert (await call(guard, headers=headers)).status == 200


async def test_a_websocket_of_another_host_is_closed():
    request = {**scope(headers={"host": "evil"}), "type": "websocket"}
    refused = Answer()
    await HostGuard(Echo(), hosts=LOCAL)(request, None, refused.send)
    assert [m["type"] for m in refused.messages] == ["websocket.close"]


# ── rates ──


async def by_header(connection) -> Owner:
    name = connection.headers.get("who")
    if name is None:
        raise Unauthenticated("who?")
    return Owner(tenant="t", user=name)


def limited(clock, *, burst=2, app=None, identify=by_header) -> Admission:
    limits = RateLimits(
        requests=MemoryBuckets(Rate(per_second=1, burst=burst), clock=clock),
        guesses=MemoryBuckets(Rate(per_second=1, burst=burst), clock=clock),
    )
    return Admission(
        app or Echo(),
        identify=once(identify),
        is_public=lambda scope: scope["path"] == "/public",
        limits=limits,
    )


async def test_who_asks_too_often_is_told_when_to_come_back():
    clock = HandClock()
    app = limited(clock)
    who = {"who": "ada"}
    assert [(await call(app, headers=who)).status for _ in range(3)] == [200, 200, 429]
    refused = await call(app, headers=who)
    assert refused.headers["retry-after"] == "1"
    clock.seconds += 1
    assert (await call(app, headers=who)).status == 200


async def test_one_identity_does_not_use_up_the_tokens_of_another():
    app = limited(HandClock())
    for _ in range(3):
        await call(app, headers={"who": "ada"})
    assert (await call(app, headers={"who": "bob"})).status == 200


async def test_made_up_credentials_give_nobody_a_fresh_bucket():
    app = limited(HandClock())
    statuses = [
        (await call(app, headers={"authorization": f"Bearer made-up-{n}"})).status for n in range(3)
    ]
    assert statuses == [401, 401, 429]


async def test_addresses_of_one_ipv6_network_share_a_bucket():
    app = limited(HandClock())
    statuses = [(await call(app, client=(f"2001:db8:1:2::{n}", 1))).status for n in range(3)]
    assert statuses == [401, 401, 429]
    assert (await call(app, client=("2001:db8:1:3::1", 1))).status == 401


class Keys:
    """Looks a bearer token up, and counts how often."""

    def __init__(self) -> None:
        self.lookups = 0

    async def __call__(self, connection) -> Owner:
        self.lookups += 1
        if connection.headers.get("authorization", "").startswith("Bearer good-"):
            return Owner(tenant="t", user=connection.headers["authorization"])
        raise Unauthenticated("unknown key")


async def test_made_up_keys_cause_few_lookups():
    keys = Keys()
    app = limited(HandClock(), burst=10, identify=keys)
    statuses = [
        (await call(app, headers={"authorization": f"Bearer made-up-{n}"})).status
        for n in range(500)
    ]
    assert (keys.lookups, set(statuses)) == (10, {401, 429})


async def test_a_known_key_is_not_refused_for_what_its_address_does():
    app = limited(HandClock(), burst=3, identify=Keys())
    good = {"authorization": "Bearer good-1"}
    assert (await call(app, headers=good)).status == 200
    for number in range(9):
        await call(app, headers={"authorization": f"Bearer made-up-{number}"})
    assert (await call(app, headers=good)).status == 200


async def test_many_good_keys_of_one_address_do_not_use_up_its_tokens():
    app = limited(HandClock(), burst=2, identify=Keys())
    statuses = [
        (await call(app, headers={"authorization": f"Bearer good-{n}"})).status for n in range(9)
    ]
    assert set(statuses) == {200}


async def test_a_known_key_spends_its_tokens_before_it_is_looked_up():
    keys = Keys()
    app = limited(HandClock(), burst=3, identify=keys)
    statuses = [
        (await call(app, headers={"authorization": "Bearer good-1"})).status for _ in range(50)
    ]
    assert statuses.count(200) == 3
    assert keys.lookups == 3


async def test_few_requests_with_the_same_credential_are_identified_at_a_time():
    go, begun = asyncio.Event(), []

    async def identify(connection):
        begun.append(connection.headers["authorization"])
        await go.wait()
        return Owner(tenant="acme", user="ada")

    app = Admission(Echo(), identify=identify, is_public=lambda scope: False)
    many = [asyncio.create_task(call(app, headers={"authorization": "many"})) for _ in range(100)]
    one = asyncio.create_task(call(app, headers={"authorization": "one"}))
    for _ in range(5):
        await asyncio.sleep(0)
    assert begun == ["many"] * 8 + ["one"]
    go.set()
    assert {answered.status for answered in await asyncio.gather(one, *many)} == {200}
    assert not app._semaphores


async def test_a_request_without_an_identity_is_refused_with_its_body_unread():
    echo = Echo()
    app = Admission(echo, identify=by_header, is_public=lambda scope: False)
    body = b"x" * 10_000_000
    received = []

    async def receive():
        received.append(1)
        return {"type": "http.request", "body": body, "more_body": False}

    refused = Answer()
    await app(scope(headers={"content-length": str(len(body))}), receive, refused.send)
    assert (refused.status, echo.calls, received) == (401, 0, [])
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.headers["connection"] == "close"
    assert json.loads(refused.body)["error"] == "unauthenticated"


async def test_a_public_request_without_an_identity_passes_with_a_small_body_only():
    app = limited(HandClock(), burst=9, app=BodyLimit(Echo(), limit=16 * 1024 * 1024))
    assert (await call(app, b"small", path="/public")).status == 200
    assert (await call(app, b"x" * 70_000, path="/public")).status == 413
    assert (await call(app, b"x" * 70_000, path="/public", headers={"who": "ada"})).status == 200


async def test_a_request_that_is_worth_several_spends_several_tokens():
    async def batch(scope, receive, send):
        await scope[CHARGE_KEY](4)
        await answer(send, 200, b"")

    app = limited(HandClock(), burst=6, app=batch)
    assert (await call(app, headers={"who": "ada"})).status == 200
    with pytest.raises(TooManyRequests) as refusal:
        await call(app, headers={"who": "ada"})
    assert refusal.value.retry_after == 4


async def test_buckets_are_forgotten_when_there_are_too_many():
    buckets = MemoryBuckets(Rate(per_second=1, burst=1), clock=HandClock(), max_keys=10)
    for number in range(100):
        await buckets.take(f"address:{number}")
    assert len(buckets._buckets) == 10


async def test_who_is_asking_is_asked_once_a_request():
    asked = []

    async def counting(connection) -> Owner:
        asked.append(1)
        return Owner(tenant="t", user="u")

    identify = once(counting)
    from starlette.requests import HTTPConnection

    connection = HTTPConnection(scope())
    assert await identify(connection) == await identify(connection)
    assert asked == [1]
    await identify(HTTPConnection(scope()))
    assert asked == [1, 1]


# ── headers, names, lines ──


async def test_pages_are_held_to_their_own_origin():
    answered = await call(SecurityHeaders(Echo(), connect=["https://mint.example"]))
    policy = answered.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "connect-src 'self' https://mint.example;" in policy
    assert "frame-ancestors 'none'" in policy
    assert answered.headers["x-content-type-options"] == "nosniff"
    assert answered.headers["referrer-policy"] == "no-referrer"
    assert answered.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("sent", "is_kept"),
    [("abcdef-123", True), ('x" evil="1', False), ("short", False), ("a" * 65, False)],
)
async def test_a_request_has_a_name_that_cannot_forge_a_line(sent, is_kept, caplog):
    caplog.set_level(logging.INFO)
    named = await call(AccessLog(Echo(), clock=SystemClock()), headers={"x-request-id": sent})
    assert (named.headers["x-request-id"] == sent) is is_kept


async def test_a_line_about_a_request_has_no_query_and_no_header(caplog):
    caplog.set_level(logging.INFO)
    request = scope("/threads", headers={"authorization": "Bearer secret-1"})
    request["query_string"] = b"key=secret-2"
    app = AccessLog(Echo(), clock=SystemClock())

    async def receive():
        return {"type": "http.request", "body": b"secret-3", "more_body": False}

    await app(request, receive, Answer().send)
    [record] = caplog.records
    assert record.fields["path"] == "/threads"
    assert "secret" not in str(record.__dict__)


async def test_an_app_that_breaks_is_logged_as_500(caplog):
    caplog.set_level(logging.INFO)

    async def broken(scope, receive, send):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await call(AccessLog(broken, clock=SystemClock()))
    assert caplog.records[-1].fields["status"] == 500


# ── streams pass all of it piece by piece ──


async def test_a_stream_goes_through_every_layer_as_it_comes():
    metrics, first_piece, next_piece = Metrics(), asyncio.Event(), asyncio.Event()

    async def stream(scope, receive, send):
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        first_piece.set()
        await next_piece.wait()
        await answer_end(send)

    async def answer_end(send):
        await send({"type": "http.response.body", "body": b"data: 2\n\n"})

    app = BodyLimit(stream, limit=10)
    app = limited(HandClock(), app=app)
    app = Measure(app, metrics=metrics, clock=SystemClock())
    app = HostGuard(app, hosts=LOCAL)
    app = AccessLog(SecurityHeaders(app), clock=SystemClock())
    got = Answer()

    async def receive():
        await asyncio.Event().wait()

    request = scope(headers={"host": "localhost", "who": "ada"})
    task = asyncio.create_task(app(request, receive, got.send))
    async with asyncio.timeout(2):
        await first_piece.wait()
    assert got.body == b"data: 1\n\n"
    assert b"bathysphere_open_streams 1.0" in metrics.render()
    next_piece.set()
    await task
    assert got.body == b"data: 1\n\ndata: 2\n\n"
    assert b"bathysphere_open_streams 0.0" in metrics.render()


async def test_requests_are_counted_by_route_and_not_by_path():
    metrics, app = Metrics(), FastAPI()

    @app.get("/threads/{thread_id}")
    async def thread(thread_id: str) -> str:
        return thread_id

    measured = Measure(app, metrics=metrics, clock=SystemClock())
    for path in ("/threads/1", "/threads/2", "/nowhere"):
        await call(measured, path=path, method="GET")
    text = metrics.render().decode()
    assert 'route="/threads/{thread_id}",status="200"} 2.0' in text
    assert 'route="unmatched",status="404"} 1.0' in text
    assert "/threads/1" not in text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("192.0.2.7:8123", 200),
        ("[2001:db8::1]:8123", 200),
        ("localhost:8123", 200),
        ("evil.example", 421),
        ("192.0.2.7.evil.example", 421),
        ("0x7f.1", 421),
    ],
)
async def test_without_a_list_numbers_pass_and_names_do_not(host, status):
    """A page can point its own name at us, but no number (DNS rebinding)."""
    guard = HostGuard(Echo(), hosts=LOCAL, any_address=True)
    assert (await call(guard, headers={"host": host})).status == status
