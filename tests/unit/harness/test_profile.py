"""The lean profile: fewer tools, short words, one tool call at a time."""

import pytest
from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents import configured_spec, load
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.one_step import OneStepMiddleware
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, calls, says, together

THREAD = {"configurable": {"thread_id": "1"}}


def models_of(model, profile="lean"):
    return Models(main=model, subagent=model, summary=model, audit=model, profile=profile)


def agent_of(name, *script):
    model = ScriptedChatModel(script=list(script))
    graph = build(load(name).spec(models=models_of(model)), checkpointer=InMemorySaver())
    return graph, model


async def said(graph, text="Hi"):
    return await graph.ainvoke({"messages": [("user", text)]}, THREAD)


async def test_the_lean_simple_agent_has_fewer_tools():
    graph, model = agent_of("simple", says("Hello."))
    await said(graph)
    lean = set(model.tools_seen[0])
    assert {"read_file", "write_file", "edit_file", "delete", "task", "ask_user"} <= lean
    assert {"read_user_file", "patch_user_file", "write_todos"} <= lean
    assert not {"glob", "ask_choices", "glob_user_files", "grep_user_files"} & lean
    assert "one step at a time" in model.requests[0][0].text


async def test_the_lean_tutor_has_no_files_of_its_own_but_its_moves_and_its_map():
    move = says('{"move": "clarify_term", "why": "It is due."}')
    graph, model = agent_of("tutor", move, says("What do you mean by cold?"))
    state = await said(graph, "The deep sea is cold.")
    assert state["moves"][0]["move"] == "clarify_term"
    assert {"propose_node", "propose_quote", "read_user_file", "task"} <= set(model.tools_seen[1])
    assert not {"write_file", "write_todos", "choose_move"} & set(model.tools_seen[1])


async def test_of_several_calls_in_one_answer_the_first_runs_and_the_agent_goes_on():
    two = together(
        calls("write_file", file_path="/a.md", content="a"),
        calls("write_file", file_path="/b.md", content="b"),
    )
    second = calls("write_file", file_path="/b.md", content="b")
    graph, model = agent_of("simple", two, second, says("Both are written."))
    state = await said(graph, "Write /a.md and /b.md")
    model.assert_done()
    assert set(state["files"]) == {"/a.md", "/b.md"}
    results = [m for m in state["messages"] if isinstance(m, ToolMessage)]
    assert len(results) == 2
    (asked,) = [m for m in model.requests[1] if isinstance(m, AIMessage)]
    assert len(asked.tool_calls) == 1


async def test_the_full_profile_runs_all_calls_of_an_answer():
    two = together(
        calls("write_file", file_path="/a.md", content="a"),
        calls("write_file", file_path="/b.md", content="b"),
    )
    model = ScriptedChatModel(script=[two, says("Both.")])
    graph = build(load("simple").spec(models=models_of(model, "full")))
    state = await graph.ainvoke({"messages": [("user", "Write /a.md and /b.md")]})
    assert set(state["files"]) == {"/a.md", "/b.md"}
    model.assert_done()


async def test_what_waits_for_approval_waits_in_the_lean_profile_too():
    write = calls("write_file", file_path="/a.md", content="a")
    graph, _ = agent_of("simple", write, calls("delete", file_path="/a.md"), says("Kept."))
    paused = await said(graph, "Write /a.md, then delete it")
    (interrupt,) = paused["__interrupt__"]
    assert interrupt.value["name"] == "delete"
    answer = {interrupt.id: {"type": "reject", "message": "Keep it."}}
    state = await graph.ainvoke(Command(resume=answer), THREAD)
    assert "/a.md" in state["files"]


async def test_a_tool_that_the_profile_has_not_is_an_error_the_model_can_read():
    graph, model = agent_of("simple", calls("glob", pattern="*"), says("I listed them."))
    await said(graph)
    assert "glob" in model.requests[1][-1].text
    assert model.requests[1][-1].status == "error"


def blocks(*ids):
    return AIMessage(
        [{"type": "text", "text": "Both."}, *({"type": "tool_use", "id": one} for one in ids)],
        tool_calls=[{"name": "ls", "args": {}, "id": one, "type": "tool_call"} for one in ids],
        additional_kwargs={"tool_calls": [{"id": one} for one in ids]},
    )


@pytest.mark.parametrize("ids", [("a",), ("a", "b", "c")])
def test_nothing_of_the_other_calls_is_left_in_the_message(ids):
    response = ModelResponse(result=[blocks(*ids)])
    kept = OneStepMiddleware().wrap_model_call(None, lambda request: response).result[0]
    assert [call["id"] for call in kept.tool_calls] == ["a"]
    assert kept.content == blocks("a").content
    assert kept.additional_kwargs == blocks("a").additional_kwargs


def test_the_setting_makes_every_agent_lean_but_one_that_is_lean_stays_so():
    def spec(models):
        return AgentSpec(name="own", model=models.main)

    def lean(models):
        return AgentSpec(name="own", model=models.main, profile="lean")

    for profile in ("auto", "full", "lean"):
        settings = ModelSettings.model_construct(main="demo:tour", profile=profile, subagents={})
        assert configured_spec(spec, settings).profile == ("lean" if profile == "lean" else "full")
        assert configured_spec(lean, settings).profile == "lean"
