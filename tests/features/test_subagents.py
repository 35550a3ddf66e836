"""Subagents: their kinds, what they share and what they do not, their life."""

import threading
from typing import Annotated, NotRequired, TypedDict

import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, tool
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command

from bathysphere.backends import scratch
from bathysphere.core.errors import ConfigError
from bathysphere.core.writers import ByClient
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, SubagentSpec
from bathysphere.harness.state import HarnessState
from bathysphere.middleware import limits
from bathysphere.testing import ScriptedChatModel, calls, says, together


def task(kind="general-purpose", description="Look it up.", **more):
    return calls("task", {"description": description, "subagent_type": kind}, **more)


def helper(*turns, **spec):
    model = ScriptedChatModel(script=list(turns))
    return SubagentSpec(name="helper", description="Helps with numbers.", model=model, **spec)


def write(path, content="x"):
    return calls("write_file", file_path=path, content=content)


def read(path):
    return calls("read_file", file_path=path)


@tool
def population(city: str) -> str:
    """Look up a population."""
    return f"{city}: 83"


# ── kinds ──


def test_a_general_purpose_subagent_is_always_there_with_the_main_agents_tools(run):
    ran = run(task(), calls("population", city="Oslo"), says("83."), tools=(population,))
    main, sub = ran.model.tools_seen[:2]
    assert set(main) - set(sub) == {"task"}
    assert ran.texts == ["83."]


def test_a_spec_without_subagents_has_no_task_tool(run):
    assert "task" not in run(subagents=()).model.tools_seen[0]


def test_a_custom_subagent_has_its_own_prompt_tools_and_model(run):
    sub = helper(
        calls("population", city="Oslo"),
        says("83."),
        tools=(population,),
        prompt="You count people.",
    )
    ran = run(task("helper"), subagents=(sub,), prompt="You lead.")
    assert "population" not in ran.model.tools_seen[0]
    assert "population" in sub.model.tools_seen[0]
    assert sub.model.requests[0][0].text.startswith("You count people.")
    assert "You lead." not in sub.model.requests[0][0].text
    assert ran.texts == ["83."]
    sub.model.assert_done()


def test_all_subagents_take_the_subagent_model_where_a_spec_names_one(run):
    small = ScriptedChatModel(script=[says("Small.")])
    assert run(task(), subagent_model=small).texts == ["Small."]
    small.assert_done()


def test_subagents_share_the_main_agents_model_object_unless_told(run):
    ran = run(task(), says("From the same script."))
    assert ran.texts == ["From the same script."]
    assert len(ran.model.requests) == 3


def test_a_custom_subagent_has_its_own_middleware(run):
    seen = []

    class Watch(AgentMiddleware):
        def wrap_model_call(self, request, handler):
            seen.append(request.system_message.text.split(".")[0])
            return handler(request)

        async def awrap_model_call(self, request, handler):
            seen.append(request.system_message.text.split(".")[0])
            return await handler(request)

    run(task("helper"), subagents=(helper(says("Ok."), middleware=(Watch(),), prompt="Sub."),))
    assert seen == ["Sub"]


def test_a_custom_subagent_can_need_approval_where_the_main_agent_does_not(talk):
    sub = helper(write("/b.md"), says("Wrote."), approvals={"write_file": True})
    agent = talk(write("/a.md"), task("helper"), subagents=(sub,))
    paused = agent.send()
    [asked] = paused["__interrupt__"]
    assert "/b.md" in str(asked.value)
    assert list(paused["files"]) == ["/a.md"]
    final = agent.send(Command(resume={asked.id: {"type": "approve"}}))
    assert sorted(final["files"]) == ["/a.md", "/b.md"]


def test_a_compiled_graph_can_be_a_subagent(run):
    class State(TypedDict):
        messages: Annotated[list, add_messages]

    def answer(state):
        return {"messages": [AIMessage(f"Heard: {state['messages'][-1].text}")]}

    graph = StateGraph(State)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    sub = CompiledSubagent(name="echo", description="Echoes.", runnable=graph.compile())
    assert run(task("echo", "Hello."), subagents=(sub,)).texts == ["Heard: Hello."]


def test_a_compiled_subagent_may_be_any_runnable_that_returns_messages(run):
    runnable = RunnableLambda(lambda _: {"messages": [AIMessage("Plain.")]})
    sub = CompiledSubagent(name="plain", description="Plain.", runnable=runnable)
    assert run(task("plain"), subagents=(sub,)).texts == ["Plain."]


# ── what is shared and what is not ──


def test_a_subagent_sees_its_task_and_nothing_of_the_conversation(run):
    ran = run(
        calls("write_todos", todos=[{"content": "Secret plan", "status": "pending"}]),
        task(description="Count to three."),
        says("1 2 3"),
    )
    sub = ran.model.requests[2]
    assert [m.type for m in sub] == ["system", "human"]
    assert sub[1].text == "Count to three."


