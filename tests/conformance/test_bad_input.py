"""What no client should send: nothing is answered with 5xx, nothing hangs, nothing breaks."""

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from own_server import REDIS, own_database, serving
from schemathesis.generation.hypothesis.builder import (
    HypothesisTestConfig,
    HypothesisTestMode,
    create_test,
)
from schemathesis.schemas import BaseSchema

from bathysphere.server import openapi

pytestmark = [pytest.mark.services, pytest.mark.timeout(240)]

# Per route. The nightly `make test-once` generates more.
EXAMPLES = int(os.environ.get("BAD_INPUT_EXAMPLES", "4"))
# These answer only when something has happened; bad bodies for them are below.
WAITING = re.compile(r"(/stream(/events)?|/join|/wait)$")
ROUTES = [
    (method.upper(), path)
    for path, methods in json.loads(openapi.PATH.read_text(encoding="utf-8"))["paths"].items()
    for method in methods
    if not WAITING.search(path)
]


@pytest.fixture(scope="module")
def interface() -> BaseSchema:
    return schemathesis.openapi.from_path(openapi.PATH)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """One server is enough: where events are kept makes no difference to a request's checks."""
    with own_database() as database, serving(database, REDIS) as address:
        yield address


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Connections that are kept open, for thousands of requests."""
    with requests.Session() as session:
        yield session


@pytest.fixture(scope="module")
def place(server: str) -> dict[str, str]:
    """A thread with a history and a run, so that requests get past "not found"."""
    with httpx.Client(base_url=server) as http:
        thread = http.post("/threads", json={}).json()["thread_id"]
        body = {"assistant_id": "steps", "input": {"name": "x", "steps": 2}}
        http.post(f"/threads/{thread}/runs/wait", json=body, timeout=30).raise_for_status()
        run = http.get(f"/threads/{thread}/runs").json()[0]["run_id"]
    return {"thread_id": thread, "run_id": run, "assistant": "steps"}


def _aim(case: Any, place: dict[str, str]) -> None:
    """Point most of a generated request at things that exist."""
    if case.method == "DELETE" and case.path == "/threads/{thread_id}":
        return
    for name in list(case.path_parameters or {}):
        if name in place:
            case.path_parameters[name] = place[name]
    if isinstance(case.body, dict) and isinstance(case.body.get("assistant_id"), str):
        case.body["assistant_id"] = "steps"


@pytest.mark.parametrize("method, path", ROUTES, ids=map(" ".join, ROUTES))
def test_a_generated_request_is_never_a_server_error(
    method: str,
    path: str,
    interface: BaseSchema,
    server: str,
    place: dict[str, str],
    session: requests.Session,
) -> None:
    def check(case: Any) -> None:
        _aim(case, place)
        response = case.call(base_url=server, session=session, timeout=20)
        assert response.status_code < 500, response.text

    # Built here: every process of a run collects this file, and one runs it.
    create_test(operation=interface[path][method], test_func=check, config=_config(interface))()


def _config(interface: BaseSchema) -> HypothesisTestConfig:
    limits = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    return HypothesisTestConfig(
        project=interface.config, modes=list(HypothesisTestMode), explicit_settings=limits
    )


START = b'{"id":1,"method":"run.start","params":{"assistant_id":"steps","input":%s}}'
RESPOND = b'{"id":1,"method":"input.respond","params":%s}'
BODIES: dict[str, bytes] = {
    "nothing": b"",
    "not json": b"{",
    "a list": b"[]",
    "null": b"null",
    "a text": b'"run.start"',
    "no id": b'{"method":"run.start","params":{}}',
    "a negative id": b'{"id":-1,"method":"run.start","params":{}}',
    "an id too large": b'{"id":99999999999999999999,"method":"run.start","params":{}}',
    "params that are a list": b'{"id":1,"method":"run.start","params":[]}',
    "a method that is a number": b'{"id":1,"method":7,"params":{}}',
    "not a number": START % b"NaN",
    "a NUL": START % b'{"name":"\\u0000"}',
    "half a character": b'{"id":1,"method":"run.start","params":{"assistant_id":"\\ud800"}}',
    "broken utf-8": b'{"id":1,"method":"run.start","params":{"assistant_id":"\xff"}}',
    "a deep nest": b'{"id":1,"method":"run.start","params":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "channels that are none": b'{"channels":["nonsense"]}',
    "no channels": b'{"channels":[]}',
    "a since that is a text": b'{"channels":["values"],"since":"x"}',
    "a negative depth": b'{"channels":["values"],"depth":-1}',
    "namespaces that are numbers": b'{"channels":["values"],"namespaces":[[1]]}',
    "an answer without a question": RESPOND % b'{"response":1}',
    "no answers": RESPOND % b'{"responses":[]}',
    "a fork from nowhere": b'{"id":1,"method":"state.fork","params":{"checkpoint_id":"\'"}}',
    "a namespace from nowhere": b'{"id":1,"method":"state.get","params":{"namespace":["x:1"]}}',
    "a goto into nowhere": RESPOND % b'{"interrupt_id":"x","goto":[{"node":1}]}',
}
PATHS = ("commands", "stream/events", "runs", "runs/wait", "runs/stream", "state", "history")


@pytest.fixture
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=10) as client:
        yield client


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("path", PATHS)
def test_a_malformed_body_is_refused_in_words(
    body: str, path: str, http: httpx.Client, place: dict[str, str]
) -> None:
    response = http.post(
        f"/threads/{place['thread_id']}/{path}",
        content=BODIES[body],
        headers={"content-type": "application/json"},
    )
    assert response.status_code < 500
    answer = json.loads(response.content)
    if path == "commands" and response.status_code == 200:
        assert (answer["type"], bool(answer["message"])) == ("error", True)
    elif response.status_code >= 400:
        assert answer["error"]
        assert answer["message"]


@pytest.mark.parametrize("path", ["/threads/not-an-id/state", "/threads/%00/state", "/nothing"])
def test_a_path_that_is_none_is_refused_in_words(path: str, http: httpx.Client) -> None:
    response = http.get(path)
    assert response.status_code in (404, 422)
    assert response.json()["error"]


def test_the_server_is_well_after_all_that(http: httpx.Client, place: dict[str, str]) -> None:
    assert http.get("/ok").json()["ok"] is True
    body = {"assistant_id": "steps", "input": {"name": "after"}}
    values = http.post("/runs/wait", json=body, timeout=30).json()
    assert values["items"] == ["after:0"]
