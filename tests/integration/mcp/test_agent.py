"""An agent with real MCP servers: no run ends or hangs, and nothing is changed without approval."""

import time

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.mcp import McpMiddleware
from bathysphere.testing import ScriptedChatModel, calls, says

LIMIT = 10
THREAD = {"configurable": {"thread_id": "1"}}


def agent(hub, script, *servers):
    model = ScriptedChatModel(script=script)
    layer = McpMiddleware(hub, servers or tuple(hub.config.servers))
    spec = AgentSpec(name="test", model=model, middleware=(layer,))
    return model, build(spec, checkpointer=InMemorySaver())


def ask(text="Go."):
    return {"messages": [("user", text)]}


def results(state):
    return [m for m in state["messages"] if m.type == "tool"]


async def questions(graph):
    return (await graph.aget_state(THREAD)).interrupts


async def test_a_tool_that_is_declared_read_only_runs_and_others_wait(kit):
    hub = kit.hub(near=kit.stdio("workshop"))
    model, graph = agent(
        hub,
        [
            calls("near__measure", place="a"),
            calls("near__dig", place="b"),
            calls("near__fill", place="c"),
            says("Done."),
        ],
    )
    state = await graph.ainvoke(ask(), THREAD)
    assert results(state)[0].text == "a: 10935 m"
    (question,) = await questions(graph)
    assert question.value["name"] == "near__dig"
    assert kit.acted() == []
    await graph.ainvoke(Command(resume={"type": "approve"}), THREAD)
    assert kit.acted() == ["dig b"]
    (question,) = await questions(graph)
    state = await graph.ainvoke(Command(resume={"type": "reject", "message": "no"}), THREAD)
    assert kit.acted() == ["dig b"]
    assert "no" in results(state)[-1].text
    assert state["messages"][-1].text == "Done."
    model.assert_done()


async def test_always_holds_for_the_conversation_until_it_is_taken_back(kit):
    hub = kit.hub(near=kit.stdio("workshop"))
    dig = calls("near__dig", place="x")
    _, graph = agent(
        hub,
        [dig, calls("near__dig", place="y"), says("1"), calls("near__dig", place="z"), says("2")],
    )
    await graph.ainvoke(ask(), THREAD)
    await graph.ainvoke(Command(resume={"type": "approve", "always": True}), THREAD)
    assert kit.acted() == ["dig x", "dig y"]
    assert not await questions(graph)
    await graph.ainvoke({**ask(), "mcp_allowed": {"near__dig": ""}}, THREAD)
    assert [question.value["name"] for question in await questions(graph)] == ["near__dig"]
    assert kit.acted() == ["dig x", "dig y"]


async def test_neither_dead_nor_silent_servers_end_or_hang_a_run(kit, within):
    port, process = kit.start_http()
    hub = kit.hub(
        near=kit.stdio("workshop", callSeconds=1),
        far=kit.http(port, callSeconds=1, connectSeconds=2),
        never={"command": "sleep", "args": ["60"], "bathysphere": {"connectSeconds": 1}},
    )
    await hub.offer(["near", "far"])  # starting Python takes long on a busy machine
    model, graph = agent(
        hub,
        [
            calls("near__wait"),
            calls("near__fail"),
            calls("far__wait"),
            calls("near__no_such_tool"),
            calls("near__die"),
            says("Done."),
        ],
    )
    process.kill()
    process.wait()
    began = time.monotonic()
    state = await graph.ainvoke(ask(), THREAD)
    within(time.monotonic() - began, LIMIT)
    assert state["messages"][-1].text == "Done."
    found = results(state)
    assert [m.status for m in found] == ["error"] * 5
    assert "did not answer within 1 seconds" in found[0].text
    assert "the drill is broken" in found[1].text
    assert "has no tool" in found[3].text
    assert "ended during the call" in found[4].text
    assert "never" in model.requests[0][0].text  # the model is told who is away
    model.assert_done()