def test_plans_of_main_agent_and_subagent_stay_apart(run):
    mine = [{"content": "Mine", "status": "pending"}]
    theirs = [{"content": "Theirs", "status": "pending"}]
    ran = run(
        calls("write_todos", todos=mine),
        task(),
        calls("write_todos", todos=theirs),
        says("Planned."),
    )
    assert ran.state["todos"] == mine


def test_files_go_into_a_subagent_and_come_back(run):
    ran = run(
        write("/given.md", "from main"),
        task(),
        read("/given.md"),
        write("/made.md", "from sub"),
        says("Made."),
        read("/made.md"),
    )
    assert ran.model.requests[3][-1].text.endswith("from main")
    assert ran.texts[-1].endswith("from sub")
    assert ran.files == {"/given.md": "from main", "/made.md": "from sub"}


def test_only_the_last_message_comes_back_as_the_result_of_the_task_call(run):
    ran = run(task(id="t1"), write("/a.md"), read("/a.md"), says("Only this."))
    assert [(m.type, m.text) for m in ran.state["messages"]] == [
        ("human", "Go."),
        ("ai", ""),
        ("tool", "Only this."),
        ("ai", "Done."),
    ]
    assert ran.results[0].tool_call_id == "t1"


class Shared(HarnessState):
    """A field of the spec's own that every agent of the tree has."""

    language: NotRequired[ByClient[str]]


def test_a_field_of_the_spec_state_reaches_subagents(run):
    seen = []

    class Watch(AgentMiddleware):
        def before_agent(self, state, runtime):
            seen.append(state.get("language"))

    run(
        task("helper"),
        subagents=(helper(says("Ok."), middleware=(Watch(),)),),
        state_schema=Shared,
        state={"language": "nn"},
    )
    assert seen == ["nn"]


# ── life ──


def test_each_task_starts_with_a_clean_desk(run):
    ran = run(
        task(description="One."),
        write("/a.md"),
        says("First."),
        task(description="Two."),
        says("Second."),
    )
    assert [m.text for m in ran.model.requests[4]][1:] == ["Two."]
    assert ran.texts == ["First.", "Second."]


def test_nothing_of_a_run_is_held_in_the_process_when_it_has_ended(run):
    ran = run(model=tree(), tools=(Meeting(2).tool,))
    run_id = ran.state["run_id"]
    assert run_id not in scratch._live._runs
    assert run_id not in limits._meters._runs


def test_an_unknown_subagent_is_a_result_that_names_the_known_ones(run):
    ran = run(task("nobody"))
    assert "nobody" in ran.texts[0]
    assert "`general-purpose`" in ran.texts[0]


def test_the_task_tool_lists_every_subagent_with_its_description(run):
    sub = helper()
    ran = run(subagents=(sub,))
    [schema] = [t["function"] for t in ran.model.tool_schemas(0) if t["function"]["name"] == "task"]
    assert "helper: Helps with numbers." in schema["description"]
    assert set(schema["parameters"]["required"]) == {"description", "subagent_type"}


def test_a_subagent_whose_tools_clash_is_refused_when_it_is_built():
    @tool
    def read_file(path: str) -> str:
        """Read something else."""
        return path

    spec = AgentSpec(
        name="test",
        model=ScriptedChatModel(script=[]),
        subagents=(SubagentSpec(name="helper", description="Helps.", tools=(read_file,)),),
    )
    with pytest.raises(ConfigError, match="'helper' has two tools named 'read_file'"):
        build(spec)


def test_a_subagent_must_have_a_name_and_a_description():
    with pytest.raises(TypeError, match="description"):
        SubagentSpec(name="helper")


class Meeting:
    """A tool that ends only when as many callers as expected wait in it together."""

    def __init__(self, callers):
        self._barrier = threading.Barrier(callers, timeout=10)
        self.tool = StructuredTool.from_function(self._meet, name="meet", description="Meet.")

    def _meet(self) -> str:
        self._barrier.wait()
        return "Here."


def tree():
    """A model for a main agent that sends out two and for the two it sends out."""

    def answer(messages):
        if messages[1].text != "Go.":
            met = [m for m in messages if m.type == "tool"]
            return says("Met.") if met else calls("meet")
        if len(messages) == 2:
            return together(task(id="a"), task(id="b"))
        return says("Done.")

    return ScriptedChatModel(answer=answer)


def test_subagents_sent_out_in_one_message_work_at_the_same_time(run):
    ran = run(model=tree(), tools=(Meeting(2).tool,))
    assert ran.texts == ["Met.", "Met."]


def test_tools_called_in_one_message_run_at_the_same_time(run):
    three = together(*(calls("meet", {}, id=i) for i in "abc"))
    assert run(three, tools=(Meeting(3).tool,)).texts == ["Here."] * 3
