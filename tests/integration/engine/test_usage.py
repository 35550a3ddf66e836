"""What a run uses is counted once, whoever makes the calls and however its attempts end."""

import asyncio
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, QUICK, QUICK_LIMITS, Rig
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt

from bathysphere.core.errors import UpstreamError
from bathysphere.engine.records import Work
from bathysphere.engine.usage.report import UsageReport, UsageReports
from bathysphere.models.prices import Price
from bathysphere.models.resolve import NAME_KEY
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.services import open_worker
from bathysphere.testing import ScriptedChatModel, calls, hangs, says

pytestmark = pytest.mark.services
NOW = datetime.now(UTC)
WINDOW = {"since": NOW - timedelta(days=1), "until": NOW + timedelta(days=1)}
INPUT = {"messages": [{"role": "user", "content": "How deep is it here?"}]}
MODEL = "acme:depth-1"


@tool
def sound(where: str) -> str:
    """Measure the depth."""
    return f"{where}: 40 m"


def model(*turns: Any) -> ScriptedChatModel:
    return ScriptedChatModel(script=list(turns), metadata={NAME_KEY: MODEL})


def own_count(asked: ScriptedChatModel, messages: list[Any]) -> tuple[int, int]:
    """What the model said that its answers used."""
    reported = [m.usage_metadata for m in messages if isinstance(m, AIMessage)]
    assert len(reported) == len(asked.requests)
    return sum(u["input_tokens"] for u in reported), sum(u["output_tokens"] for u in reported)


async def report(rig: Rig, by: Any = "model", owner: Any = ALICE) -> UsageReport:
    return await UsageReports(rig.pool).own(owner, by=by, **WINDOW)


async def rows(rig: Rig, table: str, run_id: UUID) -> list[Any]:
    async with rig.pool.connection() as connection:
        statement = f"SELECT * FROM engine.{table} WHERE run_id = %s ORDER BY model"
        return await (await connection.execute(statement, (run_id,))).fetchall()


async def talk(rig: Rig, graph: Any, **options: Any) -> Any:
    rig.factories["agent"] = lambda: graph
    run = await rig.start(uuid4(), "agent", input=INPUT, **options)
    return await rig.ended(run)


async def test_a_run_has_the_models_own_count(rig: Rig) -> None:
    scripted = model(calls("sound", where="bow"), calls("sound", where="stern"), says("40 m."))
    async with rig.working():
        run = await talk(rig, create_agent(scripted, [sound]))
    messages = (await rig.state(run.thread_id, "agent")).values["messages"]
    itself, used = await rows(rig, "usage", run.run_id)
    assert await rows(rig, "model_calls", run.run_id) == []
    counted = (used["input_tokens"], used["output_tokens"])
    assert counted == own_count(scripted, messages)
    assert (used["model"], used["model_calls"], used["estimated_calls"]) == (MODEL, 3, 0)
    assert (itself["model"], itself["tool_calls"]) == ("", 2)
    assert itself["seconds"] > 0
    assert (used["tenant"], used["owner"], used["graph"]) == ("alice", "alice@a", "agent")


async def test_a_price_gives_an_exact_cost(rig: Rig) -> None:
    scripted = model(says("Forty metres."))
    price = Price(input=0.1, output=0.7, currency="EUR")
    worker = await open_worker(
        rig.services,
        metrics=Metrics(),
        limits=QUICK_LIMITS,
        options=QUICK,
        price_of={MODEL: price}.get,
    )
    task = asyncio.create_task(worker.run())
    run = await talk(rig, create_agent(scripted, []))
    worker.drain()
    await task
    _, used = await rows(rig, "usage", run.run_id)
    expected = (
        Decimal("0.1") * used["input_tokens"] + Decimal("0.7") * used["output_tokens"]
    ) / 1_000_000
    assert (used["cost"], used["currency"]) == (expected, "EUR")
    found = await report(rig)
    assert found.total.costs == {"EUR": expected}
    assert [line.costs for line in found.lines] == [{}, {"EUR": expected}]


async def test_a_call_that_is_asked_again_counts_again(rig: Rig) -> None:
    scripted = model(says("One."), says("Two."))
    tries: list[int] = []

    async def ask(state: MessagesState) -> Any:
        answer = await scripted.ainvoke(state["messages"])
        tries.append(1)
        if len(tries) == 1:
            raise UpstreamError("the line is cut")
        return {"messages": [answer]}

    graph = StateGraph(MessagesState).add_node(ask).add_edge(START, "ask").compile()
    async with rig.working():
        run = await talk(rig, graph)
    assert run.status == "success"
    _, used = await rows(rig, "usage", run.run_id)
    assert used["model_calls"] == len(scripted.requests) == 2


