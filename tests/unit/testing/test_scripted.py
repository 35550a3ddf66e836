"""The scripted model keeps to its script, remembers, streams, fails and hangs."""

import asyncio
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from bathysphere.testing import (
    Refused,
    ScriptedChatModel,
    ScriptError,
    calls,
    fails,
    hangs,
    refuses,
    says,
    together,
)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


class Verdict(BaseModel):
    """A verdict."""

    score: int
    reason: str


def transcript(result: dict) -> list[tuple[str, str]]:
    return [(m.type, m.text) for m in result["messages"]]


# ── the script ──


def test_an_agent_runs_through_its_script():
    model = ScriptedChatModel(script=[calls("add", a=2, b=3), says("Five.")])
    result = create_agent(model, [add]).invoke({"messages": [("user", "2 + 3?")]})
    assert transcript(result) == [("human", "2 + 3?"), ("ai", ""), ("tool", "5"), ("ai", "Five.")]
    model.assert_done()


def test_one_call_too_many_fails_and_says_what_was_asked():
    model = ScriptedChatModel(script=[says("Only this.")])
    model.invoke("first")
    with pytest.raises(ScriptError, match=r"call 2 is one too many.*human: 'second'"):
        model.invoke("second")


def test_one_call_too_many_is_found_even_where_the_agent_swallowed_it():
    model = ScriptedChatModel(script=[says("Only this.")])
    for _ in range(2):
        try:
            model.invoke("again")
        except ScriptError:
            continue
    with pytest.raises(ScriptError, match="called 2 times, but the script has 1 turns"):
        model.assert_done()


def test_one_call_too_few_fails_and_names_the_turns_left():
    def pick(_messages):
        return says("x")

    model = ScriptedChatModel(script=[says("a"), calls("add", a=1, b=1), fails(OSError), pick])
    model.invoke("hi")
    with pytest.raises(ScriptError, match=r"3 of 4 .*: calls add; fails\(.*OSError.*; rule pick"):
        model.assert_done()


def test_a_turn_may_be_a_function_of_the_messages():
    model = ScriptedChatModel(script=[lambda messages: says(f"You said {messages[-1].text}.")])
    assert model.invoke("boo").text == "You said boo."


def test_a_rule_answers_without_end():
    model = ScriptedChatModel(answer=lambda messages: says(str(len(messages))))
    assert [model.invoke([HumanMessage("x")] * n).text for n in (1, 2, 3)] == ["1", "2", "3"]
    model.assert_done()


def test_a_model_has_a_script_or_a_rule_not_both():
    with pytest.raises(ValueError, match="not both"):
        ScriptedChatModel(script=[says("a")], answer=lambda _: says("b"))


# ── calls and their ids ──


def test_tool_calls_are_numbered_across_messages():
    model = ScriptedChatModel(
        script=[together(calls("add", a=1, b=2), calls("shout", text="x")), calls("add", a=0, b=0)]
    )
    ids = [call["id"] for _ in range(2) for call in model.invoke("go").tool_calls]
    assert ids == ["call_1", "call_2", "call_3"]


def test_a_call_may_bring_its_own_id_and_a_tool_may_have_an_argument_of_that_name():
    model = ScriptedChatModel(
        script=[together(calls("x", {"a": 1}, id="c1"), calls("y", id="arg"))]
    )
    first, second = model.invoke("go").tool_calls
    assert (first["id"], first["args"]) == ("c1", {"a": 1})
    assert (second["id"], second["args"]) == ("call_1", {"id": "arg"})


def test_arguments_come_from_one_place():
    with pytest.raises(TypeError, match="not both"):
        calls("x", {"a": 1}, b=2)


def test_only_calls_go_together():
    with pytest.raises(TypeError, match="made by calls"):
        together(calls("x"), says("no"))


def test_changing_the_arguments_of_an_answer_leaves_the_script_alone():
    turn = calls("x", items=[1, 2])
    model = ScriptedChatModel(script=[turn, turn])
    model.invoke("1").tool_calls[0]["args"]["items"].append(3)
    assert model.invoke("2").tool_calls[0]["args"] == {"items": [1, 2]}


# ── memory ──


def test_it_remembers_the_requests_as_they_were():
    model = ScriptedChatModel(script=[calls("add", a=1, b=1), says("Two.")])
    create_agent(model, [add], system_prompt="Be brief.").invoke({"messages": [("user", "1+1")]})
    assert [[m.type for m in request] for request in model.requests] == [
        ["system", "human"],
        ["system", "human", "ai", "tool"],
    ]


