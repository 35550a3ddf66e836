"""JSON that is taken, and JSON that is nested too deep."""

import time

import httpx
import pytest
from fastapi import APIRouter, FastAPI

from bathysphere.server import errors
from bathysphere.server.langgraph_api.strict_json import MAX_DEPTH, StrictRoute, is_too_deep


def nested(depth: int) -> bytes:
    return b'{"a":' * (depth - 1) + b"[" + b'"[[{{"' + b"]" + b"}" * (depth - 1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (nested(MAX_DEPTH), False),
        (nested(MAX_DEPTH + 1), True),
        (nested(900), True),
        (b'["' + b"[" * 500 + b'"]', False),
        (rb'["\"' + b"[" * 500 + b'"]', False),
        (b"[" + b"[],{}," * 5000 + b"[]]", False),
    ],
)
def test_nesting_is_counted_outside_of_texts(body, expected):
    assert is_too_deep(body) is expected


def test_counting_is_quick_for_whatever_is_sent():
    for body in (b"[" + b"[]," * 1_000_000 + b"[]]", b'["' + b"\\\\" * 2_000_000 + b'"]'):
        began = time.process_time()
        assert not is_too_deep(body)
        assert time.process_time() - began < 2


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 900, 1000, 1023, 5000])
async def test_a_body_that_is_nested_too_deep_is_refused_and_breaks_nothing(depth):
    app = FastAPI()
    errors.install(app)
    router = APIRouter(route_class=StrictRoute)

    @router.post("/")
    async def take(body: dict) -> dict:
        return body

    app.include_router(router)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        headers = {"content-type": "application/json"}
        answer = await client.post("/", content=nested(depth), headers=headers)
        assert answer.status_code == 422
        assert (await client.post("/", content=nested(5), headers=headers)).status_code == 200
