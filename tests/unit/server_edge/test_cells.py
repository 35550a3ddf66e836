"""Requests and streams of a tenant that moves, the cells file, and the directory."""

import asyncio
import logging
from argparse import ArgumentParser
from urllib.parse import unquote

import httpx
import psycopg
import pytest
from asgi_calls import Answer, answer, call, scope
from fastapi import FastAPI
from starlette.requests import HTTPConnection

from bathysphere.cli import cells as command
from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.cells.tenants import Residence, TenantElsewhere, TenantInSeveralCells
from bathysphere.engine.crons.records import Grant
from bathysphere.server import errors
from bathysphere.server.asgi.stack import Edge, wrap
from bathysphere.server.asgi.token_bucket import MemoryBuckets, Rate
from bathysphere.server.cells import residence
from bathysphere.server.cells.cells_file import CellsFile
from bathysphere.server.cells.directory import Directory, OpenCell
from bathysphere.server.cells.directory_app import directory_app, open_directory
from bathysphere.server.cells.gate import CellGate
from bathysphere.server.cells.residence import Residences, TenantMoving
from bathysphere.server.identity import IdentityUnavailable, Unauthenticated, once
from bathysphere.server.identity.identify import GRANT_KEY, OWNER_KEY, credential
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.assembly import service_options
from bathysphere.server.process.settings import ServerSettings
from bathysphere.server.sse import EventStream, StreamRules

ADA = Owner(tenant="acme", user="ada")
FILE = """
default = "a"
[cells.a]
url = "http://10.0.0.1:8000"
database_url = "postgresql://root:s3cret@10.0.0.1/a"
[cells.b-2]
url = "https://b.example"
database_url = "postgres://10.0.0.2/b"
"""


class Tenants:
    """A cell's table of tenants in memory, which may be unreachable."""

    def __init__(self, **states: str) -> None:
        self.states = states
        self.asked = 0
        self.windows: list[float] = []
        self.is_there = True
        self.admitted: list[str] = []

    def _check(self) -> None:
        if not self.is_there:
            raise psycopg.OperationalError("server closed")

    async def find(self, tenant):
        self.asked += 1
        self._check()
        state = self.states.get(tenant)
        return Residence(state, "other") if state else None

    async def away(self, *, left_within_seconds: float):
        self.windows.append(left_within_seconds)
        self._check()
        return {name: Residence(s, "other") for name, s in self.states.items() if s != "here"}

    async def admit(self, tenant):
        self._check()
        self.admitted.append(tenant)
        return self.states.setdefault(tenant, "here") == "here"


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


# ── what an API process knows ──


async def test_a_tenant_that_is_here_is_asked_for_once():
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    await known.poll()
    for _ in range(3):
        await known.wait_until_here("acme")
    assert tenants.asked == 1


async def test_without_news_for_a_second_the_database_is_asked_for_each_request(monkeypatch):
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    await known.wait_until_here("acme")
    await known.wait_until_here("acme")
    assert tenants.asked == 2, "nothing was polled yet"
    await known.poll()
    await known.wait_until_here("acme")
    assert tenants.asked == 2
    monkeypatch.setattr(residence, "SETTLE_SECONDS", 0)
    tenants.states["acme"] = "left"
    with pytest.raises(TenantElsewhere):
        await known.wait_until_here("acme")
    assert await known.may_be_away("acme")


@pytest.mark.parametrize("between", ["leaving", "moving"])
@pytest.mark.parametrize("is_polled", [True, False])
async def test_a_request_waits_while_its_tenant_moves(between, is_polled):
    tenants = Tenants(acme=between)
    known = Residences(tenants)
    if is_polled:
        await known.poll()
    waiting = asyncio.create_task(known.wait_until_here("acme"))
    await settle()
    assert not waiting.done()
    tenants.states["acme"] = "here"
    await known.poll()
    await asyncio.wait_for(waiting, 1)


