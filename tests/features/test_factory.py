"""`bathysphere.create_deep_agent`: the signature people know, every argument of it."""

import asyncio
import inspect
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from bathysphere import create_deep_agent
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.errors import CallerError
from bathysphere.harness.spec import AgentSpec
from bathysphere.harness.stack import main_agent, subagent
from bathysphere.testing import ScriptedChatModel, calls, says

SEED_001 = """model tools system_prompt middleware subagents response_format context_schema
checkpointer store backend interrupt_on debug name cache"""
SEED_004 = "tools instructions model subagents state_schema config_schema checkpointer"
THREAD: Any = {"configurable": {"thread_id": "1"}}


def ask(*turns, **arguments):
    model = ScriptedChatModel(script=[*turns, says("Done.")])
    agent = create_deep_agent(model, **arguments)
    state = agent.invoke({"messages": [{"role": "user", "content": "Go."}]}, THREAD)
    return model, state


def results(state):
    return [m.text for m in state["messages"] if m.type == "tool"]


# ── the signature ──


def test_every_argument_of_the_seeds_is_there():
    parameters = inspect.signature(create_deep_agent).parameters
    assert {*SEED_001.split(), *SEED_004.split()} <= set(parameters)
    positional = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == ["model", "tools"]
    assert all(p.default is not inspect.Parameter.empty for p in parameters.values())


def test_it_returns_a_compiled_langgraph_graph():
    agent = create_deep_agent(ScriptedChatModel(script=[says("Hello.")]))
    assert isinstance(agent, CompiledStateGraph)
    state = agent.invoke({"messages": [{"role": "user", "content": "Hi."}]})
    assert state["messages"][-1].text == "Hello."


def test_it_runs_async_too():
    agent = create_deep_agent(ScriptedChatModel(script=[says("Hello.")]))
    state = asyncio.run(agent.ainvoke({"messages": [{"role": "user", "content": "Hi."}]}))
    assert state["messages"][-1].text == "Hello."


def test_the_older_order_of_arguments_works_by_position_and_by_name():
    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    by_position = ScriptedChatModel(script=[calls("ping"), says("Done.")])
    agent = create_deep_agent([ping], "You test.", by_position)
    assert results(agent.invoke({"messages": [("user", "Go.")]})) == ["pong"]
    assert by_position.requests[0][0].text.startswith("You test.")
    by_name = ScriptedChatModel(script=[says("Done.")])
    create_deep_agent(tools=[ping], instructions="You test.", model=by_name).invoke(
        {"messages": [("user", "Go.")]}
    )
    assert by_name.requests[0][0].text.startswith("You test.")


# ── model ──


def test_without_a_model_and_without_settings_the_tour_answers(monkeypatch):
    names = ("DEEPAGENTS_MODEL_PROVIDER", "OLLAMA_MODEL_NAME", "LM_STUDIO_MODEL_NAME")
    for variable in ("BATHYSPHERE_MODEL_MAIN", *names):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    state = create_deep_agent().invoke({"messages": [("user", "Hello")]})
    assert "demo:tour" in "".join(m.text for m in state["messages"] if m.type == "ai")


def test_something_that_is_no_model_is_one_clear_sentence():
    with pytest.raises(CallerError, match="expected a chat model or a name"):
        create_deep_agent(42)


# ── tools ──


def test_tools_may_be_functions_or_langchain_tools():
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @tool
    def shout(text: str) -> str:
        """Shout."""
        return text.upper()

    model, state = ask(calls("add", a=1, b=2), calls("shout", text="hi"), tools=[add, shout])
    assert results(state) == ["3", "HI"]
    assert {"add", "shout", "task", "write_todos", "ls"} <= set(model.tools_seen[0])


def test_a_provider_tool_goes_to_the_model_as_a_dict():
    model, _ = ask(tools=[{"type": "web_search", "name": "web_search"}])
    assert "web_search" in model.tools_seen[0]


# ── prompt ──