async def test_a_run_that_asks_and_the_one_that_answers_each_have_their_own(rig: Rig) -> None:
    scripted = model(says("One."), says("Two."))

    async def ask(state: MessagesState) -> Any:
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    async def wait(state: MessagesState) -> Any:
        interrupt("go on?")
        return {"messages": [await scripted.ainvoke("again")]}

    graph = StateGraph(MessagesState).add_node(ask).add_node(wait)
    graph.add_edge(START, "ask").add_edge("ask", "wait")
    async with rig.working():
        first = await talk(rig, graph.compile())
        assert first.status == "interrupted"
        found = await rig.state(first.thread_id, "agent")
        answer = {found.interrupts[0].id: "yes"}
        second = await rig.ended(
            await rig.start(first.thread_id, "agent", work=Work(resume=answer))
        )
    assert second.status == "success"
    for run in (first, second):
        _, used = await rows(rig, "usage", run.run_id)
        assert used["model_calls"] == 1


async def test_a_call_of_a_cancelled_run_counts_by_its_estimate(rig: Rig) -> None:
    scripted = model(hangs())
    rig.factories["agent"] = lambda: create_agent(scripted, [])
    async with rig.working():
        run = await rig.start(uuid4(), "agent", input=INPUT)
        async with asyncio.timeout(10):
            while not await rows(rig, "model_calls", run.run_id):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        await rig.runs.cancel(run.run_id, owner=ALICE)
        assert (await rig.ended(run)).status == "cancelled"
    _, used = await rows(rig, "usage", run.run_id)
    assert (used["model_calls"], used["estimated_calls"], used["output_tokens"]) == (1, 1, 0)
    assert used["input_tokens"] > 0


async def test_a_model_that_is_called_synchronously_counts(rig: Rig) -> None:
    scripted = model(says("In a thread."), says("On the loop."))

    def in_thread(state: MessagesState) -> Any:
        return {"messages": [scripted.invoke(state["messages"])]}

    async def on_loop(state: MessagesState) -> Any:
        return {"messages": [scripted.invoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node(in_thread).add_node(on_loop)
    graph.add_edge(START, "in_thread").add_edge("in_thread", "on_loop")
    async with rig.working():
        run = await talk(rig, graph.compile())
    messages = (await rig.state(run.thread_id, "agent")).values["messages"]
    _, used = await rows(rig, "usage", run.run_id)
    assert (used["input_tokens"], used["output_tokens"]) == own_count(scripted, messages)


async def test_a_statement_whose_reply_is_lost_counts_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, lost = psycopg.AsyncConnection.execute, set()

    async def execute(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        result = await real(self, query, *args, **kwargs)
        text = query if isinstance(query, str) else bytes(query).decode()
        for name in ("INTO engine.model_calls", "UPDATE engine.model_calls"):
            if name in text and name not in lost:
                lost.add(name)
                raise psycopg.OperationalError("the reply is lost")
        return result

    monkeypatch.setattr(psycopg.AsyncConnection, "execute", execute)
    scripted = model(calls("sound", where="bow"), says("40 m."))
    async with rig.working():
        run = await talk(rig, create_agent(scripted, [sound]))
    assert len(lost) == 2
    _, used = await rows(rig, "usage", run.run_id)
    assert used["model_calls"] == 2
    assert await rows(rig, "model_calls", run.run_id) == []


async def test_usage_survives_its_thread_and_shows_each_owner_theirs(rig: Rig) -> None:
    async with rig.working():
        run = await talk(rig, create_agent(model(says("Deep.")), []))
        await talk(rig, create_agent(model(says("Deeper.")), []), owner=BOB)
    await rig.threads.delete(run.thread_id, owner=ALICE)
    alice, bob = await report(rig, "day"), await report(rig, "day", BOB)
    assert (alice.total.runs, alice.total.model_calls) == (1, 1)
    assert (bob.total.runs, bob.total.model_calls) == (1, 1)
    assert [line.key for line in alice.lines] == [datetime.now(UTC).strftime("%Y-%m-%d")]
    everyone = await UsageReports(rig.pool).all(by="user", **WINDOW)
    assert [line.key for line in everyone.lines] == ["alice/alice@a", "bob/bob@b"]
    assert everyone.total.runs == 2