async def test_a_tenant_that_was_here_is_waited_for_as_soon_as_a_poll_sees_it_leaving():
    tenants = Tenants(acme="here")
    known = Residences(tenants, wait_seconds=0.01)
    await known.poll()
    await known.wait_until_here("acme")
    tenants.states["acme"] = "leaving"
    await known.poll()
    with pytest.raises(TenantMoving):
        await known.wait_until_here("acme")


async def test_who_waited_for_a_tenant_that_has_left_is_told_so():
    tenants = Tenants(acme="leaving")
    known = Residences(tenants)
    await known.poll()
    waiting = asyncio.create_task(known.wait_until_here("acme"))
    await settle()
    tenants.states["acme"] = "left"
    await known.poll()
    with pytest.raises(TenantElsewhere):
        await asyncio.wait_for(waiting, 1)


async def test_a_tenant_that_was_never_admitted_is_elsewhere():
    known = Residences(Tenants())
    await known.poll()
    with pytest.raises(TenantElsewhere):
        await known.wait_until_here("acme")


async def test_a_move_that_takes_too_long_is_not_waited_for():
    known = Residences(Tenants(acme="moving"), wait_seconds=0.01)
    await known.poll()
    with pytest.raises(TenantMoving):
        await known.wait_until_here("acme")


async def test_a_tenant_that_came_back_is_served_before_the_next_poll():
    tenants = Tenants(acme="left")
    known = Residences(tenants)
    await known.poll()
    tenants.states["acme"] = "here"
    await known.wait_until_here("acme")


async def test_a_tenant_that_left_is_asked_for_again_after_it_is_no_longer_listed():
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    await known.poll()
    await known.wait_until_here("acme")
    tenants.states["acme"] = "left"
    await known.poll()
    del tenants.states["acme"]  # it left long ago
    await known.poll()
    with pytest.raises(TenantElsewhere):
        await known.wait_until_here("acme")


async def test_a_process_that_was_stopped_for_long_looks_back_as_far():
    tenants = Tenants()
    known = Residences(tenants)
    await known.poll()
    known._polled_at -= 3600
    await known.poll()
    usual, longer = tenants.windows
    assert 3600 <= longer - usual < 3610


async def test_an_outage_changes_nothing_that_is_known_and_is_reported_once(caplog):
    tenants = Tenants(acme="leaving", other="here")
    known = Residences(tenants, poll_seconds=0.001)
    await known.poll()
    await known.wait_until_here("other")
    tenants.is_there = False
    with caplog.at_level(logging.WARNING, logger="bathysphere"):
        polling = asyncio.create_task(known.run())
        await asyncio.sleep(0.02)
    assert len(caplog.records) == 1
    assert await known.may_be_away("acme")
    assert not await known.may_be_away("other")
    tenants.is_there, tenants.states["acme"] = True, "here"
    await asyncio.wait_for(known.wait_until_here("acme"), 1)
    polling.cancel()


async def test_what_was_asked_is_not_believed_over_a_later_poll():
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    find = tenants.find

    async def find_slowly(tenant):
        found = await find(tenant)
        tenants.states["acme"] = "leaving"
        await known.poll()
        return found

    tenants.find = find_slowly
    waiting = asyncio.create_task(known.wait_until_here("acme"))
    await settle()
    assert not waiting.done()
    waiting.cancel()


async def test_whoever_asks_first_tells_the_others_that_a_tenant_leaves():
    tenants = Tenants(acme="leaving")
    known = Residences(tenants)
    leaving = asyncio.create_task(known.until_left("acme"))
    waiting = asyncio.create_task(known.wait_until_here("acme"))
    await asyncio.wait_for(leaving, 1)
    waiting.cancel()


async def test_without_news_and_without_a_database_a_tenant_may_be_away():
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    assert not await known.may_be_away("acme")
    assert await known.may_be_away("never admitted")
    tenants.is_there = False
    assert await known.may_be_away("acme")


async def test_only_so_many_tenants_are_remembered(monkeypatch):
    monkeypatch.setattr(residence, "_MAX_KNOWN", 2)
    tenants = Tenants(one="here", two="here", three="here")
    known = Residences(tenants)
    await known.poll()
    for name in ("one", "two", "one", "three", "one"):
        await known.wait_until_here(name)
    assert tenants.asked == 3, "two was used least recently"
    await known.wait_until_here("two")
    assert tenants.asked == 4