@pytest.mark.parametrize("prompt", ["You count fish.", SystemMessage("You count fish.")])
def test_the_system_prompt_stands_first_and_the_guidance_after_it(prompt):
    model, _ = ask(system_prompt=prompt)
    system = model.requests[0][0].text
    assert system.startswith("You count fish.\n\n")
    assert "write_todos" in system


# ── middleware ──


class Stamp(AgentMiddleware):
    """Leaves a word in the prompt of every model call."""

    def __init__(self, word="stamp"):
        super().__init__()
        self.word = word

    @property
    def name(self):
        return f"Stamp-{self.word}"

    def wrap_model_call(self, request, handler):
        text = f"{request.system_message.text} {self.word}"
        return handler(request.override(system_message=SystemMessage(text)))


def test_middleware_of_the_caller_runs_in_its_order():
    model, _ = ask(middleware=[Stamp("one"), Stamp("two")])
    assert model.requests[0][0].text.endswith("one two")


def test_the_layers_of_the_seed_are_there_on_the_main_agent_and_on_subagents():
    spec = AgentSpec(
        name="test",
        model=ScriptedChatModel(script=[]),
        middleware=(Stamp(),),
        approvals={"write_file": True},
    )
    of_seed = {
        "FilesystemMiddleware",
        "TodoListMiddleware",
        "SummarizationMiddleware",
        "PatchToolCallsMiddleware",
        "AnthropicPromptCachingMiddleware",
        "HumanInTheLoopMiddleware",
    }
    of_main = [layer.name for layer in main_agent(spec).stack.layers]
    of_subagent = [layer.name for layer in subagent(spec, spec.subagents[0]).stack.layers]
    assert of_seed | {"Stamp-stamp"} <= set(of_main)
    assert of_seed <= set(of_subagent)
    assert "Stamp-stamp" not in of_subagent


# ── subagents ──


def test_a_subagent_is_a_dict_with_the_keys_of_the_seed():
    @tool
    def ping() -> str:
        """Ping."""
        return "pong"

    helper = ScriptedChatModel(script=[calls("ping"), says("Helped.")])
    sub = {
        "name": "helper",
        "description": "Helps.",
        "system_prompt": "You help.",
        "tools": [ping],
        "model": helper,
        "middleware": [Stamp("sub")],
        "interrupt_on": {},
    }
    model, state = ask(calls("task", description="d", subagent_type="helper"), subagents=[sub])
    assert results(state) == ["Helped."]
    system = helper.requests[0][0].text
    assert system.startswith("You help.")
    assert system.endswith("sub")
    assert "ping" not in model.tools_seen[0]


def test_an_older_subagent_with_prompt_and_model_settings_works():
    helper = ScriptedChatModel(script=[says("Helped.")])
    sub = {
        "name": "helper",
        "description": "Helps.",
        "prompt": "You help.",
        "model_settings": {"model": helper},
    }
    _, state = ask(calls("task", description="d", subagent_type="helper"), subagents=[sub])
    assert results(state) == ["Helped."]
    assert helper.requests[0][0].text.startswith("You help.")


def test_a_compiled_subagent_is_a_dict_with_a_runnable():
    runnable = RunnableLambda(lambda _: {"messages": [AIMessage("Ran.")]})
    sub = {"name": "graph", "description": "Runs.", "runnable": runnable}
    _, state = ask(calls("task", description="d", subagent_type="graph"), subagents=[sub])
    assert results(state) == ["Ran."]


@pytest.mark.parametrize(
    ("sub", "words"),
    [
        ({"name": "helper"}, "without a name or description"),
        ({"description": "Helps."}, "without a name or description"),
        ({"name": "h", "description": "d", "promt": "x"}, "Unknown keys of subagent 'h': promt"),
        ({"name": "h", "description": "d", "graph_id": "x"}, "not supported"),
    ],
)
def test_a_subagent_that_cannot_be_built_is_refused_before_anything_runs(sub, words):
    with pytest.raises(CallerError, match=words):
        create_deep_agent(ScriptedChatModel(script=[]), subagents=[sub])


def test_two_subagents_of_one_name_are_refused():
    sub = {"name": "helper", "description": "Helps."}
    with pytest.raises(CallerError, match="Duplicate subagent name: 'helper'"):
        create_deep_agent(ScriptedChatModel(script=[]), subagents=[sub, sub])


