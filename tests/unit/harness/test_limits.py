"""Limits bind the whole tree of agents, and reaching one is an ordinary end."""

import asyncio
import time

import pytest
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from trees import by_role, calls, results, run, says, send_out, tree

from bathysphere.core.usage import Limits, total
from bathysphere.harness.build import build
from bathysphere.testing import ScriptedChatModel, hangs, together


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"saw {what}"


def busy_tree(workers: int = 3, each: int = 5) -> ScriptedChatModel:
    """One main agent and parallel workers that would make 1 + workers * (each + 1) + 1 calls."""
    return by_role(
        main=lambda n: says("all done") if n else send_out(*"abcdefgh"[:workers]),
        worker=lambda who, n: calls("look", what=f"{who}{n}") if n < each else says(f"{who} done"),
    )


@pytest.mark.parametrize("allowed", range(1, 21))
def test_a_limit_of_n_model_calls_is_exactly_n_calls(mode, allowed):
    model = busy_tree()
    state = run(tree(model, look, limits=Limits(model_calls=allowed)), mode)
    needed = 1 + 3 * 6 + 1
    assert len(model.requests) == min(allowed, needed)
    used = total(state["usage"])
    assert used.model_calls == min(allowed, needed)
    if allowed < needed:
        assert used.stopped == {"limit": "model_calls", "max": allowed}
        assert state["messages"][-1].text == (
            f"Stopped: this run reached its limit of {allowed} model calls."
        )
    else:
        assert used.stopped is None
        assert state["messages"][-1].text == "all done"


@pytest.mark.parametrize("allowed", [1, 2, 3, 7, 12])
def test_a_limit_of_n_tool_calls_is_exactly_n_calls(mode, allowed):
    seen = []

    @tool
    def look(what: str) -> str:
        """Look at something."""
        seen.append(what)
        return what

    model = busy_tree()
    state = run(tree(model, look, limits=Limits(tool_calls=allowed)), mode)
    used = total(state["usage"])
    assert used.stopped == {"limit": "tool_calls", "max": allowed}
    sent_out = sum(not result.startswith("Skipped") for result in results(state))
    assert len(seen) + sent_out == used.tool_calls == allowed  # `task` is a tool call too
    assert "tool calls" in state["messages"][-1].text


def test_tokens_of_all_agents_add_up_to_the_limit(mode):
    model = busy_tree()
    state = run(tree(model, look, limits=Limits(tokens=600)), mode)
    used = total(state["usage"])
    assert used.stopped == {"limit": "tokens", "max": 600}
    assert used.tokens >= 600
    assert len(model.requests) < 20


async def test_working_time_ends_a_hanging_model_call(within):
    spec = tree(ScriptedChatModel(script=[hangs()]), limits=Limits(seconds=0.2))
    start = time.monotonic()
    state = await build(spec).ainvoke({"messages": [("user", "go")]})
    within(time.monotonic() - start, 5)
    assert total(state["usage"]).stopped == {"limit": "seconds", "max": 0.2}
    assert "0.2 seconds of working time" in state["messages"][-1].text


