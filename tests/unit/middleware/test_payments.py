"""Payments: charged before the call, once for an answer, in every agent; off without a purse."""

import asyncio
import itertools
from dataclasses import fields

import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from bathysphere.core.errors import ConfigError
from bathysphere.core.payments import NotDurable
from bathysphere.core.run_context import RunContext
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.middleware.payments.middleware import DECLINED
from bathysphere.payments.pricing import Price
from bathysphere.testing import ScriptedChatModel, calls, fails, hangs, says, slowly, together
from bathysphere.testing.purse import MemoryPurse


class Died(BaseException):
    """The process went away; nothing of ours may catch that."""


def dies_at(purse, door, time=0):
    """Let the process die at the purse's door, the n-th time it comes there."""
    seen = itertools.count()

    def die(here):
        if here == door and next(seen) == time:
            raise Died(door)

    purse.at = die


@tool
def look(what: str) -> str:
    """Look."""
    return f"seen {what}"


class World:
    """One thread of a paid agent."""

    def __init__(self, *script, balance=1000, price=None, answer=None, **fields):
        self.purse = MemoryPurse(balance, price)
        self.model = ScriptedChatModel(script=[*script]) if script else None
        if answer is not None:
            self.model = ScriptedChatModel(answer=answer)
        fields = {"tools": (look,), **fields}
        spec = AgentSpec(name="paid", model=self.model, **fields)
        self.graph = build(spec, checkpointer=InMemorySaver())
        self.config = {"configurable": {"thread_id": "1"}}

    async def step(self, given, **options):
        options = {"durability": "sync", "context": RunContext(payments=self.purse), **options}
        return await self.graph.ainvoke(given, self.config, **options)

    async def start(self, **options):
        return await self.step({"messages": [("user", "go")]}, **options)

    @property
    def called(self):
        return len(self.model.requests)


def asked(state):
    return [question.value for question in state["__interrupt__"]]


STEPS = (calls("look", what="a"), calls("look", what="b"), says("done"))


async def test_an_answer_that_is_asked_for_again_is_two_calls_and_two_charges():
    world = World(says(""), says("done"), balance=100)
    state = await world.start()
    assert state["messages"][-1].text == "done"
    assert (world.purse.spent, world.called) == (20, 2)
    assert world.purse.statuses == ["done"] * 2


async def test_each_model_call_is_charged_once_and_shown():
    world = World(*STEPS, balance=100)
    state = await world.start()
    assert (world.purse.spent, world.purse.balance, world.called) == (30, 70, 3)
    assert (state["payment_spent_sats"], state["payment_balance_sats"]) == (30, 70)
    assert state["payment_status"] == "paid"
    assert world.purse.statuses == ["done"] * 3


async def test_without_a_purse_nothing_is_charged_and_nothing_needs_to_be_durable():
    world = World(*STEPS)
    state = await world.start(context=None, durability="async")
    assert (world.purse.charges, world.called) == ({}, 3)
    assert "payment_balance_sats" not in state


DOORS = ["before charge", "after charge", "before complete", "after complete"]


@pytest.mark.parametrize("door", DOORS)
async def test_a_process_that_dies_anywhere_is_charged_once_for_each_answer(door):
    world = World(*STEPS[:1], says("again") if door == "before complete" else STEPS[1], *STEPS[1:])
    dies_at(world.purse, door)
    with pytest.raises(Died):
        await world.start()
    state = await world.step(None)
    while state["messages"][-1].text not in ("done", "again"):
        state = await world.step(None)
    assert world.purse.spent == 10 * sum(m.type == "ai" for m in state["messages"])
    # Only one who dies between the answer and writing it down asks the model twice.
    repeats = 1 if door == "before complete" else 0
    assert world.called == sum(m.type == "ai" for m in state["messages"]) + repeats


async def test_an_answer_that_was_paid_for_is_given_back_whole():
    world = World(together(calls("look", what="a"), calls("look", what="b")), says("done"))
    dies_at(world.purse, "after complete")
    with pytest.raises(Died):
        await world.start()
    state = await world.step(None)
    assert [m.text for m in state["messages"] if m.type == "tool"] == ["seen a", "seen b"]
    assert world.called == 2


