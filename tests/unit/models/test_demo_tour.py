"""The tour: honest about what it is, driven by its history alone, unshaken by refusals."""

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    TodoListMiddleware,
    ToolErrorMiddleware,
)
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from bathysphere.models.demo import words
from bathysphere.models.demo.model import DemoTourModel

CONFIG = {"configurable": {"thread_id": "t"}}


def file_tools(files):
    @tool
    def write_file(file_path: str, content: str) -> str:
        """Write a file."""
        files[file_path] = content
        return "written"

    @tool
    def read_file(file_path: str) -> str:
        """Read a file."""
        return files[file_path]

    @tool
    def edit_file(file_path: str, old_string: str, new_string: str) -> str:
        """Change a file."""
        assert old_string in files[file_path]
        files[file_path] = files[file_path].replace(old_string, new_string)
        return "changed"

    return [write_file, read_file, edit_file]


@tool
def ask_user(question: str) -> str:
    """Ask the person."""
    return interrupt({"type": "clarification_request", "question": question})


def agent(tools, *, gated=(), todos=True):
    middleware = [TodoListMiddleware()] if todos else []
    if gated:
        gates = dict.fromkeys(gated, True)
        middleware.append(HumanInTheLoopMiddleware(interrupt_on=gates, interrupt_mode="per_call"))
    # Inside the gate, so that it sees the tools' errors and not the gate's.
    middleware.append(ToolErrorMiddleware(on_error=lambda error, request: str(error)))
    return create_agent(DemoTourModel(), tools, middleware=middleware, checkpointer=InMemorySaver())


def say(graph, text):
    return graph.invoke({"messages": [("user", text)]}, CONFIG)


def called(state):
    return [call["name"] for m in state["messages"] for call in getattr(m, "tool_calls", ())]


def test_it_says_first_that_it_is_a_script_and_not_an_ai():
    first = DemoTourModel().bind_tools([ask_user]).invoke("Hi")
    assert "a script, not an AI" in first.text


def test_the_whole_tour_plans_writes_reads_asks_and_changes():
    files = {}
    graph = agent([*file_tools(files), ask_user], gated=["edit_file"])
    state = say(graph, "Hello,\n  what is this?")
    assert [todo["status"] for todo in state["todos"]] == ["in_progress"] + ["pending"] * 3
    assert state["__interrupt__"][0].value["question"] == words.QUESTION

    state = graph.invoke(Command(resume="Plan my garden"), CONFIG)
    assert state["__interrupt__"][0].value["tool_call_id"] == "tour_change"
    assert "You wrote: Hello, what is this?" in files[words.NOTES]
    assert words.GAP in files[words.NOTES]

    state = graph.invoke(Command(resume={"type": "approve"}), CONFIG)
    assert "Your answer: Plan my garden" in files[words.NOTES]
    assert called(state) == [
        "write_todos",
        "write_file",
        "read_file",
        "ask_user",
        "edit_file",
        "write_todos",
    ]
    assert [todo["status"] for todo in state["todos"]] == ["completed"] * 4
    end = state["messages"][-1].text
    assert words.THE_END in end
    assert "BATHYSPHERE_MODEL_MAIN" in end
    assert "bathysphere models" in end
    assert "not done" not in end
    assert "no tool for it" not in end


def test_without_a_tool_to_ask_it_asks_in_words_and_waits():
    files = {}
    graph = agent(file_tools(files))
    state = say(graph, "Hi")
    assert words.QUESTION in state["messages"][-1].text
    assert called(state)[-1] == "read_file"
    state = say(graph, "Read my mail")
    assert "Your answer: Read my mail" in files[words.NOTES]
    assert words.THE_END in state["messages"][-1].text
    assert "no tool for it" not in state["messages"][-1].text


def test_after_the_tour_everything_gets_a_short_honest_answer():
    graph = agent(file_tools({}))
    say(graph, "Hi")
    say(graph, "An answer")
    for text in ("What is 2 + 2?", "tour", "Again"):
        state = say(graph, text)
        assert state["messages"][-1].text == words.AFTERWARDS
    assert called(state).count("write_file") == 1


def test_a_rejected_change_is_named_and_the_tour_goes_on():
    files = {}
    graph = agent(file_tools(files), gated=["edit_file"])
    say(graph, "Hi")
    say(graph, "An answer")
    reject = {"type": "reject", "message": "I would rather not"}
    state = graph.invoke(Command(resume=reject), CONFIG)
    said = "\n".join(m.text for m in state["messages"] if isinstance(m, AIMessage))
    assert "I would rather not" in said
    assert "An answer" not in files[words.NOTES]
    assert [todo["status"] for todo in state["todos"]] == ["completed"] * 3 + ["pending"]
    assert words.FAILED.format(what=words.SEEN["change"]) in state["messages"][-1].text


