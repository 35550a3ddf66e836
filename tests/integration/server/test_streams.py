"""A stream's reader ends up with the truth, whatever happened to the log in between."""

import asyncio
import json
import operator
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid4

import httpx
import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from starlette.requests import HTTPConnection

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from served_graphs import GRAPHS
from serving import make_worker

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.events.log import Entry, Event
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.langgraph_api.idempotency import RequestKey
from bathysphere.server.langgraph_api.run_events import wait_for_end
from bathysphere.server.process.services import Services, open_services
from bathysphere.server.protocol.commands import CommandHandler
from bathysphere.server.protocol.feed import Feed
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.protocol.position import WIDTH, Position
from bathysphere.server.protocol.wire import WireEvent
from bathysphere.server.schemas.protocol import Command

pytestmark = pytest.mark.services

ALICE = Owner(tenant="a", user="alice")
BOB = Owner(tenant="b", user="bob")
ALL = Filter(
    channels=frozenset({"values", "messages", "lifecycle", "input", "checkpoints", "updates"})
)


@pytest.fixture
async def services(database: Database) -> AsyncIterator[Services]:
    async with open_services(database=database, graphs=Graphs(GRAPHS)) as opened:
        yield opened


@asynccontextmanager
async def working(services: Services) -> AsyncIterator[None]:
    worker = await make_worker(services)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.drain()
        await task


async def start(services: Services, graph: str, input: Any, thread: UUID | None = None) -> UUID:
    thread = thread or uuid4()
    desk = CommandHandler(services=services, thread_id=thread, key=RequestKey(owner=ALICE))
    params = {"assistant_id": graph, "input": input}
    answer = await desk.handle(Command(id=1, method="run.start", params=params))
    assert answer["type"] == "success"
    run = await services.runs.get(UUID(answer["result"]["run_id"]), owner=ALICE)
    await wait_for_end(services, run, owner=ALICE)
    return thread


async def heard(
    services: Services, thread: UUID, *, since: int = 0, owner: Owner = ALICE
) -> list[WireEvent]:
    """What a reader gets, up to the end of the thread's run."""
    found: list[WireEvent] = []
    async with asyncio.timeout(10):
        feed = Feed(services, thread, owner=owner, event_filter=ALL, since=since)
        async for events in feed.events():
            found += events
            if any(event.is_end for event in found):
                return found
    return found


async def identify(_: HTTPConnection) -> Owner:
    return ALICE


def client_of(services: Services) -> httpx.AsyncClient:
    """A client of the server, to which Alice speaks."""
    transport = httpx.ASGITransport(app=create_app(services=services, identify=identify))
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def heard_until(
    services: Services, thread: UUID, last: int, *, since: int = 0
) -> list[WireEvent]:
    """What a reader gets up to the end of the entry `last`."""
    found: list[WireEvent] = []
    async with asyncio.timeout(10):
        feed = Feed(services, thread, owner=ALICE, event_filter=ALL, since=since)
        async for events in feed.events():
            found += events
            if found[-1].position.entry >= last:
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
    assert not any(event.is_synthetic for event in found)