# ── the gate ──


class App:
    """An app whose answers are chosen, and during which something may happen."""

    def __init__(self, status: int = 200, during=None) -> None:
        self.calls = 0
        self.status = status
        self._during = during

    async def __call__(self, scope, receive, send):
        self.calls += 1
        if self._during is not None:
            await self._during()
        await answer(send, self.status, b"the app's")


async def gated(app, tenants, *, owner=ADA, wait_seconds=10.0, known=None, **request) -> Answer:
    known = known or Residences(tenants, wait_seconds=wait_seconds)
    found = Answer()
    asked = {**scope(**request), OWNER_KEY: owner}

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    await CellGate(app, residences=known)(asked, receive, found.send)
    return found


async def test_a_request_reaches_the_app_when_its_tenant_is_here_again():
    tenants, app = Tenants(acme="leaving"), App()
    known = Residences(tenants)
    await known.poll()
    waiting = asyncio.create_task(gated(app, tenants, known=known))
    await settle()
    assert app.calls == 0
    tenants.states["acme"] = "here"
    await known.poll()
    assert (await waiting).body == b"the app's"
    assert app.calls == 1


async def test_a_tenant_elsewhere_is_421_before_the_app_has_done_anything():
    app = App()
    found = await gated(app, Tenants(acme="left"), headers={"content-length": "9"})
    assert found.status == 421
    assert b"tenant_elsewhere" in found.body
    assert "connection" not in found.headers, "the router is still sending the body"
    assert app.calls == 0


async def test_a_tenant_that_moves_for_long_is_503():
    app = App()
    found = await gated(app, Tenants(acme="moving"), wait_seconds=0.01)
    assert (found.status, found.headers["retry-after"], app.calls) == (503, "1", 0)
    assert b"tenant_moving" in found.body


async def test_who_has_no_identity_passes():
    assert (await gated(App(), Tenants(), owner=None)).status == 200


async def test_without_a_database_no_request_passes():
    tenants, app = Tenants(acme="here"), App()
    tenants.is_there = False
    found = await gated(app, tenants)
    assert (found.status, app.calls) == (503, 0)
    assert b"database_away" in found.body


async def answered_while(state, *, status, **request) -> Answer:
    """The answer to a request whose tenant gets this state while the app works."""
    tenants = Tenants(acme="here")
    known = Residences(tenants, wait_seconds=0.01)
    await known.poll()

    async def change():
        tenants.states["acme"] = state
        await known.poll()

    return await gated(App(status, change), tenants, known=known, **request)


@pytest.mark.parametrize("status", [401, 404, 500])
async def test_missing_rows_are_not_reported_when_they_were_moved(status):
    for state in ("leaving", "moving", "left"):
        found = await answered_while(state, status=status, method="DELETE")
        assert (found.status, found.headers["retry-after"]) == (503, "1")
        assert b"tenant_moving" in found.body
        assert b"the app's" not in found.body
    assert (await answered_while("here", status=status)).status == status


@pytest.mark.parametrize(
    ("method", "path", "is_read"),
    [
        ("GET", "/threads/1", True),
        ("POST", "/threads/search", True),
        ("POST", "/store/namespaces", True),
        ("POST", "/threads/1/history", True),
        ("POST", "/threads/1/state/checkpoint", True),
        ("POST", "/assistants/1/versions", True),
        ("DELETE", "/memories/search", False),
        ("POST", "/threads/1/runs", False),
        ("DELETE", "/threads/1", False),
    ],
)
async def test_what_was_read_without_the_moved_rows_is_no_answer_but_what_was_written_is(
    method, path, is_read
):
    found = await answered_while("left", status=200, method=method, path=path)
    assert found.status == (421 if is_read else 200)
    found = await answered_while("moving", status=200, method=method, path=path)
    assert found.status == (503 if is_read else 200)
    assert (await answered_while("left", status=422, method=method, path=path)).status == 422
    assert (await answered_while("here", status=200, method=method, path=path)).status == 200


