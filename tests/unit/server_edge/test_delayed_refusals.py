"""Refusals for too many requests are sent late; everything else is sent at once."""

import asyncio

import pytest
from asgi_calls import Answer, answer, scope

from bathysphere.server.asgi import delayed_refusals
from bathysphere.server.asgi.delayed_refusals import DelayedRefusals


def respond(status: int) -> DelayedRefusals:
    async def app(scope, receive, send):
        await answer(send, status, b"")

    return DelayedRefusals(app)


async def seconds(app: DelayedRefusals, count: int = 1) -> list[float]:
    loop = asyncio.get_running_loop()
    began, taken = loop.time(), []

    async def one() -> None:
        await app(scope(), None, Answer().send)
        taken.append(loop.time() - began)

    await asyncio.gather(*(one() for _ in range(count)))
    return taken


@pytest.fixture(autouse=True)
def _short_delay(monkeypatch):
    monkeypatch.setattr(delayed_refusals, "DELAY_SECONDS", 0.2)


async def test_only_a_refusal_for_too_many_requests_is_delayed():
    (refused,) = await seconds(respond(429))
    assert refused >= 0.2
    for status in (200, 401, 404, 422, 503):
        (other,) = await seconds(respond(status))
        assert other < 0.15, status


async def test_refusals_beyond_the_limit_are_sent_at_once(monkeypatch):
    monkeypatch.setattr(delayed_refusals, "_MAX_DELAYED", 2)
    taken = await seconds(respond(429), count=5)
    assert sum(one >= 0.2 for one in taken) == 2


async def test_a_client_that_leaves_makes_room_for_the_next(monkeypatch):
    monkeypatch.setattr(delayed_refusals, "_MAX_DELAYED", 1)
    app = respond(429)
    left = asyncio.create_task(app(scope(), None, Answer().send))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    (refused,) = await seconds(app)
    assert refused >= 0.2
