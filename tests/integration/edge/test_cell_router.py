"""`deploy/router/nginx.conf` in a real nginx, before a real directory and two cells."""

import asyncio
import hashlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.engine.cells.tenants import CLOSED, CellTenants, Residence, set_state
from bathysphere.server.asgi.admission import Admission
from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.cells.cells_file import CellAddress
from bathysphere.server.cells.directory import Directory, OpenCell
from bathysphere.server.cells.directory_app import directory_app
from bathysphere.server.cells.gate import CellGate
from bathysphere.server.cells.residence import Residences
from bathysphere.server.identity import Unauthenticated, once
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.identity.identify import credential
from bathysphere.server.process.listener import Listener, listen, listener
from bathysphere.testing.router import RouterServer

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]
CONFIGURATION = Path(__file__).parents[3] / "deploy/router/nginx.conf"
LARGE = os.urandom(6_000_000)
"""A body that neither fits into nginx's buffer nor into the sockets."""


class Cell:
    """An API process whose tenants and keys are in memory; its app answers with the cell's name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.states: dict[str, Residence] = {}
        self.keys: set[str] = set()
        self.bodies: list[str] = []
        self.go = asyncio.Event()
        self.residences = Residences(self, poll_seconds=0.02)
        self.app = Admission(
            CellGate(self.respond, residences=self.residences),
            identify=once(self.identify),
            is_public=lambda scope: scope["path"] == "/ok",
            is_cell=True,
        )

    async def find(self, tenant: str) -> Residence | None:
        return self.states.get(tenant)

    async def away(self, *, left_within_seconds: float) -> dict[str, Residence]:
        return {name: found for name, found in self.states.items() if found.state != "here"}

    async def admit(self, tenant: str) -> bool:
        return self.states.setdefault(tenant, Residence("here", None)).state == "here"

    async def identify(self, connection: HTTPConnection) -> Owner:
        """A key is the name of its tenant."""
        tenant = credential(connection)
        if tenant not in self.keys:
            raise Unauthenticated("Unknown API key")
        return Owner(tenant=tenant, user="ada")

    def set(self, tenant: str, state: str) -> None:
        self.states[tenant] = Residence(state, None)

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, body = scope["path"], await Request(scope, receive).body()
        self.bodies.append(hashlib.sha256(body).hexdigest())
        if path in ("/401", "/404", "/500"):
            await refuse(send, int(path[1:]), code="app", message="The app's own", hint="none")
            return
        kind = b"text/event-stream" if path == "/stream" else b"text/plain"
        headers = [(b"content-type", kind), (b"x-path", scope["raw_path"] + b"?" + _query(scope))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        body = self.name.encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
        if path == "/stream":
            await self.go.wait()
        await send({"type": "http.response.body", "body": b" end"})


def _query(scope: Scope) -> bytes:
    return scope["query_string"]


class Router:
    """nginx, the directory and two cells."""

    def __init__(self, a: Cell, b: Cell, client: httpx.AsyncClient) -> None:
        self.a, self.b, self.client = a, b, client
        self.directory: Listener | None = None
        self.looked_up: list[str | None] = []

    async def live_in(self, cell: Cell, tenant: str) -> None:
        for each in (self.a, self.b):
            each.set(tenant, "here" if each is cell else "left")
            (each.keys.add if each is cell else each.keys.discard)(tenant)
            await each.residences.poll()

    async def post(self, tenant: str | None, path: str = "/runs", **options) -> httpx.Response:
        headers = {"x-api-key": tenant} if tenant else {}
        return await self.client.post(path, headers=headers, **options)

    async def sent_to(self, tenant: str | None) -> str:
        return (await self.post(tenant)).text.removesuffix(" end")


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[tuple[Listener, str]]:
    listening = listen("127.0.0.1", 0)
    front = listener(app, stop_seconds=1)
    task = asyncio.create_task(front.serve(sockets=[listening]))
    try:
        await front.is_listening.wait()
        yield front, f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        front.should_exit = True
        await task
        listening.close()


@pytest.fixture
async def router() -> AsyncIterator[Router]:
    a, b = Cell("a"), Cell("b")
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        polls = [asyncio.create_task(cell.residences.run()) for cell in (a, b)]
        stack.callback(lambda: [task.cancel() for task in polls])
        cells = []
        for cell in (a, b):
            _, url = await stack.enter_async_context(serving(cell.app))
            address = CellAddress(name=cell.name, url=url, database_url="")
            cells.append(OpenCell(address, tenants=cell, identify=cell.identify, clock=clock))
        directory = directory_app(Directory(cells, default="a", clock=clock))
        made = Router(a, b, httpx.AsyncClient(timeout=15, trust_env=False))

        async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
            made.looked_up.append(HTTPConnection(scope).headers.get("x-again"))
            assert not await Request(scope, receive).body()
            await directory(scope, receive, send)

        made.directory, url = await stack.enter_async_context(serving(recorded))
        nginx = RouterServer(CONFIGURATION, directory=url.removeprefix("http://"))
        made.client.base_url = (await stack.enter_async_context(nginx)).url
        await stack.enter_async_context(made.client)
        yield made


async def test_each_request_goes_to_the_cell_of_its_tenant(router):
    await router.live_in(router.a, "acme")
    await router.live_in(router.b, "umbrella")
    assert [await router.sent_to(name) for name in ("acme", "umbrella")] == ["a", "b"]
    public = await router.client.get("/ok")
    assert (public.status_code, public.text) == (200, "a end")


async def test_the_path_and_the_query_arrive_as_they_were_sent(router):
    await router.live_in(router.b, "acme")
    answer = await router.post("acme", "/threads/a%2Fb%20c/runs?x=%26&y=1")
    assert answer.headers["x-path"] == "/threads/a%2Fb%20c/runs?x=%26&y=1"


@pytest.mark.parametrize("refusal", ["tenant", "key"])
@pytest.mark.parametrize("body", [b"small", LARGE], ids=["small", "large"])
async def test_a_body_survives_that_its_tenant_has_left(router, refusal, body):
    await router.live_in(router.a, "acme")
    await router.post("acme")
    await router.live_in(router.b, "acme")
    if refusal == "tenant":
        router.a.keys.add("acme")
    router.looked_up.clear()
    answer = await router.post("acme", content=body)
    assert (answer.status_code, answer.text) == (200, "b end")
    assert router.b.bodies == [hashlib.sha256(body).hexdigest()]
    assert len(router.a.bodies) == 1, "only the request before the move"
    assert router.looked_up == [None, "1"]


async def test_a_body_without_a_length_survives_too(router):
    await router.live_in(router.a, "acme")
    await router.post("acme")
    await router.live_in(router.b, "acme")

    async def chunks():
        for start in range(0, len(LARGE), 100_000):
            yield LARGE[start : start + 100_000]

    assert (await router.post("acme", content=chunks())).text == "b end"
    assert router.b.bodies == [hashlib.sha256(LARGE).hexdigest()]


async def test_a_request_that_waits_for_a_move_arrives_once_in_the_other_cell(router):
    await router.live_in(router.a, "acme")
    await router.post("acme")
    router.a.set("acme", "leaving")
    await asyncio.sleep(0.1)
    waiting = asyncio.create_task(router.post("acme", content=b"message"))
    await asyncio.sleep(0.2)
    router.a.set("acme", "moving")
    await asyncio.sleep(0.1)
    assert not waiting.done()
    router.b.set("acme", "here")
    router.b.keys.add("acme")
    router.a.set("acme", "left")
    assert (await waiting).text == "b end"
    assert (len(router.a.bodies), len(router.b.bodies)) == (1, 1)


async def test_a_second_refusal_is_the_client_s(router):
    answer = await router.post("nobody", content=b"x")
    assert answer.status_code == 401
    assert answer.json()["error"] == "unauthenticated"
    assert set(answer.headers.get_list("www-authenticate")) == {"Bearer"}
    assert router.looked_up == [None, "1"]


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_no_other_answer_is_tried_again(router, status):
    await router.live_in(router.a, "acme")
    answer = await router.post("acme", f"/{status}")
    assert (answer.status_code, answer.json()["message"]) == (status, "The app's own")
    assert len(router.a.bodies) == 1


async def test_events_of_a_stream_are_not_collected(router):
    await router.live_in(router.b, "acme")
    headers = {"x-api-key": "acme"}
    async with asyncio.timeout(10), router.client.stream("GET", "/stream", headers=headers) as got:
        parts = got.aiter_raw()
        assert await anext(parts) == b"b", "before the stream has ended"
        router.b.go.set()
        assert await anext(parts) == b" end"


async def test_a_client_cannot_make_the_directory_forget(router):
    await router.live_in(router.a, "acme")
    headers = {"x-api-key": "acme", "x-again": "1"}
    assert (await router.client.get("/", headers=headers)).status_code == 200
    assert router.looked_up == [None]


@pytest.mark.parametrize("is_there", [True, False])
async def test_without_a_directory_clients_are_asked_to_come_back(router, is_there):
    if is_there:
        router.a.set("acme", "here")
        router.b.set("acme", "here")  # in both, so that the directory fails
        router.a.keys.add("acme")
    else:
        router.directory.should_exit = True
        await asyncio.sleep(0.5)
    answer = await router.post("acme", content=LARGE)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["error"] == "cell_unreachable"
    assert router.a.bodies == router.b.bodies == []


async def test_the_directory_starts_and_directs_while_a_database_is_down(
    command, edge_database, pool, tmp_path
):
    tenant = f"t-{uuid4()}"
    secret = (await ApiKeys(pool).create(Owner(tenant=tenant, user="ada"))).secret
    file = tmp_path / "cells.toml"
    file.write_text(f"""