async def read_while_leaving(then) -> Answer:
    """The answer to a read whose tenant begins to leave, and has this state after a while."""
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    await known.poll()

    async def leave():
        tenants.states["acme"] = "leaving"
        await known.poll()

    reading = asyncio.create_task(gated(App(404, leave), tenants, known=known, method="GET"))
    await settle()
    assert not reading.done()
    tenants.states["acme"] = then
    await known.poll()
    return await reading


async def test_a_read_whose_tenant_is_on_its_way_is_sent_on_as_soon_as_it_has_arrived():
    found = await read_while_leaving("left")
    assert found.status == 421
    assert b"tenant_elsewhere" in found.body


async def test_a_read_is_repeated_by_the_client_if_its_tenant_stays_after_all():
    assert (await read_while_leaving("here")).status == 503


async def test_nothing_of_an_answer_is_kept_back():
    sent: list[int] = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        sent.append(len(found.messages))
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        sent.append(len(found.messages))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    found = Answer()
    known = Residences(Tenants(acme="here"))
    await CellGate(app, residences=known)({**scope(), OWNER_KEY: ADA}, None, found.send)
    assert sent == [1, 2]


async def test_only_a_server_with_a_cell_has_the_gate():
    async def identify(connection):
        if "content-length" in connection.headers:
            raise Unauthenticated("Unknown API key")
        return ADA

    def server(known):
        edge = Edge(
            settings=ServerSettings(),
            identify=once(identify),
            health=None,
            metrics=Metrics(),
            render=None,
            clock=SystemClock(),
            is_public=lambda scope: False,
            residences=known,
        )
        return wrap(App(), edge)

    headers = {"host": "localhost"}
    assert (await call(server(None), headers=headers)).status == 200
    assert (await call(server(Residences(Tenants(acme="left"))), headers=headers)).status == 421
    with_body = {**headers, "content-length": "9"}
    refused = await call(server(None), headers=with_body)
    assert (refused.status, refused.headers["connection"]) == (401, "close")
    refused = await call(server(Residences(Tenants())), headers=with_body)
    assert refused.status == 401
    assert "connection" not in refused.headers, "the router is still sending the body"
    assert service_options(ServerSettings())["cell"] is None
    assert service_options(ServerSettings(cell="a"))["cell"] == "a"
    with pytest.raises(ConfigError, match="BATHYSPHERE_CELL"):
        ServerSettings.from_environment(cell="Cell A")


# ── errors and streams ──


class Closed(psycopg.DatabaseError):
    sqlstate = "BC001"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Closed("the tenant moves to another cell"), 503, "tenant_moving"),
        (TenantMoving(), 503, "tenant_moving"),
        (TenantElsewhere("gone"), 421, "tenant_elsewhere"),
        (psycopg.DatabaseError("a bug"), 500, "internal_error"),
        (psycopg.errors.UndefinedTable("a bug"), 500, "internal_error"),
    ],
)
async def test_a_refused_write_is_no_internal_error_and_others_are(error, status, code):
    app = FastAPI()
    errors.install(app)

    @app.get("/")
    async def fail():
        raise error

    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        found = await client.get("/")
    assert (found.status_code, found.json()["error"]) == (status, code)
    assert found.headers.get("retry-after") == ("1" if code == "tenant_moving" else None)


async def stream(until_left) -> Answer:
    async def chunks():
        yield b"first"
        await asyncio.sleep(0.1)
        yield b"last"

    async def receive():
        await asyncio.Event().wait()

    async def check():
        return None

    rules = StreamRules(heartbeat_seconds=5, max_seconds=60, check=check, until_left=until_left)
    found = Answer()
    await EventStream(chunks(), rules=rules)({}, receive, found.send)
    assert asyncio.current_task().cancelling() == 0
    return found


async def test_a_stream_is_cut_when_its_tenant_leaves():
    tenants = Tenants(acme="here")
    known = Residences(tenants)
    await known.poll()
    task = asyncio.create_task(stream(lambda: known.until_left("acme")))
    await settle()
    assert not task.done()
    tenants.states["acme"] = "leaving"
    await known.poll()
    found = await asyncio.wait_for(task, 0.09)
    assert b"first" in found.body
    assert b"last" not in found.body
    assert found.messages[-1]["more_body"], "not ended as if it were whole"