async def test_what_happens_while_a_state_is_read_is_after_the_position_it_names(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader takes what is up to there for known, so that must be in the state."""
    async with working(services):
        thread = await start(services, "steps", {"name": "x", "steps": 2})
        before = await services.events.last_id(thread)
        read = services.states.read

        async def slowly(*args: Any, **options: Any) -> Any:
            state = await read(*args, **options)
            await start(services, "steps", {"name": "y", "steps": 1}, thread)
            return state

        monkeypatch.setattr(services.states, "read", slowly)
        async with client_of(services) as http:
            answer = await http.get(f"/threads/{thread}/state")
    assert answer.json()["values"]["items"] == ["x:0", "x:1"]
    assert answer.headers["x-applied-through-seq"] == str(Position.end_of(before).seq)


async def test_a_client_that_returns_gets_the_rest_without_a_replay_of_all_runs(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = uuid4()
    async with working(services):
        for number in range(4):
            await start(services, "chat", {"messages": [("user", f"hi {number}")]}, thread)
    whole = await heard_until(services, thread, await services.events.last_id(thread))
    starts: list[int] = []
    read = services.events.batches

    def recorded(thread_id: UUID, *, owner: Owner, after: int = 0) -> Any:
        starts.append(after)
        return read(thread_id, owner=owner, after=after)

    monkeypatch.setattr(services.events, "batches", recorded)
    last = whole[-1].position.entry
    for number, event in enumerate(whole[:-1]):
        rest = await heard_until(services, thread, last, since=event.seq)
        assert [(e.seq, e.data) for e in rest] == [(e.seq, e.data) for e in whole[number + 1 :]]
    first_run_ends = next(e.position.entry for e in whole if e.is_end)
    assert starts[0] == 0
    assert starts[-1] > first_run_ends


async def test_a_client_that_returns_to_a_long_log_lets_only_its_end_be_read(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = uuid4()
    async with working(services):
        for number in range(4):
            await start(services, "chat", {"messages": [("user", f"hi {number}")]}, thread)
        filler = Event(channel="custom", run_id=str(uuid4()), data={}).encode()
        filled = await services.events.append(thread, [filler] * 300, owner=ALICE)
        for number in range(2):
            await start(services, "chat", {"messages": [("user", f"hi {number}")]}, thread)
    whole = await heard_until(services, thread, await services.events.last_id(thread))
    found: list[int] = []
    newest = services.events.newest

    async def recorded(*place: Any, **which: Any) -> list[Entry]:
        entries = await newest(*place, **which)
        found.append(len(entries))
        return entries

    monkeypatch.setattr(services.events, "newest", recorded)
    last = whole[-1].position.entry
    rest = await heard_until(services, thread, last, since=whole[-2].seq)
    assert [event.seq for event in rest] == [whole[-1].seq]
    assert sum(found) < 100
    # From here, the second run before began on the other side of what was put in between.
    early = next(event for event in whole if event.position.entry > filled + 1)
    rest = await heard_until(services, thread, last, since=early.seq)
    assert [event.seq for event in rest] == [e.seq for e in whole if e.seq > early.seq]


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
        feed = Feed(services, thread, owner=ALICE, event_filter=ALL).events()
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
    feed = Feed(services, thread, owner=BOB, event_filter=ALL).events()
    first = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0.05)
    async with working(services):
        await start(services, "steps", {"name": "secret"}, thread)
        assert await heard(services, thread)  # its owner hears it
    done, _ = await asyncio.wait([first], timeout=0.5)
    assert not done
    first.cancel()
    await asyncio.wait([first])
    with pytest.raises(ThreadNotFound):
        await anext(Feed(services, thread, owner=BOB, event_filter=ALL).events())


async def test_every_point_of_a_message_can_be_gone_on_from(services: Services) -> None:
    async with working(services):
        thread = await start(services, "chat", {"messages": [("user", "add")]})
    everything = await heard(services, thread)
    for event in everything[:-1]:
        later = await heard(services, thread, since=event.seq)
        expected = [e for e in everything if e.seq > event.seq]
        assert [(e.seq, e.data) for e in later] == [(e.seq, e.data) for e in expected]


# ── states that are too large for the log ──

LARGE = "x" * 300_000


class Large(TypedDict, total=False):
    items: Annotated[list[str], operator.add]
    asks: bool


def large_graph() -> Any:
    """Adds a large item, then asks when it is told to."""

    async def add(state: Large) -> dict[str, Any]:
        return {"items": [f"{len(state.get('items', []))}:{LARGE}"]}

    async def ask(state: Large) -> dict[str, Any]:
        return {"items": [interrupt({"question": "go on?"})]} if state.get("asks") else {}

    graph = StateGraph(Large)
    graph.add_node("add", add)
    graph.add_node("ask", ask)
    graph.add_edge(START, "add")
    graph.add_edge("add", "ask")
    return graph.compile()


@pytest.fixture
async def large(database: Database) -> AsyncIterator[Services]:
    graphs = Graphs({"large": large_graph})
    async with open_services(database=database, graphs=graphs) as opened, working(opened):
        yield opened


async def streamed(services: Services, thread: UUID, body: dict[str, Any]) -> list[Any]:
    """The states that `/runs/stream` sends to a stock client."""
    async with client_of(services) as http:
        request = {"assistant_id": "large", "if_not_exists": "create", **body}
        answer = await http.post(f"/threads/{thread}/runs/stream", json=request)
    parts = [part.splitlines() for part in answer.text.split("\n\n")]
    return [
        json.loads(line.removeprefix("data: "))
        for lines in parts
        if "event: values" in lines
        for line in lines
        if line.startswith("data: ")
    ]


async def test_a_large_state_is_sent_to_stock_clients(large: Services) -> None:
    values = await streamed(large, uuid4(), {"input": {"items": ["first"]}})
    assert values[-1]["items"] == ["first", f"1:{LARGE}"]


async def test_a_question_comes_with_the_whole_of_a_large_state(large: Services) -> None:
    values = await streamed(large, uuid4(), {"input": {"items": ["first"], "asks": True}})
    assert values[-1]["items"] == ["first", f"1:{LARGE}"]
    assert values[-1]["__interrupt__"][0]["value"] == {"question": "go on?"}


async def test_a_replay_sends_a_large_state_once_and_not_once_for_each_past_run(
    large: Services,
) -> None:
    thread = uuid4()
    for number in range(4):
        await streamed(large, thread, {"input": {"items": [f"run {number}"]}})
    found: list[WireEvent] = []
    async with asyncio.timeout(10):
        async for events in Feed(large, thread, owner=ALICE, event_filter=ALL).events():
            found += events
            if sum(event.is_end for event in found) == 4:
                break
    states = [
        event.data["items"]
        for event in found
        if event.channel == "values" and any(LARGE in item for item in event.data["items"])
    ]
    assert len(states) == 1
    assert len(states[0]) == 8
    assert found[-1].is_end