default = "down"
[cells.a]
url = "http://127.0.0.1:8001"
database_url = "{edge_database.url}"
[cells.down]
url = "http://127.0.0.1:8002"
database_url = "postgresql://root@127.0.0.1:1/none"
""")
    words = ("--cells", str(file), "--port", "0")
    started = command("cells", "direct", *words, BATHYSPHERE_AUTH="api-key")
    line = await asyncio.to_thread(started.line, "Directing requests to cells a, down")
    url = line.split()[-1].rstrip(".")
    async with httpx.AsyncClient(trust_env=False) as client:
        headers = {"x-api-key": secret}
        assert (await client.get(url, headers=headers)).status_code == 503
        await CellTenants(pool).admit(tenant)
        found = await client.get(url, headers=headers)
        assert (found.status_code, found.headers["x-cell-url"]) == (204, "http://127.0.0.1:8001")
        assert found.headers["x-tenant"] == tenant
        assert (await client.get(url)).headers["x-cell"] == "down"
    started.send(signal.SIGTERM)
    assert await asyncio.to_thread(started.ended) == 0


def test_the_command_admits_and_lists_tenants(command, edge_database):
    tenant = f"t-{uuid4()}"
    database = ("--database-url", edge_database.url)
    assert tenant in command("cells", "admit", "--tenant", tenant, *database).output()
    [line] = [
        line
        for line in command("cells", "list", *database).output().splitlines()
        if line.startswith(tenant)
    ]
    assert line.split()[1:] == ["here", "-"]


async def test_a_write_for_a_closed_tenant_is_the_error_that_the_edge_knows(pool):
    tenant = f"t-{uuid4()}"
    async with pool.connection() as connection:
        await set_state(connection, tenant, "moving", other="b")
    with pytest.raises(psycopg.DatabaseError) as raised:
        await ApiKeys(pool).create(Owner(tenant=tenant, user="ada"))
    assert raised.value.sqlstate == CLOSED