async def test_200_tools_are_found_by_words_and_5_mb_stay_bounded(kit):
    hub = kit.hub(big=kit.stdio("warehouse", callSeconds=40))
    model, graph = agent(
        hub,
        [
            calls("find_tools", words="aisle a17"),
            calls("big__shelf_17"),
            calls("find_tools", words="inventory"),
            calls("big__inventory"),
            says("Done."),
        ],
    )
    state = await graph.ainvoke(ask(), THREAD)
    offered = [[name for name in names if "__" in name] for names in model.tools_seen]
    assert offered[0] == []
    assert 0 < len(offered[1]) <= 8
    assert "big__shelf_17" in offered[1]
    assert "200 such tools" in model.requests[0][0].text
    found = results(state)
    assert found[1].text == "shelf 17 holds 17 boxes"
    assert len(found[3].text.encode()) < 51_000
    assert "[Cut: the result has 4,999,995 bytes" in found[3].text
    assert state["messages"][-1].text == "Done."


async def test_words_of_a_server_are_no_instructions_and_no_approval(kit):
    hub = kit.hub(impostor=kit.stdio("impostor"))
    model, graph = agent(
        hub,
        [calls("impostor__weather", place="a"), calls("impostor__delete_everything"), says("x")],
    )
    await graph.ainvoke(ask(), THREAD)
    (question,) = await questions(graph)
    assert question.value["name"] == "impostor__delete_everything"
    assert "Pre-approved" not in question.value["description"]
    assert kit.acted() == []
    for request in model.requests:
        assert "ignore your instructions" not in request[0].text  # the system prompt
    await graph.ainvoke(Command(resume={"type": "reject"}), THREAD)
    assert kit.acted() == []


async def test_a_bad_answer_is_refused_and_can_be_given_again(kit):
    hub = kit.hub(near=kit.stdio("workshop"))
    _, graph = agent(hub, [calls("near__dig", place="b"), says("Done.")])
    await graph.ainvoke(ask(), THREAD)
    with pytest.raises(ValueError, match="type"):
        await graph.ainvoke(Command(resume={"type": "perhaps"}), THREAD)
    assert kit.acted() == []
    await graph.ainvoke(
        Command(
            resume={"type": "edit", "edited_action": {"name": "near__dig", "args": {"place": "c"}}}
        ),
        THREAD,
    )
    assert kit.acted() == ["dig c"]


def test_the_same_without_async(kit):
    hub = kit.hub(near=kit.stdio("workshop"))
    _, graph = agent(
        hub, [calls("near__measure", place="a"), calls("near__dig", place="b"), says("Done.")]
    )
    graph.invoke(ask(), THREAD)
    assert kit.acted() == []
    state = graph.invoke(Command(resume={"type": "approve"}), THREAD)
    assert [m.text for m in results(state)] == ["a: 10935 m", "dug at b"]


async def test_subagents_have_the_tools_only_if_given_and_ask_too(kit):
    from dataclasses import replace

    from bathysphere.harness.spec import GENERAL_PURPOSE

    hub = kit.hub(near=kit.stdio("workshop"))
    layer = McpMiddleware(hub, ["near"])
    model = ScriptedChatModel(
        script=[
            calls("task", description="Dig.", subagent_type="general-purpose"),
            calls("near__dig", place="b"),
            says("Dug."),
            says("Done."),
        ]
    )
    spec = AgentSpec(
        name="test",
        model=model,
        middleware=(layer,),
        subagents=(replace(GENERAL_PURPOSE, middleware=(layer,)),),
    )
    graph = build(spec, checkpointer=InMemorySaver())
    await graph.ainvoke(ask(), THREAD)
    assert kit.acted() == []
    assert [question.value["name"] for question in await questions(graph)] == ["near__dig"]
    state = await graph.ainvoke(Command(resume={"type": "approve", "always": True}), THREAD)
    assert kit.acted() == ["dig b"]
    assert list(state["mcp_allowed"]) == ["near__dig"]