async def test_a_stream_of_a_tenant_that_stays_is_whole():
    known = Residences(Tenants(acme="here"))
    for until_left in (None, lambda: known.until_left("acme")):
        found = await stream(until_left)
        assert b"last" in found.body
        assert not found.messages[-1]["more_body"]


# ── the cells file ──


def test_a_cells_file_names_the_cells_and_the_default():
    file = CellsFile.parse(FILE)
    assert (list(file.cells), file.default) == (["a", "b-2"], "a")
    assert file.cell("b-2").url == "https://b.example"
    assert "s3cret" not in repr(file)
    with pytest.raises(ConfigError, match="Unknown cell 'c'") as raised:
        file.cell("c")
    assert raised.value.hint == "available: a, b-2"


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('default = "a"', 'default = "c"', "not one of the cells: 'c'"),
        ('default = "a"', "default = []", "not one of the cells"),
        ('default = "a"', "", "missing in the file: default"),
        ('default = "a"', 'default = "a"\nowner = "me"', "unknown in the file: owner"),
        ("[cells.b-2]", "[cells.B]", "not lowercase letters"),
        ("[cells.b-2]", "[cells.-b]", "not lowercase letters"),
        ("[cells.b-2]", "[cells.b-2]\nweight = 2", "unknown in cell 'b-2': weight"),
        ('url = "https://b.example"', "", "missing in cell 'b-2': url"),
        ("https://b.example", "https://b.example/path", "url of cell 'b-2'"),
        ("https://b.example", "http://10.0.0.1:8000", "cells 'a' and 'b-2' have the same url"),
        ("postgresql://root:s3cret@10.0.0.1/a", "mysql://root:s3cret@h", "database_url of cell"),
        ("postgresql://root:s3cret@10.0.0.1/a", "postgres://10.0.0.2/b", "the same database_url"),
        (FILE, 'default = "a"\ncells = "s3cret"', "not a table: cells"),
        (FILE, "default =", "Invalid cells file"),
    ],
)
def test_a_mistake_in_a_cells_file_is_named_without_a_password(before, after, problem):
    assert before in FILE
    with pytest.raises(ConfigError, match=problem) as raised:
        CellsFile.parse(FILE.replace(before, after))
    assert raised.value.hint
    assert "s3cret" not in str(raised.value)


# ── the directory ──


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