def test_a_rule_that_changes_the_messages_does_not_change_what_is_remembered():
    def rule(messages):
        messages.clear()
        return says("a")

    model = ScriptedChatModel(answer=rule)
    model.invoke("1")
    assert [m.text for m in model.requests[0]] == ["1"]


def test_it_remembers_the_tools_of_each_call():
    model = ScriptedChatModel(script=[says("a"), says("b"), says("c"), says("d")])
    model.bind_tools([add, shout]).invoke("1")
    model.invoke("2")
    model.bind_tools([Verdict], tool_choice="any").invoke("3")
    model.bind_tools([{"type": "web_search"}, {"function": {"name": "f"}}]).invoke("4")
    assert model.tools_seen == [["add", "shout"], [], ["Verdict"], ["web_search", "f"]]


def test_it_shows_the_schemas_the_model_would_have_seen():
    model = ScriptedChatModel(script=[says("ok")])
    model.bind_tools([add]).invoke("hi")
    [schema] = model.tool_schemas()
    assert schema["function"]["description"] == "Add two numbers."
    assert schema["function"]["parameters"]["required"] == ["a", "b"]


def test_a_copy_plays_the_same_script():
    model = ScriptedChatModel(script=[says("a"), says("b"), says("c")])
    model.invoke("1")
    assert model.model_copy().invoke("2").text == "b"
    assert model.model_copy(deep=True).invoke("3").text == "c"
    assert len(model.requests) == 3


def test_usage_is_a_quarter_of_the_characters():
    model = ScriptedChatModel(script=[says("12345678")])
    with get_usage_metadata_callback() as usage:
        message = model.invoke([HumanMessage("1234"), HumanMessage("12345678")])
    expected = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
    assert message.usage_metadata == expected
    assert usage.usage_metadata["scripted"] == expected


# ── streams ──


