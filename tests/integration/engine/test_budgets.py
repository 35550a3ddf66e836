"""A budget that is used up refuses new runs, and stops those that work at their next model call."""

import asyncio
import gc
from collections.abc import AsyncIterator
from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, QUICK, QUICK_LIMITS, Rig
from langchain.agents import create_agent
from langchain_core.tools import tool

from bathysphere import AgentSpec, build
from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.engine.errors import BudgetExceeded
from bathysphere.engine.records import Work
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.engine.usage.budgets import Budget, BudgetDefaults, Budgets
from bathysphere.models.prices import Price
from bathysphere.models.resolve import NAME_KEY
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.services import open_worker
from bathysphere.testing import ScriptedChatModel, calls, says

pytestmark = pytest.mark.services
INPUT = {"messages": [{"role": "user", "content": "How deep is it here?"}]}
CAROL = Owner(tenant=ALICE.tenant, user="carol@a")
MODEL = "acme:depth-1"
PRICE = Price(input=1000, output=1000, currency="EUR")


@tool
def sound() -> str:
    """Measure the depth."""
    return "40 m"


@pytest.fixture
async def budgets(rig: Rig) -> AsyncIterator[Budgets]:
    """Budgets that are read anew each time."""
    yield Budgets(rig.pool, clock=SystemClock(), fresh_seconds=0)
    async with rig.pool.connection() as connection:
        await connection.execute("TRUNCATE engine.budgets")


async def use(rig: Rig, tokens: int, owner: Owner = ALICE, *, month: str = "0 months") -> None:
    async with rig.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO engine.usage (run_id, model, currency, tenant, owner, graph, model_calls,"
            " estimated_calls, input_tokens, output_tokens, tool_calls, seconds, cost, finished_at)"
            " VALUES (%s, 'm', 'EUR', %s, %s, 'g', 1, 0, %s, 0, 0, 0, %s,"
            " now() - %s::interval)",
            (uuid4(), owner.tenant, owner.user, tokens, Decimal(tokens) / 100, month),
        )


async def test_a_users_budget_is_their_own(rig: Rig, budgets: Budgets) -> None:
    await budgets.set(Budget(ALICE.tenant, ALICE.user, "tokens", Decimal(100)))
    await use(rig, 99)
    assert await budgets.spent(ALICE) is None
    await use(rig, 1)
    spent = await budgets.spent(ALICE)
    assert spent is not None
    assert spent.sentence == "The budget of this user is used up: 100 tokens per month"
    assert await budgets.spent(CAROL) is None
    assert await budgets.spent(BOB) is None


async def test_a_tenants_budget_counts_all_its_users(rig: Rig, budgets: Budgets) -> None:
    await budgets.set(Budget(ALICE.tenant, "", "EUR", Decimal(1)))
    await use(rig, 60)
    assert await budgets.spent(CAROL) is None
    await use(rig, 60, CAROL)
    for owner in (ALICE, CAROL):
        spent = await budgets.spent(owner)
        assert spent is not None
        assert (spent.scope, spent.unit) == ("tenant", "EUR")
    assert await budgets.spent(BOB) is None


async def test_last_month_is_over(rig: Rig, budgets: Budgets) -> None:
    await budgets.set(Budget(ALICE.tenant, ALICE.user, "tokens", Decimal(10)))
    await use(rig, 50, month="1 month")
    assert await budgets.spent(ALICE) is None


async def test_a_default_applies_where_none_was_set(rig: Rig, budgets: Budgets) -> None:
    defaults = BudgetDefaults(user_tokens=10)
    general = Budgets(rig.pool, clock=SystemClock(), defaults=defaults, fresh_seconds=0)
    await use(rig, 10)
    await use(rig, 10, BOB)
    await budgets.set(Budget(ALICE.tenant, ALICE.user, "tokens", Decimal(1000)))
    assert await general.spent(ALICE) is None
    assert await general.spent(BOB) is not None


async def test_calls_that_go_on_count(rig: Rig, budgets: Budgets) -> None:
    await budgets.set(Budget(ALICE.tenant, ALICE.user, "tokens", Decimal(10)))
    async with rig.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO engine.model_calls (call_id, run_id, tenant, owner, graph, model,"
            " input_tokens, tool_calls, seconds) VALUES (%s, %s, %s, %s, 'g', 'm', 10, 0, 0)",
            (uuid4(), uuid4(), ALICE.tenant, ALICE.user),
        )
    assert await budgets.spent(ALICE) is not None


async def test_a_new_run_is_refused_and_a_repeated_request_is_not(
    rig: Rig, budgets: Budgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig.runs, "_budgets", budgets)
    runs = rig.runs
    await budgets.set(Budget(ALICE.tenant, ALICE.user, "tokens", Decimal(10)))
    work = Work(input={})
    new = NewRun(thread_id=uuid4(), graph="steps", work=work, run_id=uuid4(), creates_thread=True)
    first = await runs.create(new, owner=ALICE)
    await use(rig, 10)
    again = await runs.create(new, owner=ALICE)
    assert (again.run.run_id, again.is_new) == (first.run.run_id, False)
    other = replace(new, run_id=uuid4())
    with pytest.raises(BudgetExceeded, match="10 tokens per month"):
        await runs.create(other, owner=ALICE)
    async with rig.pool.connection() as connection, connection.transaction():
        with pytest.raises(BudgetExceeded):
            await runs.create_within(connection, other, owner=ALICE)
        with pytest.raises(BudgetExceeded):
            await runs.enqueue(connection, other, owner=ALICE)


async def test_budgets_that_cannot_be_read_stop_nobody(
    rig: Rig, budgets: Budgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost() -> Any:
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr(budgets, "list", lost)
    assert await budgets.spent(ALICE) is None


async def stopped_run(rig: Rig, budgets: Budgets, graph: Any) -> Any:
    await budgets.set(Budget(ALICE.tenant, ALICE.user, "EUR", Decimal("0.001")))
    rig.factories["agent"] = lambda: graph
    worker = await open_worker(
        replace(rig.services, budgets=budgets),
        metrics=Metrics(),
        limits=QUICK_LIMITS,
        options=QUICK,
        price_of={MODEL: PRICE}.get,
    )
    task = asyncio.create_task(worker.run())
    ended = await rig.ended(await rig.start(uuid4(), "agent", input=INPUT))
    worker.drain()
    await task
    return ended


async def test_a_running_agent_ends_with_a_sentence(rig: Rig, budgets: Budgets) -> None:
    model = ScriptedChatModel(
        script=[calls("sound"), says("It is 40 m.")], metadata={NAME_KEY: MODEL}
    )
    spec = AgentSpec(name="agent", model=model, tools=[sound])
    run = await stopped_run(rig, budgets, build(spec))
    assert run.status == "success"
    values = (await rig.state(run.thread_id, "agent")).values
    assert values["messages"][-1].text == (
        "Stopped: the budget of this user is used up: 0.001 EUR per month."
    )
    assert values["usage"]["stopped"]["limit"] == "budget"
    assert len(model.requests) == 1


async def test_a_graph_without_limits_ends_with_the_error(rig: Rig, budgets: Budgets) -> None:
    model = ScriptedChatModel(
        script=[calls("sound"), says("It is 40 m.")], metadata={NAME_KEY: MODEL}
    )
    run = await stopped_run(rig, budgets, create_agent(model, [sound]))
    assert (run.status, run.error["code"]) == ("error", "budget_exceeded")
    gc.collect()  # a coroutine that was never awaited is a warning, and so an error here
    assert len(model.requests) == 1
