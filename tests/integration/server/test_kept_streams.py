"""Streams that are kept open while the world changes: deletion, re-creation, revocation, time."""

import asyncio
import secrets
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from open_stream import OpenStream
from serving import make_worker
from test_walls import RUN, graph
from workspace_town import drop, identify, own_database

from bathysphere.backends.object_store import BucketConfig, open_bucket
from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import Event
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.identity import IdentityUnavailable, Unauthenticated, once
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.process.services import open_services
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.tenancy.directory import Directory, Tenant

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
REDIS = "redis://127.0.0.1:6379/10"
MALLORY, ADA = {"x-user": "evil/mallory"}, {"x-user": "acme/ada"}
ALL = {"channels": ["values", "updates", "messages", "lifecycle", "custom", "tools", "input"]}


@pytest.fixture(scope="module")
def database():
    found = own_database()
    yield found
    drop(found)


@asynccontextmanager
async def api_process(database, redis_url, *, works=True, workspaces=None, **options):
    """The parts of one process, and its app."""
    graphs = Graphs({"plain": graph})
    async with open_services(
        database=database, graphs=graphs, redis_url=redis_url, workspaces=workspaces
    ) as services:
        defaults = {"identify": identify, "heartbeat_seconds": 0.2}
        app = create_app(services=services, **{**defaults, **options})
        worker = await make_worker(services)
        working = asyncio.create_task(worker.run()) if works else None
        try:
            yield app
        finally:
            worker.drain()
            if working is not None:
                await working


def client(app):
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


LOGS = {
    "memory, one process": (None, 1),
    "Redis, one process": (REDIS, 1),
    "Redis, two processes": (REDIS, 2),
}


@pytest.mark.parametrize("has_run", [False, True], ids=["before any event", "after a run"])
@pytest.mark.parametrize("log", LOGS)
async def test_a_stream_kept_over_a_deletion_carries_nothing_of_the_next_owner(
    database, log, has_run
):
    redis_url, processes = LOGS[log]
    async with AsyncExitStack() as stack:
        apps = [
            await stack.enter_async_context(api_process(database, redis_url, works=not number))
            for number in range(processes)
        ]
        mallory = await stack.enter_async_context(client(apps[-1]))
        ada = await stack.enter_async_context(client(apps[0]))
        thread, words = str(uuid4()), f"ada-{secrets.token_hex(8)}"
        place = f"/threads/{thread}"
        await mallory.post("/threads", json={"thread_id": thread}, headers=MALLORY)
        if has_run:
            answer = await mallory.post(f"{place}/runs/wait", json=RUN, headers=MALLORY)
            assert answer.status_code == 200
        kept = OpenStream(apps[-1], "POST", f"{place}/stream/events", headers=MALLORY, body=ALL)
        async with kept:
            assert await kept.opened() == 200
            assert (await mallory.delete(place, headers=MALLORY)).status_code == 204
            made = await ada.post("/threads", json={"thread_id": thread}, headers=ADA)
            assert made.status_code == 200, made.text
            run = {**RUN, "input": {"items": [words]}}
            answer = await ada.post(f"{place}/runs/wait", json=run, headers=ADA)
            assert words in answer.text
            run_id = (await ada.get(f"{place}/runs", headers=ADA)).json()[0]["run_id"]
            async with asyncio.timeout(3):
                await kept.is_over.wait()  # cut at the next heartbeat
        assert (await mallory.get(f"{place}/state", headers=MALLORY)).status_code == 404
        assert words not in kept.text
        assert run_id not in kept.text


class Caller:
    """Who a credential stands for, for as long as the test says."""

    def __init__(self):
        self.owner = Owner(tenant="acme", user="ada")
        self.error = None

    async def identify(self, connection):
        del connection
        if self.error is not None:
            raise self.error
        return self.owner


async def published(app, thread, words, owner):
    event = Event(channel="custom", run_id="r", data={"name": "word", "payload": words})
    await app.state.services.events.append(UUID(thread), [event.encode()], owner=owner)


