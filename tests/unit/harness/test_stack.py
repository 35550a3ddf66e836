"""The stack is data: what is described is what is built, and no tool hides another."""

import re

import pytest
from langchain_core.tools import tool
from trees import WORKER, calls, run, says, tree

from bathysphere.core.errors import ConfigError
from bathysphere.harness import build as building
from bathysphere.harness.describe import describe
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, SubagentSpec
from bathysphere.harness.stack import layer_name
from bathysphere.testing import ScriptedChatModel


@tool
def look(what: str) -> str:
    """Look at something."""
    return what


def described(text: str) -> dict[str, list[str]]:
    """Agent → the layers that its description lists."""
    agents: dict[str, list[str]] = {}
    for line in text.splitlines():
        if re.match(r"^(main agent|subagent )", line):
            layers = agents[line] = []
        elif re.match(r"^ {4}\w+Middleware", line):
            layers.append(line.split()[0])
    return agents


def built(spec, monkeypatch) -> dict[str, list[str]]:
    """Agent → the layers that LangChain really gets, in order; `task` has a layer without hooks."""
    import deepagents.graph
    import langchain.agents

    real, seen = langchain.agents.create_agent, {}

    def record(model, tools=None, *, middleware=(), name=None, **rest):
        seen[name] = [
            layer_name(inner)
            for layer in middleware
            for inner in getattr(layer, "layers", (layer,))
            if type(layer).__name__ not in ("_Vacant", "SubagentsMiddleware")
        ]
        return real(model, tools, middleware=middleware, name=name, **rest)

    monkeypatch.setattr(building, "create_agent", record)
    monkeypatch.setattr(deepagents.graph, "create_agent", record)
    building.build(spec)
    return seen


def test_what_is_described_is_what_is_built(monkeypatch):
    spec = tree(
        ScriptedChatModel(script=[]),
        look,
        approvals={"delete": True},
        subagents=(WORKER, SubagentSpec(name="free", description="Free.", approvals={})),
    )
    said, real = described(describe(spec)), built(spec, monkeypatch)
    assert said["main agent"] == real["tree"]
    assert said["subagent worker"] == real["worker"]
    assert said["subagent free"] == real["free"]
    assert "  subagents  worker, free\n" in describe(spec)
    assert "ApprovalsMiddleware" in said["subagent worker"]
    assert "ApprovalsMiddleware" not in said["subagent free"]


def test_the_order_of_the_default_stack_is_this(monkeypatch):
    spec = AgentSpec(name="plain", model=ScriptedChatModel(script=[]))
    assert built(spec, monkeypatch)["plain"] == [
        "FilesMiddleware",
        "PlanningMiddleware",
        "CompactionMiddleware",
        "TurnMiddleware",
        "AnthropicPromptCachingMiddleware",
        "LoopsMiddleware",
        "TextCallsMiddleware",
        "ConstrainedCallsMiddleware",
        "FailuresMiddleware",
        "LimitsMiddleware",
        "PaymentsMiddleware",
        "EffectsMiddleware",
        "ContentMiddleware",
    ]


def test_layers_of_an_agent_stand_between_core_and_inner(monkeypatch):
    from langchain.agents.middleware import ModelRetryMiddleware

    spec = AgentSpec(
        name="own", model=ScriptedChatModel(script=[]), middleware=(ModelRetryMiddleware(),)
    )
    layers = built(spec, monkeypatch)["own"]
    assert layers.index("TurnMiddleware") < layers.index("ModelRetryMiddleware")
    assert layers.index("ModelRetryMiddleware") < layers.index("LimitsMiddleware")
    assert described(describe(spec))["main agent"] == layers


def test_every_agent_plans(mode):
    model = ScriptedChatModel(
        script=[
            calls("write_todos", todos=[{"content": "delegate", "status": "in_progress"}]),
            calls("task", description="work", subagent_type="worker"),
            calls("write_todos", todos=[{"content": "work", "status": "completed"}]),
            says("worked"),
            says("done"),
        ]
    )
    state = run(tree(model), mode)
    assert state["todos"] == [{"content": "delegate", "status": "in_progress"}]
    assert all("write_todos" in names for names in model.tools_seen)
    assert all("## Planning" in request[0].text for request in model.requests)


def test_two_lists_in_one_message_are_refused(mode):
    from bathysphere.testing import together

    todo = {"content": "x", "status": "pending"}
    twice = together(calls("write_todos", todos=[todo]), calls("write_todos", todos=[]))
    state = run(tree(ScriptedChatModel(script=[twice, says("ok")])), mode)
    assert not state.get("todos")
    assert [m.status for m in state["messages"] if m.type == "tool"] == ["error", "error"]


@pytest.mark.parametrize("clash", ["read_file", "write_todos", "task"])
def test_a_tool_that_has_another_name_is_an_error(clash):
    @tool(clash)
    def mine(what: str) -> str:
        """Mine."""
        return what

    spec = tree(ScriptedChatModel(script=[]), mine)
    with pytest.raises(ConfigError, match=f"'tree' has two tools named '{clash}'"):
        building.build(spec)


def test_two_tools_of_one_name_in_a_subagent_are_an_error():
    sub = SubagentSpec(name="twin", description="Two of a kind.", tools=(look, look))
    with pytest.raises(ConfigError, match="'twin' has two tools named 'look'"):
        building.build(tree(ScriptedChatModel(script=[]), subagents=(sub,)))


@pytest.mark.parametrize(
    ("names", "what"), [(("a", "a"), "two subagents named 'a'"), (("",), "without")]
)
def test_subagents_must_be_told_apart(names, what):
    subs = tuple(SubagentSpec(name=name, description="x") for name in names)
    with pytest.raises(ConfigError, match=what):
        building.build(tree(ScriptedChatModel(script=[]), subagents=subs))


def test_a_permission_that_says_ask_asks_in_subagents_too(monkeypatch):
    from deepagents import FilesystemPermission

    ask = FilesystemPermission(operations=["write"], paths=["/keep/**"], mode="interrupt")
    layers = built(tree(ScriptedChatModel(script=[]), permissions=(ask,)), monkeypatch)
    assert "ApprovalsMiddleware" in layers["tree"]
    assert "ApprovalsMiddleware" in layers["worker"]


def test_an_agent_without_subagents_has_no_task_tool(mode):
    model = ScriptedChatModel(script=[says("alone")])
    run(tree(model, subagents=()), mode)
    assert "task" not in model.tools_seen[0]


def test_a_compiled_subagent_is_described_and_sent_out(mode):
    inner = building.build(AgentSpec(name="inner", model=ScriptedChatModel(script=[says("hi")])))
    sub = CompiledSubagent(name="made", description="Made elsewhere.", runnable=inner)
    model = ScriptedChatModel(
        script=[calls("task", description="x", subagent_type="made"), says("ok")]
    )
    spec = tree(model, subagents=(sub,))
    assert "subagent made (precompiled)" in describe(spec)
    assert [m.text for m in run(spec, mode)["messages"] if m.type == "tool"] == ["hi"]


def test_equal_specs_compare_equal():
    model = ScriptedChatModel(script=[])
    backend = tree(model).backend
    assert tree(model, backend=backend) == tree(model, backend=backend)