# ── what else goes in ──


class Answer(BaseModel):
    """The answer in figures."""

    count: int


def test_a_response_format_gives_a_structured_answer():
    model = ScriptedChatModel(script=[calls("Answer", count=3)])
    state = create_deep_agent(model, response_format=Answer).invoke({"messages": [("user", "?")]})
    assert state["structured_response"] == Answer(count=3)


@dataclass
class Person:
    name: str


def test_context_reaches_tools_of_the_main_agent_and_of_subagents():
    @tool
    def whoami(runtime: ToolRuntime[Person, Any]) -> str:
        """Say who asks."""
        return runtime.context.name

    script = [
        calls("whoami"),
        calls("task", description="Ask.", subagent_type="general-purpose"),
        calls("whoami"),
        says("Asked."),
        says("Done."),
    ]
    model = ScriptedChatModel(script=script)
    agent = create_deep_agent(model, [whoami], context_schema=Person)
    agent.invoke({"messages": [("user", "Go.")]}, context=Person("Ada"))
    assert [model.requests[i][-1].text for i in (1, 3)] == ["Ada", "Ada"]


def test_a_checkpointer_keeps_threads_apart_and_lets_them_go_on():
    model = ScriptedChatModel(script=[says("One."), says("Two."), says("Other.")])
    agent = create_deep_agent(model, checkpointer=InMemorySaver())
    for thread in ("1", "1", "2"):
        agent.invoke({"messages": [("user", "Hi.")]}, {"configurable": {"thread_id": thread}})
    assert [len(request) for request in model.requests] == [2, 4, 2]


def test_a_store_reaches_tools():
    @tool
    def remember(runtime: ToolRuntime) -> str:
        """Put something away."""
        runtime.store.put(("team",), "key", {"value": 1})
        return "ok"

    store = InMemoryStore()
    ask(calls("remember"), tools=[remember], store=store)
    assert store.get(("team",), "key").value == {"value": 1}


@pytest.mark.parametrize(
    "backend",
    [None, ScratchBackend(), lambda runtime: ScratchBackend()],
    ids=["the default", "an instance", "a factory"],
)
def test_a_backend_is_an_instance_or_a_factory_and_the_default_is_scratch(backend):
    _, state = ask(calls("write_file", file_path="/a.md", content="x"), backend=backend)
    assert list(state["files"]) == ["/a.md"]


def test_interrupt_on_waits_for_the_person_and_goes_on_with_the_answer():
    script = [calls("write_file", file_path="/a.md", content="x"), says("Done.")]
    agent = create_deep_agent(
        ScriptedChatModel(script=script),
        interrupt_on={"write_file": True},
        checkpointer=InMemorySaver(),
    )
    paused = agent.invoke({"messages": [("user", "Go.")]}, THREAD)
    [asked] = paused["__interrupt__"]
    assert asked.value["type"] == "tool_approval"
    assert not paused.get("files")
    final = agent.invoke(Command(resume={asked.id: {"type": "approve"}}), THREAD)
    assert list(final["files"]) == ["/a.md"]


def test_debug_name_and_cache_reach_the_graph():
    cache = InMemoryCache()
    agent = create_deep_agent(
        ScriptedChatModel(script=[]), debug=True, name="deep-one", cache=cache
    )
    assert (agent.debug, agent.name, agent.cache) == (True, "deep-one", cache)


def test_a_long_run_is_bound_by_the_limits_of_the_tree_not_by_the_graph_steps():
    agent = create_deep_agent(ScriptedChatModel(script=[]))
    assert agent.config["recursion_limit"] == 9_999


def test_more_state_is_kept_beside_the_state_of_the_harness():
    from typing import NotRequired

    from langchain.agents import AgentState

    class Fields(AgentState):
        language: NotRequired[str]

    agent = create_deep_agent(ScriptedChatModel(script=[says("Ok.")]), state_schema=Fields)
    state = agent.invoke({"messages": [("user", "Go.")], "language": "nn"})
    assert state["language"] == "nn"
