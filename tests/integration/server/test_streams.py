"""A stream's reader ends up with the truth, whatever happened to the log in between."""

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from served_graphs import GRAPHS
from serving import make_worker

from bathysphere.engine.database import Database
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Owner
from bathysphere.engine.schema import migrate
from bathysphere.server.following import ended
from bathysphere.server.protocol.commands import Desk
from bathysphere.server.protocol.feed import Feed
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.protocol.wire import WIDTH, WireEvent
from bathysphere.server.schemas.protocol import Command
from bathysphere.server.services import Services, open_services

pytestmark = pytest.mark.services

ALICE = Owner(tenant="a", user="alice")
BOB = Owner(tenant="b", user="bob")
SERVER = "postgresql://root@127.0.0.1:5432"
ALL = Filter(
    channels=frozenset({"values", "messages", "lifecycle", "input", "checkpoints", "updates"})
)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    name = f"streams_test_{secrets.token_hex(6)}"
    with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    found = Database(url=f"{SERVER}/{name}")
    try:
        asyncio.run(migrate(found))
        yield found
    finally:
        with psycopg.connect(f"{SERVER}/test", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
async def services(database: Database) -> AsyncIterator[Services]:
    async with open_services(database=database, graphs=Graphs(GRAPHS)) as opened:
        yield opened


@asynccontextmanager
async def working(services: Services) -> AsyncIterator[None]:
    worker = make_worker(services)
    await worker._queue.open()
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.drain()
        await task


async def start(services: Services, graph: str, input: Any, thread: UUID | None = None) -> UUID:
    thread = thread or uuid4()
    desk = Desk(services=services, thread_id=thread, owner=ALICE)
    params = {"assistant_id": graph, "input": input}
    answer = await desk.handle(Command(id=1, method="run.start", params=params))
    assert answer["type"] == "success"
    run = await services.runs.get(UUID(answer["result"]["run_id"]), owner=ALICE)
    await ended(services, run, owner=ALICE)
    return thread


async def heard(
    services: Services, thread: UUID, *, since: int = 0, owner: Owner = ALICE
) -> list[WireEvent]:
    """What a reader gets, up to the end of the thread's run."""
    found: list[WireEvent] = []
    async with asyncio.timeout(10):
        feed = Feed(services, thread, owner=owner, wishes=ALL, since=since)
        async for events in feed.events():
            found += events
            if any(event.is_end for event in found):
                return found
    return found


async def test_a_lost_log_is_made_up_for_with_the_state(services: Services) -> None:
    async with working(services):
        thread = await start(services, "steps", {"name": "x", "steps": 2})
    last = (await heard(services, thread))[-1]
    await services.events.delete(thread)
    found = await heard(services, thread, since=last.seq)
    assert [event.channel for event in found] == ["values", "lifecycle"]
    assert found[0].data["items"] == ["x:0", "x:1"]
    assert found[1].data["event"] == "completed"
    assert all(event.seq > last.seq - WIDTH for event in found)


async def test_a_run_that_ends_while_a_reader_comes_is_told_whole(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = uuid4()
    await services.threads.create(thread, owner=ALICE)
    looked_up = services.events.last_id
    began: list[bool] = []

    async def slowly(thread_id: UUID) -> int:
        last = await looked_up(thread_id)
        if not began:
            began.append(True)
            await start(services, "chat", {"messages": [("user", "hi")]}, thread)
        return last

    monkeypatch.setattr(services.events, "last_id", slowly)
    async with working(services):
        found = await heard(services, thread)
    assert "messages" in [event.channel for event in found]
    assert not any(event.is_made_up for event in found)


async def test_a_lost_log_does_not_hide_an_open_question(services: Services) -> None:
    async with working(services):
        thread = await start(services, "chat", {"messages": [("user", "confirm")]})
    since = (await heard(services, thread))[-1].seq
    await services.events.delete(thread)
    found = await heard(services, thread, since=since)
    assert [event.channel for event in found] == ["values", "input", "lifecycle"]
    assert found[1].data["payload"]["what"] == "delete"
    assert found[1].data["response_schema"]["type"] == "object"
    assert found[2].data["event"] == "interrupted"


async def test_a_reader_in_the_middle_of_a_lost_log_hears_of_it(services: Services) -> None:
    async with working(services):
        thread = await start(services, "steps", {"name": "x"})
        feed = Feed(services, thread, owner=ALICE, wishes=ALL).events()
        async with asyncio.timeout(10):
            while not any(event.is_end for event in await anext(feed)):
                pass
            await services.events.delete(thread)
            snapshot = await anext(feed)
    assert [event.channel for event in snapshot] == ["values", "lifecycle"]
    await feed.aclose()  # type: ignore[attr-defined]


async def test_a_state_too_large_for_the_log_is_sent_when_the_run_is_over(
    services: Services,
) -> None:
    async with working(services):
        thread = await start(services, "steps", {"name": "y" * 300_000, "steps": 2})
    found = await heard(services, thread)
    values = [event for event in found if event.channel == "values"]
    assert len(values) == 1
    assert len(values[0].data["items"]) == 2
    assert found[-1].is_end


async def test_a_thread_that_somebody_else_made_is_not_heard(services: Services) -> None:
    thread = uuid4()
    feed = Feed(services, thread, owner=BOB, wishes=ALL).events()
    first = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0.05)
    async with working(services):
        await start(services, "steps", {"name": "secret"}, thread)
    with pytest.raises(ThreadNotFound):
        await first


async def test_every_point_of_a_message_can_be_gone_on_from(services: Services) -> None:
    async with working(services):
        thread = await start(services, "chat", {"messages": [("user", "add")]})
    everything = await heard(services, thread)
    for event in everything[:-1]:
        later = await heard(services, thread, since=event.seq)
        expected = [e for e in everything if e.seq > event.seq]
        assert [(e.seq, e.data) for e in later] == [(e.seq, e.data) for e in expected]