async def test_reaching_zero_asks_before_the_call_until_it_is_paid():
    world = World(*STEPS, balance=25)
    paused = await world.start()
    assert asked(paused) == [
        {
            "type": "payment_exhausted",
            "reason": "insufficient",
            "needed_sats": 10,
            "balance_sats": 5,
            "suggested_sats": 100,
            "mint": "http://mint",
            "unit": "sat",
            "request": "creqA",
            "hint": None,
            "error": None,
        }
    ]
    assert world.called == 2
    refused = await world.step(Command(resume={"token": "garbage"}))
    assert asked(refused)[0]["error"] == {"code": "no_token", "message": "Not a token"}
    small = await world.step(Command(resume={"token": "worth 2"}))
    assert asked(small)[0]["balance_sats"] == 7
    replayed = await world.step(Command(resume={"token": "worth 2"}))
    assert asked(replayed)[0]["balance_sats"] == 7
    elsewhere = await world.step(Command(resume={"action": "retry"}))
    assert asked(elsewhere)[0]["balance_sats"] == 7
    state = await world.step(Command(resume={"token": "worth 50"}))
    assert state["messages"][-1].text == "done"
    assert (world.called, world.purse.spent, world.purse.balance) == (3, 30, 47)


async def test_a_person_who_declines_gets_an_answer_that_says_so():
    world = World(*STEPS[:2], balance=25)
    await world.start()
    state = await world.step(Command(resume={"action": "decline"}))
    assert state["messages"][-1].text == DECLINED
    assert (world.called, world.purse.spent, state["payment_status"]) == (2, 20, "declined")


@pytest.mark.parametrize("answer", [{}, {"token": ""}, {"action": "steal"}, {"token": 5}, "token"])
async def test_an_invalid_answer_is_refused_and_can_be_corrected(answer):
    world = World(says("done"), balance=0)
    await world.start()
    resume = Command(resume={next(iter((await _pending(world)).keys())): answer})
    with pytest.raises(ValueError, match="validation error"):
        await world.step(resume)
    state = await world.step(Command(resume={"token": "worth 50"}))
    assert state["messages"][-1].text == "done"


async def _pending(world):
    state = await world.graph.aget_state(world.config)
    return {question.id: question for question in state.interrupts}


async def test_a_failed_call_costs_nothing_and_is_charged_when_it_is_tried_again():
    world = World(calls("look", what="a"), fails(RuntimeError("away")), says("done"))
    with pytest.raises(RuntimeError, match="away"):
        await world.start()
    assert (world.purse.spent, world.purse.statuses) == (10, ["done", "voided"])
    state = await world.step(None)
    assert state["messages"][-1].text == "done"
    assert (world.purse.spent, world.purse.statuses) == (20, ["done", "done"])


@pytest.mark.parametrize(
    ("turn", "is_streamed"),
    [(slowly(says("one two three four five"), pause=0.2), True), (hangs(), False)],
    ids=["streaming", "silent"],
)
async def test_a_call_that_is_cut_off_says_whether_it_streamed(turn, is_streamed):
    world = World(turn, says("done"), balance=100)
    options = {"durability": "sync", "context": RunContext(payments=world.purse)}

    async def read():
        given = {"messages": [("user", "go")]}
        async for _ in world.graph.astream(given, world.config, stream_mode="messages", **options):
            first.set()

    first = asyncio.Event()
    task = asyncio.create_task(read())
    try:
        await asyncio.wait_for(first.wait(), 5 if is_streamed else 0.5)
    except TimeoutError:
        assert not is_streamed
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.purse.streamed == (set(world.purse.charges) if is_streamed else set())


async def test_a_call_that_is_cancelled_under_way_stays_charged_once():
    world = World(hangs(), says("done"))
    task = asyncio.create_task(world.start())
    async with asyncio.timeout(5):
        while world.called == 0:  # noqa: ASYNC110  # the model has no event to wait for
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (world.purse.spent, world.purse.statuses) == (10, ["kept"])
    await world.step(None)
    assert (world.purse.spent, world.purse.statuses) == (10, ["done"])