def test_an_edited_write_is_what_the_tour_goes_on_with():
    files = {}
    graph = agent(file_tools(files), gated=["write_file"])
    say(graph, "Hi")
    args = {"file_path": words.NOTES, "content": "My own words"}
    edit = {"type": "edit", "edited_action": {"name": "write_file", "args": args}}
    graph.invoke(Command(resume=edit), CONFIG)
    assert files == {words.NOTES: "My own words"}
    # The line it would change is gone, so the change fails, and that ends nothing.
    state = say(graph, "An answer")
    assert words.THE_END in state["messages"][-1].text
    assert words.FAILED.format(what=words.SEEN["change"]) in state["messages"][-1].text


def test_a_rejected_write_skips_what_needs_the_file():
    graph = agent(file_tools({}), gated=["write_file", "edit_file"])
    say(graph, "Hi")
    state = graph.invoke(Command(resume={"type": "reject"}), CONFIG)
    assert words.QUESTION in state["messages"][-1].text
    state = say(graph, "An answer")
    assert called(state) == ["write_todos", "write_file", "write_todos"]
    assert words.THE_END in state["messages"][-1].text


def test_it_deletes_where_it_cannot_edit():
    deleted = []

    @tool
    def delete(file_path: str) -> str:
        """Delete a file."""
        deleted.append(file_path)
        return "deleted"

    graph = agent([*file_tools({})[:2], delete])
    say(graph, "Hi")
    say(graph, "An answer")
    assert deleted == [words.NOTES]


def test_steps_whose_tools_are_missing_are_left_out_and_named():
    graph = agent([ask_user], todos=False)
    say(graph, "Hi")
    state = graph.invoke(Command(resume="An answer"), CONFIG)
    end = state["messages"][-1].text
    assert called(state) == ["ask_user"]
    assert words.MISSING.format(what=words.SEEN["plan"]) in end
    assert f"- {words.SEEN['ask']}\n" in end


def test_a_call_that_was_dropped_for_a_new_message_does_not_stop_the_tour():
    history = [
        HumanMessage("Hi"),
        AIMessage("", tool_calls=[{"name": "ask_user", "args": {}, "id": "tour_ask"}]),
        ToolMessage("cancelled", tool_call_id="tour_ask", status="error"),
        HumanMessage("Never mind"),
    ]
    answer = DemoTourModel().bind_tools([ask_user]).invoke(history)
    assert words.THE_END in answer.text


def test_without_any_tool_it_says_what_it_is_and_stops():
    assert DemoTourModel().invoke("Summarise this").text == words.NO_TOOLS


async def test_it_streams_word_by_word_with_the_call_at_the_end():
    model = DemoTourModel().bind_tools(file_tools({}))
    chunks = [chunk async for chunk in model.astream("Hi")]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert isinstance(whole, AIMessageChunk)
    assert len(chunks) > 40
    assert max(len(chunk.text.split()) for chunk in chunks) == 1
    assert whole.text == model.invoke("Hi").text == "".join(c.text for c in model.stream("Hi"))
    assert whole.tool_calls == model.invoke("Hi").tool_calls
    assert whole.tool_calls[0]["name"] == "write_file"


@pytest.mark.parametrize(
    "text", ["x" * 5000, "{answer} {reason} {0}", "", "”„\n\t", words.SUMMARY, words.ASK_PLAINLY]
)
def test_any_words_of_the_person_are_quoted_safely_and_briefly(text):
    files = {}
    graph = agent(file_tools(files))
    say(graph, text)
    state = say(graph, text)
    assert words.THE_END in state["messages"][-1].text
    assert called(state).count("edit_file") == 1
    assert len(files[words.NOTES]) < 600


async def test_the_tour_of_the_team_files_delegates_writes_by_approval_and_ends():
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    from bathysphere.agents import configured
    from bathysphere.harness.build import build
    from bathysphere.models.settings import ModelSettings

    spec = configured("workspace", ModelSettings(main="demo:tour", demo_pause_s=0))
    graph = build(spec, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "t"}}
    asked = await graph.ainvoke({"messages": [{"role": "user", "content": "Hello"}]}, thread)
    [wanted] = asked["__interrupt__"]
    assert "/tour/welcome.md" in str(wanted.value)
    answer = {"type": "approve", "bound": wanted.value["bound"]}  # as the engine binds it
    final = await graph.ainvoke(Command(resume=answer), thread)
    assert "/tour/welcome.md" in final["files"]
    assert [item["status"] for item in final["todos"]] == ["completed", "completed"]
    words = final["messages"][-1].text
    assert "The note is in `/tour/welcome.md`" in words
    assert "can be undone" in words
    again = await graph.ainvoke({"messages": [{"role": "user", "content": "And?"}]}, thread)
    assert "the tour in this conversation is over" in again["messages"][-1].text.lower()


def test_the_tours_have_no_words_that_only_a_terminal_understands():
    from bathysphere.models.demo import team_words, tutor_words

    for module in (tutor_words, team_words):
        said = " ".join(value for value in vars(module).values() if isinstance(value, str))
        for word in ("--files", "`/map`", "`/accept", "`/disclosures`", "`/export"):
            assert word not in said