async def test_waiting_for_a_person_is_not_working_time():
    model = ScriptedChatModel(script=[calls("look", what="x"), says("done")])
    spec = tree(model, look, approvals={"look": True}, limits=Limits(seconds=2))
    graph = build(spec, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    paused = await graph.ainvoke({"messages": [("user", "go")]}, config)
    await asyncio.sleep(2.5)
    answers = {i.id: {"type": "approve"} for i in paused["__interrupt__"]}
    state = await graph.ainvoke(Command(resume=answers), config)
    assert state["messages"][-1].text == "done"
    assert total(state["usage"]).seconds < 1


def test_every_message_of_the_person_starts_a_new_count(mode):
    model = ScriptedChatModel(script=[says("one"), says("two"), says("three")])
    graph = build(tree(model, limits=Limits(model_calls=1)), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    for expected in ("one", "two", "three"):
        given = {"messages": [("user", "go")]}
        if mode == "sync":
            state = graph.invoke(given, config)
        else:
            state = asyncio.run(graph.ainvoke(given, config))
        assert state["messages"][-1].text == expected
        assert total(state["usage"]).model_calls == 1


def test_a_run_that_pauses_keeps_its_count_when_it_resumes(mode):
    model = ScriptedChatModel(script=[calls("look", what="x"), calls("look", what="y")])
    spec = tree(model, look, approvals={"look": True}, limits=Limits(model_calls=2))
    graph = build(spec, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}

    def step(given):
        if mode == "sync":
            return graph.invoke(given, config)
        return asyncio.run(graph.ainvoke(given, config))

    state = step({"messages": [("user", "go")]})
    for _ in range(2):
        state = step(Command(resume={i.id: {"type": "approve"} for i in state["__interrupt__"]}))
    used = total(state["usage"])
    assert (used.model_calls, used.tool_calls) == (2, 2)
    assert used.stopped == {"limit": "model_calls", "max": 2}
    model.assert_done()


def test_a_run_counts_the_same_after_it_went_on_in_another_process(monkeypatch):
    from bathysphere.core.live import RecentRuns
    from bathysphere.core.usage import Meter
    from bathysphere.middleware import limits

    model = ScriptedChatModel(script=[calls("look", what=str(n)) for n in range(3)])
    spec = tree(model, look, approvals={"look": True}, limits=Limits(model_calls=3))
    graph = build(spec, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    state = graph.invoke({"messages": [("user", "go")]}, config)
    while "__interrupt__" in state:
        monkeypatch.setattr(limits, "_meters", RecentRuns(Meter))  # nothing is remembered here
        answers = {i.id: {"type": "approve"} for i in state["__interrupt__"]}
        state = graph.invoke(Command(resume=answers), config)
    assert total(state["usage"]).stopped == {"limit": "model_calls", "max": 3}
    model.assert_done()


def test_a_summary_counts_as_a_model_call(mode):
    def answer(messages):
        asked_for_summary = len(messages) == 1 and messages[0].text != "go"
        if asked_for_summary:
            return says("in short")
        return calls("look", what=f"{len(model.requests)} " + "x" * 4000)

    model = ScriptedChatModel(answer=answer)
    model.profile = {"max_input_tokens": 12_000}
    state = run(tree(model, look, limits=Limits(model_calls=40)), mode)
    assert total(state["usage"]).stopped == {"limit": "model_calls", "max": 40}
    assert len(model.requests) == 40
    assert any(len(request) == 1 and request[0].text != "go" for request in model.requests)


def test_a_call_that_is_not_run_says_why(mode):
    model = ScriptedChatModel(script=[together(calls("look", what="a"), calls("look", what="b"))])
    state = run(tree(model, look, limits=Limits(tool_calls=1)), mode)
    assert sorted(results(state)) == [
        "Skipped: this run reached its limit of 1 tool calls.",
        "saw a" if "saw a" in results(state) else "saw b",
    ]


def test_a_limit_must_make_sense():
    with pytest.raises(ValueError, match="model_calls must be positive"):
        Limits(model_calls=0)


def test_a_call_that_pauses_counts_once_however_often_it_is_entered():
    from langgraph.types import interrupt

    @tool
    def ask(what: str) -> str:
        """Ask the person."""
        return str(interrupt(what))

    model = by_role(
        main=lambda n: says("all back") if n else send_out("a"),
        worker=lambda who, n: says("done") if n else calls("ask", what="?"),
    )
    graph = build(tree(model, ask), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    state = graph.invoke({"messages": [("user", "go")]}, config)
    state = graph.invoke(Command(resume={i.id: "yes" for i in state["__interrupt__"]}), config)
    assert state["messages"][-1].text == "all back"
    assert total(state["usage"]).tool_calls == 2  # `task` and `ask`, each entered twice


@pytest.mark.parametrize("workers", [1, 4])
def test_working_time_in_subagents_is_no_more_than_the_wall_clock(mode, workers):
    @tool
    def look(what: str) -> str:
        """Look at something."""
        time.sleep(0.02)
        return what

    began = time.monotonic()
    state = run(tree(busy_tree(workers, each=8), look, limits=Limits(seconds=60)), mode)
    wall = time.monotonic() - began
    assert 8 * 0.02 <= total(state["usage"]).seconds <= wall