async def test_what_a_client_writes_into_state_is_not_believed():
    world = World(says("done"), balance=5)
    state = await world.step(
        {"messages": [("user", "go")], "payment_balance_sats": 10**9, "payment_status": "paid"}
    )
    assert asked(state)[0]["balance_sats"] == 5
    assert world.called == 0


async def test_a_step_that_is_taken_from_an_old_checkpoint_is_charged_again():
    world = World(*STEPS, *STEPS[1:])
    await world.start()
    history = [state async for state in world.graph.aget_state_history(world.config)]
    old = next(
        s for s in reversed(history) if s.next == ("model",) and len(s.values["messages"]) == 3
    )
    world.config = old.config
    await world.step(None)
    assert (world.called, world.purse.spent) == (5, 50)


@pytest.mark.parametrize("durability", ["async", "exit", None])
async def test_a_paid_run_that_is_not_durable_is_refused_before_anything_is_charged(durability):
    world = World(says("done"))
    with pytest.raises(NotDurable):
        await world.start(durability=durability)
    assert (world.called, world.purse.charges) == (0, {})


async def test_a_paid_run_without_checkpoints_is_refused():
    model = ScriptedChatModel(script=[says("done")])
    graph = build(AgentSpec(name="paid", model=model))
    with pytest.raises(NotDurable):
        await graph.ainvoke(
            {"messages": [("user", "go")]},
            context=RunContext(payments=MemoryPurse(100)),
        )
    assert model.requests == []


def test_a_paid_run_must_be_async():
    world = World(says("done"))
    with pytest.raises(ConfigError, match="async"):
        world.graph.invoke(
            {"messages": [("user", "go")]},
            world.config,
            context=RunContext(payments=world.purse),
            durability="sync",
        )


# ── the whole tree ──


WORKER = SubagentSpec(name="worker", description="Works.")


def send_out(*whats):
    return together(*(calls("task", description=w, subagent_type="worker") for w in whats))


def tree(main, worker):
    def answer(messages):
        first = next(m.text for m in messages if m.type == "human")
        number = sum(m.type == "ai" for m in messages)
        return main[number] if first == "go" else worker[number]

    return answer


async def test_every_subagent_pays_and_two_that_wait_share_one_token():
    world = World(
        answer=tree([send_out("x", "y"), says("done")], [calls("look", what="a"), says("ok")]),
        balance=30,
        subagents=(WORKER,),
    )
    paused = await world.start()
    assert len(paused["__interrupt__"]) == 2
    answers = {q.id: {"token": "worth 40"} for q in paused["__interrupt__"]}
    state = await world.step(Command(resume=answers))
    assert state["messages"][-1].text == "done"
    assert (world.called, world.purse.spent, world.purse.balance) == (6, 60, 10)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("call", range(4))
async def test_a_subagent_that_dies_anywhere_is_charged_once_for_each_answer(door, call):
    world = World(
        answer=tree([send_out("x"), says("done")], [calls("look", what="a"), says("ok")]),
        subagents=(WORKER,),
    )
    dies_at(world.purse, door, call)
    with pytest.raises(Died):
        await world.start()
    state = await world.step(None)
    assert state["messages"][-1].text == "done"
    assert (world.purse.spent, world.purse.statuses) == (40, ["done"] * 4)
    assert world.called == (5 if door == "before complete" else 4)


class AskTwice(AgentMiddleware):
    """A layer that asks the model again, as some do to mend an answer."""

    async def awrap_model_call(self, request, handler):
        await handler(request)
        return await handler(request)


async def test_a_call_that_another_layer_repeats_is_paid_for_itself():
    world = World(says("first"), says("second"), middleware=(AskTwice(),))
    state = await world.start()
    assert state["messages"][-1].text == "second"
    assert (world.called, world.purse.spent) == (2, 20)


class Insist(AgentMiddleware):
    """A layer that tries again when the model fails."""

    async def awrap_model_call(self, request, handler):
        try:
            return await handler(request)
        except RuntimeError:
            return await handler(request)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("call", [0, 1])