def joined(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    total = chunks[0]
    for chunk in chunks[1:]:
        total = total + chunk
    return total


ANSWER = together(calls("add", a=1, b=22), calls("shout", text="hey"), text="Let me\n see, now. ")


def same_answer(streamed: AIMessage) -> bool:
    whole = ScriptedChatModel(script=[ANSWER]).invoke("go")
    return (
        streamed.text == whole.text
        and streamed.tool_calls == whole.tool_calls
        and streamed.usage_metadata == whole.usage_metadata
        and streamed.response_metadata == whole.response_metadata
    )


def test_a_stream_comes_in_chunks_and_adds_up_to_the_whole_answer():
    chunks = list(ScriptedChatModel(script=[ANSWER]).stream("go"))
    assert [c.text for c in chunks if c.text] == ["Let ", "me\n ", "see, ", "now. "]
    assert len([c for c in chunks if c.tool_call_chunks]) == 4
    assert same_answer(joined(chunks))


async def test_an_async_stream_is_the_same():
    chunks = [c async for c in ScriptedChatModel(script=[ANSWER]).astream("go")]
    assert len(chunks) == 9
    assert same_answer(joined(chunks))


async def test_an_agent_streams_its_tokens():
    model = ScriptedChatModel(script=[calls("add", a=1, b=1), says("That is two.")])
    agent = create_agent(model, [add])
    said = [
        chunk.text
        async for chunk, _ in agent.astream({"messages": [("user", "1+1")]}, stream_mode="messages")
        if isinstance(chunk, AIMessageChunk) and chunk.text
    ]
    assert said == ["That ", "is ", "two."]
    model.assert_done()


def test_a_stream_may_break_in_the_middle():
    model = ScriptedChatModel(script=[fails(ConnectionError("gone"), after="So far")])
    got = []
    with pytest.raises(ConnectionError, match="gone"):
        for chunk in model.stream("go"):
            got.append(chunk.text)  # the list must survive the error
    assert got == ["So ", "far"]


# ── failing and hanging ──


async def test_it_fails_on_demand_in_every_way_of_calling():
    model = ScriptedChatModel(script=[fails(TimeoutError("slow"))] * 4)
    with pytest.raises(TimeoutError):
        model.invoke("x")
    with pytest.raises(TimeoutError):
        await model.ainvoke("x")
    with pytest.raises(TimeoutError):
        list(model.stream("x"))
    with pytest.raises(TimeoutError):
        [c async for c in model.astream("x")]
    model.assert_done()


def test_a_refusal_is_raised_with_its_status():
    model = ScriptedChatModel(script=[refuses(429, "Slow down.")])
    with pytest.raises(Refused, match="Slow down") as refusal:
        model.invoke("x")
    assert refusal.value.status_code == 429


async def test_a_hanging_call_can_be_cancelled(within):
    model = ScriptedChatModel(script=[hangs(), hangs(), says("Still here.")])
    start = time.monotonic()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await model.ainvoke("x")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            [c async for c in model.astream("x")]
    assert (await model.ainvoke("x")).text == "Still here."
    within(time.monotonic() - start, 5)


def test_a_hanging_thread_waits_until_it_is_released():
    model = ScriptedChatModel(script=[hangs(then=says("Free."))])
    said = []
    thread = threading.Thread(target=lambda: said.append(model.invoke("x").text), daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    model.release()
    thread.join(5)
    assert said == ["Free."]


async def test_a_hang_of_some_seconds_ends_with_an_answer(within):
    model = ScriptedChatModel(
        script=[hangs(0.1, then=says("sync")), hangs(0.1, then=says("async"))]
    )
    start = time.monotonic()
    assert (model.invoke("x").text, (await model.ainvoke("x")).text) == ("sync", "async")
    took = time.monotonic() - start
    assert took >= 0.2
    within(took, 3)


def test_a_forgotten_hanging_thread_does_not_keep_the_process_alive():
    program = """
        from concurrent.futures import ThreadPoolExecutor
        from bathysphere.testing import ScriptedChatModel, hangs
        model = ScriptedChatModel(script=[hangs()])
        ThreadPoolExecutor().submit(model.invoke, "x")
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    assert subprocess.run(command, timeout=30, check=False).returncode == 0


# ── sharing ──


async def test_parallel_tasks_and_threads_share_one_script_without_losing_a_turn():
    texts = [f"turn {n}" for n in range(200)]
    model = ScriptedChatModel(script=[says(text) for text in texts])
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(model.ainvoke("x")) for _ in range(100)]
        workers = [group.create_task(asyncio.to_thread(model.invoke, "x")) for _ in range(100)]
    assert sorted(t.result().text for t in tasks + workers) == sorted(texts)
    model.assert_done()


async def test_a_tree_of_agents_shares_one_rule():
    def rule(messages):
        if isinstance(messages[-1], ToolMessage):
            return says("All back.")
        if messages[-1].text == "go":
            one = calls("task", description="dive", subagent_type="general-purpose")
            return together(one, one, one)
        return says("Dived.")

    model = ScriptedChatModel(answer=rule)
    result = await create_deep_agent(model).ainvoke({"messages": [("user", "go")]})
    assert [m.text for m in result["messages"] if m.type == "tool"] == ["Dived."] * 3
    assert len(model.requests) == 5
    ids = [m.tool_call_id for m in result["messages"] if m.type == "tool"]
    assert ids == ["call_1", "call_2", "call_3"]


# ── structured output ──


def test_structured_output_is_a_call_of_the_schema():
    model = ScriptedChatModel(script=[calls("Verdict", score=3, reason="fair")])
    assert model.with_structured_output(Verdict).invoke("x") == Verdict(score=3, reason="fair")


def test_structured_output_by_json_is_the_text_of_an_answer():
    answer = says('{"score": 2, "reason": "thin"}')
    model = ScriptedChatModel(script=[answer, answer, answer, says("Not JSON.")])
    as_object = model.with_structured_output(Verdict, method="json_schema")
    as_dict = model.with_structured_output(Verdict.model_json_schema(), method="json_schema")
    with_raw = model.with_structured_output(Verdict, method="json_schema", include_raw=True)
    assert as_object.invoke("x") == Verdict(score=2, reason="thin")
    assert as_dict.invoke("x") == {"score": 2, "reason": "thin"}
    assert with_raw.invoke("x")["parsed"] == Verdict(score=2, reason="thin")
    failed = with_raw.invoke("x")
    assert failed["parsed"] is None
    assert failed["raw"].text == "Not JSON."
    assert failed["parsing_error"] is not None


def test_an_agent_with_a_response_format_gets_it():
    model = ScriptedChatModel(script=[calls("Verdict", score=1, reason="poor")])
    agent = create_agent(model, [add], response_format=ToolStrategy(Verdict))
    result = agent.invoke({"messages": [("user", "judge")]})
    assert result["structured_response"] == Verdict(score=1, reason="poor")
    assert model.tools_seen == [["add", "Verdict"]]