class Town:
    """A directory of two cells, which know keys `tenant:…` and tokens of everybody."""

    def __init__(self, a: Tenants, b: Tenants, *, keys_in: str = "ab") -> None:
        self.clock = Hands()
        self.keys_in = keys_in
        self.logins_are_there = True
        self.address = "192.0.2.1"
        self.identified_in: list[str] = []
        file = CellsFile.parse(FILE.replace("b-2", "b"))
        cells = [
            OpenCell(
                file.cell(name),
                tenants=tenants,
                identify=lambda request, name=name: self._identify(request, name),
                clock=self.clock,
            )
            for name, tenants in (("a", a), ("b", b))
        ]
        guesses = MemoryBuckets(Rate(per_second=1, burst=3), clock=self.clock)
        self.app = directory_app(Directory(cells, default="a", clock=self.clock, guesses=guesses))

    async def _identify(self, connection: HTTPConnection, cell: str) -> Owner:
        self.identified_in.append(cell)
        secret = credential(connection)
        if not self.logins_are_there:
            raise IdentityUnavailable("no keys")
        kind, _, tenant = secret.partition(":")
        if kind == "key":
            if cell not in self.keys_in:
                raise Unauthenticated("Unknown API key")
            connection.scope[GRANT_KEY] = Grant(key_id="k")
        elif kind != "token":
            raise Unauthenticated("Not a token")
        return Owner(tenant=unquote(tenant), user="ada")

    async def ask(self, secret: str | None = "token:acme", **headers: str) -> httpx.Response:
        if secret is not None:
            headers["authorization"] = f"Bearer {secret}"
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        transport = httpx.ASGITransport(app=self.app, client=(self.address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://directory") as client:
            return await client.get("/cell", headers=headers)

    async def cell(self, secret: str | None = "token:acme", **headers: str) -> str:
        found = await self.ask(secret, **headers)
        assert found.status_code == 204, found.text
        return found.headers["x-cell"]


async def test_the_directory_names_the_cell_its_address_and_the_tenant():
    town = Town(Tenants(acme="left"), Tenants(**{"acme": "here", "Zürich/π": "here"}))
    found = await town.ask("token:Z%C3%BCrich%2F%CF%80")
    assert found.headers["x-tenant"] == "Z%C3%BCrich%2F%CF%80"
    found = await town.ask()
    assert found.headers["x-tenant"] == "acme"
    assert (found.status_code, found.content) == (204, b"")
    assert (found.headers["x-cell"], found.headers["x-cell-url"]) == ("b", "https://b.example")


async def test_a_tenant_is_remembered_for_seconds_and_not_when_asked_again():
    a, b = Tenants(acme="here"), Tenants()
    town = Town(a, b)
    assert [await town.cell(), await town.cell()] == ["a", "a"]
    assert a.asked == 1
    a.states["acme"], b.states["acme"] = "left", "here"
    assert await town.cell() == "a"
    assert await town.cell(x_again="1") == "b"
    assert await town.cell() == "b", "what was found again is remembered"
    a.states["acme"], b.states["acme"] = "here", "left"
    town.clock.seconds = 60
    assert await town.cell() == "a"


@pytest.mark.parametrize("secret", [None, "wrong", "two words"])
async def test_who_cannot_be_identified_gets_the_default_cell(secret):
    a, b = Tenants(), Tenants()
    found = await Town(a, b).ask(secret)
    assert (found.status_code, found.headers["x-cell"]) == (204, "a")
    assert "x-tenant" not in found.headers
    assert a.admitted == b.admitted == []


async def test_a_new_tenant_is_admitted_to_the_default_cell_or_to_that_of_its_keys():
    a, b = Tenants(), Tenants()
    assert await Town(a, b).cell("token:new") == "a"
    assert (a.admitted, b.admitted) == (["new"], [])
    assert await Town(a, b, keys_in="b").cell("key:newer") == "b"
    assert (a.admitted, b.admitted) == (["new"], ["newer"])


@pytest.mark.parametrize("state", ["leaving", "moving"])
async def test_a_tenant_on_its_way_is_in_its_old_cell_until_the_other_has_it(state):
    a, b = Tenants(), Tenants(acme=state)
    town = Town(a, b)
    assert await town.cell() == "b"
    a.states["acme"] = "here"
    assert await town.cell(x_again="1") == "a"


async def test_a_tenant_in_two_cells_is_an_error_that_is_logged(caplog):
    with caplog.at_level(logging.ERROR, logger="bathysphere"):
        found = await Town(Tenants(acme="here"), Tenants(acme="here")).ask()
    assert (found.status_code, found.json()["error"]) == (500, TenantInSeveralCells.code)
    assert "'a' and 'b'" in caplog.text


async def test_a_tenant_that_left_and_has_not_arrived_is_never_admitted():
    a, b = Tenants(), Tenants(acme="left")
    assert (await Town(a, b).ask()).status_code == 503
    assert a.admitted == b.admitted == []


async def test_a_tenant_that_arrives_while_the_cells_are_asked_is_found():
    a, b = Tenants(), Tenants(acme="left")
    find = a.find

    async def find_and_arrive(tenant):
        found = await find(tenant)
        a.states["acme"] = "here"
        return found

    a.find = find_and_arrive
    assert await Town(a, b).cell() == "a"


async def test_a_database_that_is_down_matters_only_to_whom_it_may_have():
    a, b = Tenants(acme="here"), Tenants(umbrella="here")
    town = Town(a, b)
    assert await town.cell("token:umbrella") == "b"
    b.is_there = False
    assert await town.cell("token:acme") == "a"
    refused = await town.ask("token:unknown")
    assert (refused.status_code, refused.json()["error"]) == (503, "cell_unreachable")
    assert "a database is unavailable" in refused.json()["message"]
    assert a.admitted == []
    town.clock.seconds = 60
    assert await town.cell("token:umbrella") == "b", "as it was remembered"
    assert (await town.ask("token:umbrella", x_again="1")).status_code == 503
    town.logins_are_there = False
    assert (await town.ask("token:new")).status_code == 503


async def test_keys_are_looked_up_last_where_a_database_is_down():
    a, b = Tenants(acme="here"), Tenants(umbrella="here")
    town = Town(a, b)
    a.is_there = False
    assert await town.cell("key:umbrella") == "b"
    town.identified_in.clear()
    assert await town.cell("key:umbrella", x_again="1") == "b"
    assert town.identified_in == ["b"]
    a.is_there, town.clock.seconds = True, 60
    assert await town.cell("token:acme") == "a"
    town.identified_in.clear()
    assert await town.cell("token:acme", x_again="1") == "a"
    assert town.identified_in == ["a"]


async def test_an_address_may_send_only_some_unknown_credentials():
    town = Town(Tenants(acme="here"), Tenants(umbrella="here"))
    assert await town.cell("token:umbrella") == "b"
    guessed = [(await town.ask(f"guess {number}")).status_code for number in range(5)]
    assert guessed == [204, 204, 204, 429, 429]
    town.identified_in.clear()
    refused = await town.ask("token:acme")
    assert (refused.status_code, refused.json()["error"]) == (429, "too_many_requests")
    assert town.identified_in == []
    assert await town.cell("token:umbrella", x_again="1") == "b", "it was valid before"
    assert await town.cell(None) == "a", "nobody guesses without a credential"
    town.address = "192.0.2.2"
    assert await town.cell("token:acme") == "a"
    town.address, town.clock.seconds = "192.0.2.1", 2
    assert await town.cell("token:new") == "a"


async def test_valid_credentials_are_not_guesses():
    town = Town(Tenants(), Tenants())
    assert [await town.cell(f"token:t{number}") for number in range(10)] == ["a"] * 10


async def test_a_project_s_own_authentication_cannot_be_directed():
    with pytest.raises(ConfigError, match="project's own authentication"):
        async with open_directory(CellsFile.parse(FILE), ServerSettings(auth="project")):
            pass


# ── the command ──


def parsed(*words: str):
    parser = ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(words)


async def acted(tenants, monkeypatch, *words: str) -> None:
    monkeypatch.setattr("bathysphere.engine.cells.tenants.CellTenants", lambda pool: tenants)
    await command._act(None, parsed(*words))


async def test_the_command_lists_and_admits_tenants(monkeypatch, capsys):
    tenants = Tenants(acme="here")

    async def everybody():
        return {"acme": Residence("here", None), "gone": Residence("left", "b")}

    tenants.all = everybody
    await acted(tenants, monkeypatch, "list")
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown == [["TENANT", "STATE", "OTHER"], ["acme", "here", "-"], ["gone", "left", "b"]]
    await acted(tenants, monkeypatch, "admit", "--tenant", "new")
    assert "Tenant 'new' is in this cell." in capsys.readouterr().out
    tenants.states["gone"] = "left"
    with pytest.raises(TenantElsewhere, match="'gone' is left for cell 'other'"):
        await acted(tenants, monkeypatch, "admit", "--tenant", "gone")


def test_a_move_names_the_cell_that_is_unknown_or_down(tmp_path):
    path = tmp_path / "cells.toml"
    path.write_text(FILE.replace("@10.0.0.1/a", "@127.0.0.1:1/a"))
    words = ("move", "--tenant", "acme", "--cells", str(path), "--from", "a", "--to")
    with pytest.raises(ConfigError, match="Unknown cell 'c'"):
        command.run(parsed(*words, "c"))
    with pytest.raises(UpstreamError, match="database of cell 'a' is unavailable") as raised:
        command.run(parsed(*words, "b-2"))
    assert str(path) in raised.value.hint
    assert "s3cret" not in str(raised.value)