async def test_a_call_that_failed_and_was_tried_again_is_one_call_through_a_crash(door, call):
    script = [fails(RuntimeError("away")), says("done"), says("done"), says("done")]
    world = World(*script, middleware=(Insist(),))
    dies_at(world.purse, door, call)
    try:
        state = await world.start()
    except Died:
        state = await world.step(None)
    assert [m.text for m in state["messages"] if m.type == "ai"] == ["done"]
    assert (world.purse.spent, world.purse.statuses) == (10, ["done"])


async def test_a_pause_between_two_calls_of_one_step_repeats_neither():
    world = World(says("first"), says("second"), middleware=(AskTwice(),), balance=10)
    paused = await world.start()
    assert (len(asked(paused)), world.called) == (1, 1)
    state = await world.step(Command(resume={"token": "worth 10"}))
    assert state["messages"][-1].text == "second"
    assert (world.called, world.purse.spent, world.purse.balance) == (2, 20, 0)


async def test_a_pause_for_money_does_not_use_up_a_limit():
    from bathysphere.core.usage import Limits

    world = World(*STEPS, balance=0, limits=Limits(model_calls=3))
    await world.start()
    state = await world.step(Command(resume={"token": "worth 100"}))
    assert state["messages"][-1].text == "done"
    assert state["usage"]["by"][""][0] == 3


async def test_a_call_that_a_limit_refuses_is_not_charged():
    from bathysphere.core.usage import Limits

    world = World(*STEPS[:2], limits=Limits(model_calls=2))
    await world.start()
    assert (world.called, world.purse.spent) == (2, 20)


def summarising(balance):
    """A thread whose history does not fit the window."""

    def answer(messages):
        asked_for_summary = len(messages) == 1 and messages[0].text != "go"
        if asked_for_summary:
            return says("in short")
        seen = len(model.requests)
        return calls("look", what=f"{seen} " + "x" * 4000) if seen < 20 else says("done")

    model = ScriptedChatModel(answer=answer)
    model.profile = {"max_input_tokens": 12_000}
    world = World(says(""), balance=balance)
    world.model = model
    spec = AgentSpec(name="paid", model=model, tools=(look,))
    world.graph = build(spec, checkpointer=InMemorySaver())
    return world


@pytest.mark.parametrize("balance", [10_000, 125])
async def test_a_summary_is_a_model_call_and_is_paid_for(balance):
    world = summarising(balance)
    state = await world.start()
    while "__interrupt__" in state:
        state = await world.step(Command(resume={"token": f"worth {10 + len(world.purse.tokens)}"}))
    assert state["messages"][-1].text == "done"
    summaries = sum(len(r) == 1 and r[0].text != "go" for r in world.model.requests)
    assert summaries >= 1
    assert world.purse.spent == 10 * world.called
    assert set(world.purse.statuses) == {"done"}


async def test_a_declined_summary_ends_the_run_with_a_sentence():
    world, rich = summarising(10_000), summarising(10_000)
    await rich.start()
    is_summary = [len(r) == 1 and r[0].text != "go" for r in rich.model.requests]
    world.purse.balance = 10 * is_summary.index(True)  # the summary is the first that is not paid
    state = await world.start()
    assert world.called == is_summary.index(True)
    while "__interrupt__" in state:
        state = await world.step(Command(resume={"action": "decline"}))
    assert state["messages"][-1].text == DECLINED
    assert (world.purse.balance, world.called) == (0, is_summary.index(True))


# ── tokens ──