CHANGES = {
    "revoked or expired": lambda caller: setattr(caller, "error", Unauthenticated("no")),
    "another owner's now": lambda caller: setattr(
        caller, "owner", Owner(tenant="acme", user="bob")
    ),
    "cannot be looked up for long": lambda caller: setattr(
        caller, "error", IdentityUnavailable("away")
    ),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_stream_is_cut_when_its_caller_changes(database, change):
    caller, thread = Caller(), str(uuid4())
    options = {"identify": caller.identify, "heartbeat_seconds": 0.1}
    async with (
        api_process(database, None, **options) as app,
        OpenStream(app, "POST", f"/threads/{thread}/stream/events", headers={}, body=ALL) as kept,
    ):
        assert await kept.opened() == 200
        await published(app, thread, "before", caller.owner)
        await asyncio.sleep(0.4)
        assert "before" in kept.text
        assert not kept.is_over.is_set()
        owner = caller.owner
        CHANGES[change](caller)
        async with asyncio.timeout(3):
            await kept.is_over.wait()
        await published(app, thread, "after", owner)
        await asyncio.sleep(0.1)
        assert "after" not in kept.text
        assert not kept.is_complete  # a client opens a cut stream again


async def test_a_stream_outlives_a_moment_without_a_database(database):
    caller, thread = Caller(), str(uuid4())
    options = {"identify": caller.identify, "heartbeat_seconds": 0.3}
    async with (
        api_process(database, None, **options) as app,
        OpenStream(app, "POST", f"/threads/{thread}/stream/events", headers={}, body=ALL) as kept,
    ):
        assert await kept.opened() == 200
        caller.error = IdentityUnavailable("away")
        await asyncio.sleep(0.4)
        caller.error = None
        await asyncio.sleep(1)
        assert not kept.is_over.is_set()


async def test_a_stream_is_cut_after_its_longest_duration(database):
    caller, thread = Caller(), str(uuid4())
    options = {"identify": caller.identify, "stream_seconds": 0.5}
    async with (
        api_process(database, None, **options) as app,
        OpenStream(app, "POST", f"/threads/{thread}/stream/events", headers={}, body=ALL) as kept,
    ):
        assert await kept.opened() == 200
        async with asyncio.timeout(3):
            await kept.is_over.wait()
        assert not kept.is_complete


async def test_a_stream_is_cut_when_its_caller_leaves_a_workspace(database):
    directory = Directory(tenants={"acme": Tenant(workspaces={"board": frozenset({"ada"})})})
    workspaces = Workspaces(directory=directory, bucket=open_bucket(BucketConfig(kind="memory")))
    caller, thread = Caller(), str(uuid4())
    options = {"identify": caller.identify, "heartbeat_seconds": 0.1}
    async with (
        api_process(database, None, workspaces=workspaces, **options) as app,
        OpenStream(app, "POST", f"/threads/{thread}/stream/events", headers={}, body=ALL) as kept,
    ):
        assert await kept.opened() == 200
        left = Directory(tenants={"acme": Tenant(workspaces={"board": frozenset({"bob"})})})
        object.__setattr__(workspaces, "directory", left)
        async with asyncio.timeout(3):
            await kept.is_over.wait()


@pytest.mark.parametrize("path", ["join", "stream"])
async def test_a_wait_for_a_run_ends_with_the_key(database, path):
    """A real API key, revoked in the database while the run goes on."""
    async with api_process(database, None, works=False, heartbeat_seconds=0.1) as app:
        services = app.state.services
        keys = ApiKeys(services.pool)
        key = await keys.create(Owner(tenant="acme", user="ada"))
        app.state.identify = once(keys.identify)
        headers = {"authorization": f"Bearer {key.secret}"}
        async with client(app) as ada:
            thread = (await ada.post("/threads", json={}, headers=headers)).json()["thread_id"]
            run = (await ada.post(f"/threads/{thread}/runs", json=RUN, headers=headers)).json()
            place = f"/threads/{thread}/runs/{run['run_id']}/{path}"
            async with OpenStream(app, "GET", place, headers=headers) as kept:
                if path == "stream":
                    assert await kept.opened() == 200
                await keys.revoke(key.key.key_id)
                await asyncio.sleep(0.4)
                await services.runs.cancel(UUID(run["run_id"]), owner=key.key.owner)
                async with asyncio.timeout(10):
                    await kept.is_over.wait()
            if path == "join":
                assert kept.status == 401
            assert "items" not in kept.text
