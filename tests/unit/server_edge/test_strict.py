"""Bodies as strict JSON: a NUL character is refused, the text of its escape is not."""

import pytest
from fastapi import APIRouter, FastAPI
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from bathysphere.server.langgraph_api.strict_json import StrictRoute, _has_nul

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client():
    router = APIRouter(route_class=StrictRoute)

    @router.post("/")
    async def take(body: dict) -> dict:
        return body

    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


@pytest.mark.parametrize(
    "body",
    [
        rb'{"text": "Why does JSON.parse fail on \"\\u0000\"?"}',
        rb'{"text": "\\\\u0000"}',
        rb'{"\\u0000": 1}',
    ],
)
def test_the_text_of_an_escape_is_taken(client, body):
    assert client.post("/", content=body, headers=JSON).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        rb'{"text": "\u0000"}',
        rb'{"text": "\\\u0000"}',
        rb'{"\u0000": 1}',
        rb'{"a": [{"b": ["x\u0000y"]}]}',
        b'{"text": NaN}',
    ],
)
def test_what_the_database_cannot_hold_is_422(client, body):
    assert client.post("/", content=body, headers=JSON).status_code == 422


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="a\0\\u"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet="a\0"), inner),
)


@given(values)
def test_a_nul_is_found_wherever_it_is(value):
    assert _has_nul(value) == (r"\x00" in repr(value).replace("\\\\", ""))