async def test_tokens_are_reserved_before_and_only_what_was_used_stays():
    price = Price(step=1, per_1k_input=100, per_1k_output=1000, reserved_output=500)
    world = World(says("x" * 400), balance=10_000, price=price)
    before = world.purse.balance
    seen = []
    charge = world.purse.charge

    async def watch(key, amount):
        seen.append(amount)
        return await charge(key, amount)

    world.purse.charge = watch
    state = await world.start()
    used = state["messages"][-1].usage_metadata
    cost = 1 + -(-(100 * used["input_tokens"] + 1000 * used["output_tokens"]) // 1000)
    assert world.purse.spent == before - world.purse.balance == cost
    assert seen[0] >= 500 > cost - 1


def with_tokens(turn, tokens):
    """The turn, with so many tokens as a provider would report them."""
    counted = type("CountedTurn", (type(turn),), {"tokens": tokens, "__slots__": ()})
    return counted(**{field.name: getattr(turn, field.name) for field in fields(turn)})


class Verbose(ScriptedChatModel):
    """Answers 32,000 tokens unless it is limited, as a provider would cut it."""

    max_tokens: int | None = None

    def _take(self, messages, kwargs):
        turn = super()._take(messages, kwargs)
        limit = kwargs.get("max_tokens") or self.max_tokens or 32_000
        return with_tokens(turn, min(32_000, limit))


PER_TOKEN = Price(step=1, per_1k_output=10, reserved_output=4_000)


def verbose(model, **options):
    world = World(says("unused"), balance=1_000, price=PER_TOKEN)
    world.model = model
    spec = AgentSpec(name="paid", model=model, tools=(), **options)
    world.graph = build(spec, checkpointer=InMemorySaver())
    return world


async def test_the_model_is_limited_to_the_output_that_was_paid_for():
    world = verbose(Verbose(script=[says("a long answer")]))
    state = await world.start()
    assert state["messages"][-1].usage_metadata["output_tokens"] == 4_000
    assert (world.purse.spent, world.purse.shortfall) == (41, 0)


async def test_a_lower_limit_of_the_model_stays():
    world = verbose(Verbose(script=[says("a long answer")], max_tokens=1_000))
    await world.start()
    assert (world.purse.spent, world.purse.shortfall) == (11, 0)


async def test_a_layer_cannot_raise_the_limit():
    class Raise(AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            return await handler(request.override(model_settings={"max_tokens": 32_000}))

    world = verbose(Verbose(script=[says("a long answer")]), middleware=(Raise(),))
    await world.start()
    assert (world.purse.spent, world.purse.shortfall) == (41, 0)


async def test_what_a_model_without_limits_costs_beyond_its_charge_is_written_down():
    class Unlimited(Verbose):
        def _take(self, messages, kwargs):
            return with_tokens(super()._take(messages, kwargs), 32_000)

    world = verbose(Unlimited(script=[says("a long answer")]))
    await world.start()
    assert (world.purse.spent, world.purse.shortfall) == (41, 280)


async def test_a_summary_is_limited_and_costs_what_its_model_reports():
    def answer(messages):
        if len(messages) == 1 and messages[0].text != "go":
            return says("in short")
        seen = len(model.requests)
        return calls("look", what=f"{seen} " + "x" * 4000) if seen < 8 else says("done")

    model = Verbose(answer=answer)
    model.profile = {"max_input_tokens": 12_000}
    world = verbose(model)
    spec = AgentSpec(name="paid", model=model, tools=(look,))
    world.graph = build(spec, checkpointer=InMemorySaver())
    await world.start()
    assert any(len(r) == 1 and r[0].text != "go" for r in model.requests)
    assert {amount for amount, _, _ in world.purse.charges.values()} == {41}
    assert world.purse.shortfall == 0


async def test_tools_and_chinese_are_reserved_at_their_worth():
    seen = []
    price = Price(step=1, per_1k_input=1_000)
    world = World(says("ok"), balance=1_000_000, price=price, tools=(look,))
    world.purse.at = lambda door: seen.append(world.purse.balance)
    await world.step({"messages": [("user", "日" * 34_000)]})
    reserved = seen[0] - seen[1]
    assert reserved >= 34_000 + sum(len(str(s)) for s in world.model.tool_schemas())


class Report(BaseModel):
    text: str


async def test_a_structured_answer_survives_a_death_after_it_was_paid_for():
    world = World(calls("Report", text="a"), response_format=Report, tools=(), subagents=())
    dies_at(world.purse, "after complete")
    with pytest.raises(Died):
        await world.start()
    state = await world.step(None)
    assert state["structured_response"] == Report(text="a")
    assert world.called == 1
