"""Histories and lists of threads are bounded in bytes, and can be read to their end."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid4

import httpx
import pytest
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.langgraph_api.bounded_answers import AnswerLimits, ReadTurns
from bathysphere.server.process.services import Services, open_services
from bathysphere.testing.postgres import temporary_database

pytestmark = pytest.mark.services
ADA = Owner(tenant="acme", user="ada")
TEXT = "x" * 20_000


class State(TypedDict, total=False):
    items: Annotated[list[str], lambda old, new: old + new]


def graph(**bound: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"items": []})
    builder.add_edge(START, "node")
    return builder.compile(**bound)


def asking_graph(**bound: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"items": [interrupt("Which one?")]})
    builder.add_edge(START, "node")
    return builder.compile(**bound)


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    with temporary_database("bounded") as url:
        database = Database(url=url)
        await migrate(database)
        limits = AnswerLimits(bytes=300_000, states=8)
        async with open_services(
            database=database, graphs=Graphs({"g": graph, "asks": asking_graph}), answers=limits
        ) as opened:
            yield opened


@pytest.fixture
async def client(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    async def identify(connection) -> Owner:
        return ADA

    app = create_app(services=services, identify=identify)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def grown(services: Services, updates: int, text: str = TEXT) -> UUID:
    """Create a thread whose state grows with each update, by default by 20 kB."""
    thread = uuid4()
    await services.threads.create(thread, owner=ADA, metadata={"graph_id": "g"})
    for _ in range(updates):
        await services.states.update(thread, {"items": [text]}, owner=ADA, as_node="node")
    return thread


async def test_a_history_is_cut_at_its_size_and_can_be_read_to_its_end(services, client):
    thread = await grown(services, 12)
    seen, before, answers = [], None, 0
    while True:
        body = {"limit": 1000, **({"before": before} if before else {})}
        answer = await client.post(f"/threads/{thread}/history", json=body)
        assert answer.status_code == 200, answer.text
        states = answer.json()
        assert len(states) <= 8
        assert len(answer.content) <= 300_000 or len(states) == 1
        seen += [state["checkpoint_id"] for state in states]
        answers += 1
        before = answer.headers.get("x-pagination-next")
        if before is None:
            break
    assert answers > 2
    assert len(seen) == len(set(seen)) == 12
    assert seen == sorted(seen, reverse=True)


async def test_a_history_of_small_states_is_cut_at_their_number(services, client):
    thread = await grown(services, 12, text="short")
    answer = await client.post(f"/threads/{thread}/history", json={"limit": 1000})
    assert len(answer.json()) == 8
    assert "x-pagination-next" in answer.headers


async def test_a_short_history_is_whole_and_says_nothing_of_more(services, client):
    thread = await grown(services, 3)
    answer = await client.get(f"/threads/{thread}/history?limit=3")
    assert len(answer.json()) == 3
    assert "x-pagination-next" not in answer.headers


async def test_a_history_reads_few_states_at_a_time(services, monkeypatch):
    thread = await grown(services, 12)
    found = services.states.history(thread, owner=ADA, limit=1000)
    state, encoded = await anext(found)
    assert len(state["values"]["items"]) == 12
    assert len(encoded) > 240_000
    await found.aclose()


async def test_a_list_of_threads_holds_all_of_them_but_not_more_values_than_fit(services, client):
    for _ in range(4):
        await grown(services, 6)
    answer = await client.post("/threads/search", json={"limit": 10})
    threads = answer.json()
    assert len(threads) == 4
    full = [thread for thread in threads if thread["values"]]
    assert 1 <= len(full) < 4
    assert answer.headers["x-values-omitted"] == str(4 - len(full))


async def test_a_list_of_threads_reads_their_states_together(services, client):
    threads = [await grown(services, 1) for _ in range(7)]
    wanted = {
        (await client.get(f"/threads/{thread}")).json()["thread_id"]: [TEXT] for thread in threads
    }
    services.pool.pop_stats()
    answer = await client.post("/threads/search", json={"limit": 10})
    queries = services.pool.get_stats()["requests_num"]
    assert {one["thread_id"]: one["values"]["items"] for one in answer.json()} == wanted
    assert "x-values-omitted" not in answer.headers
    # The list itself, then about, checkpoints and answers of the first thread and of the rest.
    assert queries <= 8


async def test_states_that_are_read_together_are_those_that_are_read_alone(services):
    """Also where an answer waits in one thread and not in its copy, which has the same question."""
    asked, copied, fresh, grew = uuid4(), uuid4(), uuid4(), await grown(services, 2)
    for thread in (asked, fresh):
        await services.threads.create(thread, owner=ADA, metadata={"graph_id": "asks"})
    saver = AsyncPostgresSaver(services.pool)
    bound = services.graphs.bind("asks", checkpointer=saver)
    await bound.ainvoke({"items": ["?"]}, {"configurable": {"thread_id": str(asked)}})
    await services.threads.copy(asked, to=copied, owner=ADA)
    [question] = (await services.states.read(asked, owner=ADA))["interrupts"]
    async with services.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO engine.answers (thread_id, interrupt_id, answer) VALUES (%s, %s, '1')",
            (asked, question["id"]),
        )
    threads = [asked, copied, fresh, grew]
    alone = {thread: await services.states.read(thread, owner=ADA) for thread in threads}
    together = await services.states.read_several([*threads, uuid4()], owner=ADA)
    assert together == alone
    assert [len(alone[thread]["interrupts"]) for thread in threads] == [0, 1, 0, 0]
    stranger = Owner(tenant="acme", user="eve")
    assert await services.states.read_several(threads, owner=stranger) == {}


async def test_a_thread_that_is_deleted_meanwhile_does_not_spoil_a_list(
    services, client, monkeypatch
):
    first, second = await grown(services, 1), await grown(services, 1)
    search = services.threads.search

    async def and_then_deleted(**options):
        found = await search(**options)
        await services.threads.delete(first, owner=ADA)
        return found

    monkeypatch.setattr(
        type(services.threads), "search", lambda _, **options: and_then_deleted(**options)
    )
    answer = await client.post("/threads/search", json={"limit": 10})
    assert answer.status_code == 200
    assert str(second) in answer.text


async def read(turns: ReadTurns, owner: Owner, until: asyncio.Event) -> None:
    async with turns.turn(owner):
        await until.wait()


async def test_one_tenant_reads_one_large_thing_at_a_time():
    turns, is_over = ReadTurns(at_once=2), asyncio.Event()
    bob = Owner(tenant="other", user="bob")
    reads = [asyncio.create_task(read(turns, owner, is_over)) for owner in (ADA, ADA, bob)]
    await asyncio.sleep(0.01)
    assert turns._at_once.locked(), "one of each tenant"
    assert turns._shares._tenants["acme"].waiting
    is_over.set()
    await asyncio.wait_for(asyncio.gather(*reads), 1)
    assert not turns._at_once.locked()
