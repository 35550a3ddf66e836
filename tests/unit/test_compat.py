"""`create_deep_agent` as deepagents and the older deep agents spell it, on this harness."""

import inspect
from dataclasses import dataclass
from typing import Annotated, NotRequired

import deepagents
import deepagents.backends
import pytest
from deepagents import FilesystemPermission
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import TodoListMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

import bathysphere
import bathysphere.backends
from bathysphere import create_deep_agent
from bathysphere.backends import (
    CompositeBackend,
    FilesystemBackend,
    ScratchBackend,
    StateBackend,
)
from bathysphere.core.errors import CallerError, ConfigError
from bathysphere.middleware.planning import GUIDANCE
from bathysphere.models.resolve import name_of
from bathysphere.testing import ScriptedChatModel, calls, fails, refuses, says, together

THREAD = {"configurable": {"thread_id": "1"}}
GO = {"messages": [("user", "Go")]}


@tool
def depth(place: str) -> str:
    """Say how deep it is."""
    return f"{place}: 459 m"


def send(name, task="Work."):
    return calls("task", description=task, subagent_type=name)


def task_text(model):
    (text,) = [
        schema["function"]["description"]
        for schema in model.tool_schemas(0)
        if schema["function"]["name"] == "task"
    ]
    return text


# ── the signature ──


def test_it_takes_every_argument_of_deepagents():
    theirs = inspect.signature(deepagents.create_deep_agent).parameters
    ours = inspect.signature(create_deep_agent).parameters
    assert list(theirs) == [name for name in ours if name in theirs]
    for name, parameter in theirs.items():
        assert ours[name].kind == parameter.kind
        assert ours[name].default == parameter.default


async def test_it_builds_an_agent_with_planning_files_and_a_helper():
    model = ScriptedChatModel(script=[calls("depth", place="Baltic"), says("Deep.")])
    agent = create_deep_agent(model, [depth], system_prompt="You dive.", name="diver")
    final = await agent.ainvoke(GO)
    assert final["messages"][-1].text == "Deep."
    assert agent.name == "diver"
    assert model.requests[0][0].text == f"You dive.\n\n{GUIDANCE}"
    assert {"depth", "write_todos", "write_file", "task"} <= set(model.tools_seen[0])
    assert "general-purpose" in task_text(model)
    assert final["usage"]["by"][""][0] == 2  # the harness counts
    model.assert_done()


async def test_a_prompt_may_be_a_system_message():
    model = ScriptedChatModel(script=[says("Yes.")])
    await create_deep_agent(model, system_prompt=SystemMessage("You dive.")).ainvoke(GO)
    assert model.requests[0][0].text.startswith("You dive.")


@pytest.mark.parametrize("spelling", ["positional", "keywords"])
async def test_the_older_spelling_is_understood(spelling):
    model = ScriptedChatModel(script=[send("critic"), says("Done.")])
    critic = ScriptedChatModel(script=[says("Fine.")])
    subagents = [
        {
            "name": "critic",
            "description": "Finds faults.",
            "prompt": "You find faults.",
            "model_settings": {"model": critic},
        }
    ]
    if spelling == "positional":
        agent = create_deep_agent([depth], "You dive.", model=model, subagents=subagents)
    else:
        agent = create_deep_agent(
            tools=[depth], instructions="You dive.", model=model, subagents=subagents
        )
    final = await agent.ainvoke(GO)
    assert final["messages"][-2].text == "Fine."
    assert model.requests[0][0].text.startswith("You dive.")
    assert critic.requests[0][0].text.startswith("You find faults.")
    assert "depth" in critic.tools_seen[0]
    model.assert_done()
    critic.assert_done()


def test_both_names_of_the_prompt_are_an_error():
    with pytest.raises(CallerError, match="Both system_prompt and instructions"):
        create_deep_agent(ScriptedChatModel(), system_prompt="a", instructions="b")


# ── models ──


async def test_no_model_is_the_one_of_the_settings(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    final = await create_deep_agent().ainvoke(GO)
    assert "`demo:tour`" in final["messages"][1].text


async def test_a_name_is_resolved_with_the_settings(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    final = await create_deep_agent("demo:tour").ainvoke(GO)
    assert "`demo:tour`" in final["messages"][1].text


def test_a_name_that_cannot_be_used_is_one_sentence(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        create_deep_agent("anthropic:claude-sonnet-4-6")


@pytest.mark.parametrize(
    ("name", "resolved"),
    [
        ("claude-sonnet-4-6", "anthropic:claude-sonnet-4-6"),
        ("gpt-5", "openai:gpt-5"),
        ("gemini-3.5-flash", "google_genai:gemini-3.5-flash"),
        ("openai:gpt-5", "openai:gpt-5"),
    ],
)
@pytest.mark.parametrize("place", ["main", "subagent", "model_settings"])
def test_a_name_without_a_provider_gets_the_one_it_belongs_to(monkeypatch, name, resolved, place):
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(variable, "none")
    specs = []
    monkeypatch.setattr("bathysphere.compat.build", lambda spec, **_: specs.append(spec))
    if place == "main":
        create_deep_agent(name)
        model = specs[0].model
    else:
        named = {"model": name} if place == "subagent" else {"model_settings": {"model": name}}
        sub = {"name": "diver", "description": "Dives.", **named}
        create_deep_agent(ScriptedChatModel(), subagents=[sub])
        model = specs[0].subagents[1].model
    assert name_of(model) == resolved


@pytest.mark.parametrize("name", ["qwen3", ""])
def test_a_name_whose_provider_is_not_known_says_what_to_write(name):
    with pytest.raises(ConfigError, match="Unknown provider of model") as caught:
        create_deep_agent(name)
    assert caught.value.hint == "name the provider, for example ollama:qwen3"


def test_something_that_is_no_model_is_an_error():
    with pytest.raises(CallerError, match="got int"):
        create_deep_agent(3)


async def test_a_model_of_the_callers_own_is_called_once():
    model = ScriptedChatModel(script=[refuses(429)])
    with pytest.raises(Exception, match="429"):
        await create_deep_agent(model).ainvoke(GO)
    model.assert_done()


# ── subagents ──


async def test_subagents_have_their_own_prompt_tools_model_and_layers():
    seen = []

    class Watching(AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            seen.append(request.model)
            return await handler(request)

    model = ScriptedChatModel(script=[send("diver"), says("Done.")])
    diver = ScriptedChatModel(script=[calls("depth", place="Baltic"), says("459.")])
    agent = create_deep_agent(
        model,
        subagents=[
            {
                "name": "diver",
                "description": "Dives.",
                "system_prompt": "You dive.",
                "tools": [depth],
                "model": diver,
                "middleware": [Watching()],
            }
        ],
    )
    await agent.ainvoke(GO)
    assert "depth" not in model.tools_seen[0]
    assert "depth" in diver.tools_seen[0]
    assert diver.requests[0][0].text.startswith("You dive.")
    assert seen == [diver, diver]
    diver.assert_done()


async def test_a_subagent_names_tools_of_the_main_agent():
    def sound(place: str) -> str:
        """Listen."""
        return place

    model = ScriptedChatModel(script=[send("diver"), says("Done.")])
    diver = ScriptedChatModel(script=[calls("depth", place="Baltic"), says("459.")])
    sub = {"name": "diver", "description": "Dives.", "model": diver, "tools": ["depth"]}
    await create_deep_agent(model, [depth, sound], subagents=[sub]).ainvoke(GO)
    assert "depth" in diver.tools_seen[0]
    assert "sound" not in diver.tools_seen[0]
    assert diver.requests[1][-1].text == "Baltic: 459 m"


async def test_names_and_tools_of_its_own_can_be_mixed():
    def sound(place: str) -> str:
        """Listen."""
        return place

    model = ScriptedChatModel(script=[send("diver"), says("Done.")])
    diver = ScriptedChatModel(script=[says("459.")])
    sub = {"name": "diver", "description": "Dives.", "model": diver, "tools": [sound, "depth"]}
    await create_deep_agent(model, [depth], subagents=[sub]).ainvoke(GO)
    assert {"depth", "sound"} <= set(diver.tools_seen[0])


@pytest.mark.parametrize(("tools", "available"), [([depth], "depth"), (None, "none")])
def test_a_tool_that_the_main_agent_does_not_have_is_an_error(tools, available):
    sub = {"name": "diver", "description": "Dives.", "tools": ["dpeth", "read_file"]}
    with pytest.raises(
        CallerError, match="Unknown tools of subagent 'diver': dpeth, read"
    ) as caught:
        create_deep_agent(ScriptedChatModel(), tools, subagents=[sub])
    assert caught.value.hint.startswith(f"available: {available};")


async def test_a_compiled_subagent_is_used_as_it_is():
    model = ScriptedChatModel(script=[send("echo"), says("Done.")])
    echo = create_agent(ScriptedChatModel(script=[says("Hello from below.")]))
    subagents = [{"name": "echo", "description": "Echoes.", "runnable": echo}]
    final = await create_deep_agent(model, subagents=subagents).ainvoke(GO)
    assert final["messages"][-2].text == "Hello from below."


async def test_a_general_purpose_subagent_of_the_callers_own_takes_the_place_of_ours():
    model = ScriptedChatModel(script=[says("Done.")])
    own = {"name": "general-purpose", "description": "Mine alone.", "system_prompt": "x"}
    await create_deep_agent(model, subagents=[own]).ainvoke(GO)
    listed = [line for line in task_text(model).splitlines() if line.startswith("- general-")]
    assert listed == ["- general-purpose: Mine alone."]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"promt": "typo"}, ": promt"),
        ({"mode": "fork"}, "Unsupported mode"),
        ({"graph_id": "far"}, "Remote subagents"),
        ({"description": ""}, "without a name or description"),
        (
            {"model_settings": {"base_url": "x"}},
            "Unsupported model_settings of subagent 'diver': base_url",
        ),
        ({"runnable": lambda state: state, "tools": []}, ": tools"),
    ],
)
def test_a_subagent_that_cannot_be_understood_is_a_clear_error(extra, message):
    sub = {"name": "diver", "description": "Dives.", **extra}
    with pytest.raises(CallerError, match=message):
        create_deep_agent(ScriptedChatModel(), subagents=[sub])


def test_two_subagents_of_one_name_are_an_error():
    sub = {"name": "diver", "description": "Dives."}
    with pytest.raises(CallerError, match="Duplicate subagent name: 'diver'"):
        create_deep_agent(ScriptedChatModel(), subagents=[sub, sub])


def test_older_model_settings_tune_a_copy_of_the_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    captured = {}
    monkeypatch.setattr(
        "bathysphere.compat.build", lambda spec, **_: captured.setdefault("spec", spec)
    )
    settings = {"model": "openai:gpt-5", "temperature": 0.5}
    sub = {"name": "a", "description": "b", "model_settings": settings}
    create_deep_agent(ScriptedChatModel(), subagents=[sub])
    assert captured["spec"].subagents[1].model.temperature == 0.5


# ── approvals and permissions ──


async def test_interrupt_on_waits_in_the_main_agent_and_in_subagents():
    agent = create_deep_agent(
        ScriptedChatModel(answer=_sends_then_deletes),
        interrupt_on={"delete": True},
        checkpointer=InMemorySaver(),
    )
    paused = await agent.ainvoke(GO, THREAD)
    waiting = paused["__interrupt__"]
    assert sorted(i.value["args"]["file_path"] for i in waiting) == ["/by-helper", "/by-main"]
    answers = {i.id: {"type": "reject", "message": "no"} for i in waiting}
    final = await agent.ainvoke(Command(resume=answers), THREAD)
    assert final["messages"][-1].text == "Done."


def _sends_then_deletes(messages):
    last = messages[-1]
    if last.type == "human" and last.text == "Go":
        return together(send("general-purpose"), calls("delete", file_path="/by-main"))
    if last.type == "human":
        return calls("delete", file_path="/by-helper")
    return says("Done.")


RULES = [FilesystemPermission(operations=["write"], paths=["/safe/**"], mode="interrupt")]


@pytest.mark.parametrize(
    "sub",
    [
        {},
        {"interrupt_on": {"delete": True}},
        {"permissions": RULES},
    ],
    ids=["inherits all", "has approvals of its own", "has rules of its own"],
)
async def test_a_rule_that_asks_asks_in_subagents_whatever_else_they_say(sub):
    main = ScriptedChatModel(script=[send("diver"), says("Done.")])
    diver = ScriptedChatModel(script=[calls("write_file", file_path="/safe/a", content="x")])
    agent = create_deep_agent(
        main,
        permissions=RULES,
        interrupt_on={"edit_file": True},
        subagents=[{"name": "diver", "description": "Dives.", "model": diver, **sub}],
        checkpointer=InMemorySaver(),
    )
    paused = await agent.ainvoke(GO, THREAD)
    assert paused["__interrupt__"][0].value["args"]["file_path"] == "/safe/a"


async def test_a_subagent_with_rules_of_its_own_still_waits_for_named_tools():
    main = ScriptedChatModel(script=[send("diver"), says("Done.")])
    diver = ScriptedChatModel(script=[calls("delete", file_path="/x")])
    sub = {"name": "diver", "description": "Dives.", "model": diver, "permissions": RULES}
    agent = create_deep_agent(
        main, interrupt_on={"delete": True}, subagents=[sub], checkpointer=InMemorySaver()
    )
    paused = await agent.ainvoke(GO, THREAD)
    assert paused["__interrupt__"][0].value["name"] == "delete"


async def test_a_denied_path_is_a_result():
    deny = FilesystemPermission(operations=["write"], paths=["/safe/**"], mode="deny")
    model = ScriptedChatModel(
        script=[calls("write_file", file_path="/safe/a", content="x"), says("I may not.")]
    )
    final = await create_deep_agent(model, permissions=[deny]).ainvoke(GO)
    assert final["messages"][-2].status == "error"
    assert "/safe/a" not in final.get("files", {})


# ── the rest ──


async def test_a_backend_holds_the_files(tmp_path):
    model = ScriptedChatModel(
        script=[calls("write_file", file_path="/a.md", content="x"), says("Done.")]
    )
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    await create_deep_agent(model, backend=backend).ainvoke(GO)
    assert (tmp_path / "a.md").read_text() == "x"


WRITE = calls("write_file", file_path="/a.md", content="x")


async def test_a_backend_factory_chooses_the_storage_of_each_run(tmp_path):
    @dataclass
    class Who:
        name: str

    def files_of(runtime):
        return FilesystemBackend(root_dir=tmp_path / runtime.context.name, virtual_mode=True)

    model = ScriptedChatModel(script=[WRITE, says("Done."), WRITE, says("Done.")])
    agent = create_deep_agent(model, backend=files_of, context_schema=Who)
    await agent.ainvoke(GO, context=Who("ann"))
    agent.invoke(GO, context=Who("bob"))
    assert (tmp_path / "ann/a.md").read_text() == "x"
    assert (tmp_path / "bob/a.md").read_text() == "x"


FILE_CALLS = [
    WRITE,
    calls("read_file", file_path="/a.md"),
    calls("edit_file", file_path="/a.md", old_string="x", new_string="deep"),
    calls("ls", path="/"),
    calls("glob", pattern="*.md"),
    calls("grep", pattern="deep"),
    calls("delete", file_path="/a.md"),
]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_every_file_tool_works_over_a_factory(way):
    backends = []

    def files_of(runtime):
        backends.append(CompositeBackend(default=StateBackend(), routes={}))
        return backends[-1]

    model = ScriptedChatModel(script=[*FILE_CALLS, says("Done.")])
    run = getattr(create_deep_agent(model, backend=files_of), way)
    final = run(GO) if way == "invoke" else await run(GO)
    results = [message for message in final["messages"] if message.type == "tool"]
    assert [message.status for message in results] == ["success"] * len(FILE_CALLS)
    assert "/a.md" in results[5].text
    assert len(backends) >= len(FILE_CALLS)


async def test_files_of_parallel_subagents_meet_over_a_factory():
    def answer(messages):
        last = messages[-1]
        if last.type == "human" and last.text == "Go":
            return together(send("general-purpose", "/one.md"), send("general-purpose", "/two.md"))
        if last.type == "human":
            return calls("write_file", file_path=last.text, content="x")
        return says("Done.")

    agent = create_deep_agent(
        ScriptedChatModel(answer=answer), backend=lambda runtime: ScratchBackend()
    )
    final = await agent.ainvoke(GO)
    assert sorted(final["files"]) == ["/one.md", "/two.md"]


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (lambda runtime: None, "The backend factory returned NoneType"),
        (lambda runtime: StateBackend(runtime), "without a runtime, as in StateBackend()"),
    ],
    ids=["returns nothing", "passes the runtime on"],
)
async def test_a_factory_that_makes_no_backend_says_so(factory, message):
    model = ScriptedChatModel(script=[WRITE, says("It failed.")])
    final = await create_deep_agent(model, backend=factory).ainvoke(GO)
    assert message in final["messages"][-2].text


@pytest.mark.parametrize("backend", [StateBackend, 3], ids=["a class", "a number"])
def test_something_that_is_no_backend_is_a_clear_error(backend):
    with pytest.raises(CallerError, match=r"Invalid backend: (StateBackend|int)") as caught:
        create_deep_agent(ScriptedChatModel(), backend=backend)
    assert "pass an instance" in caught.value.hint


@pytest.mark.parametrize("place", ["main", "subagent"])
def test_rules_for_paths_are_not_taken_with_a_factory_which_may_hide_links(place):
    sub = {"name": "diver", "description": "Dives."}
    own = (
        {"permissions": RULES} if place == "main" else {"subagents": [sub | {"permissions": RULES}]}
    )
    with pytest.raises(CallerError, match="cannot be combined with a backend factory"):
        create_deep_agent(ScriptedChatModel(), backend=lambda runtime: StateBackend(), **own)


def test_deepagents_backends_and_state_have_their_names_here():
    for name in bathysphere.backends.__all__:
        theirs = getattr(deepagents.backends, name, None)
        assert getattr(bathysphere.backends, name) is (theirs or ScratchBackend)
        assert name in dir(bathysphere.backends)
    assert bathysphere.DeepAgentState is deepagents.DeepAgentState
    assert bathysphere.FilesystemPermission is FilesystemPermission
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = bathysphere.backends.nothing_here


async def test_langchains_own_todo_list_may_be_given_and_is_not_there_twice():
    model = ScriptedChatModel(script=[says("Done.")])
    await create_deep_agent(model, middleware=[TodoListMiddleware()]).ainvoke(GO)
    assert model.tools_seen[0].count("write_todos") == 1


async def test_memory_and_skills_stand_in_the_prompt(tmp_path):
    (tmp_path / "AGENTS.md").write_text("Always speak Danish.")
    (tmp_path / "skills/sail").mkdir(parents=True)
    (tmp_path / "skills/sail/SKILL.md").write_text(
        "---\nname: sail\ndescription: How to sail.\n---\nPull the rope.\n"
    )
    model = ScriptedChatModel(script=[says("Ja.")])
    backend = FilesystemBackend(root_dir=tmp_path, virtual_mode=True)
    agent = create_deep_agent(model, backend=backend, memory=["/AGENTS.md"], skills=["/skills/"])
    await agent.ainvoke(GO)
    assert "Always speak Danish." in model.requests[0][0].text
    assert "How to sail." in model.requests[0][0].text


async def test_more_state_is_shared_with_subagents():
    def keep(old, new):
        return new or old

    class Log(AgentState):
        ship: NotRequired[Annotated[str, keep]]

    seen = []

    class Watching(AgentMiddleware):
        async def awrap_model_call(self, request, handler):
            seen.append(request.state.get("ship"))
            return await handler(request)

    model = ScriptedChatModel(script=[send("diver"), says("Down."), says("Done.")])
    sub = {"name": "diver", "description": "Dives.", "middleware": [Watching()]}
    agent = create_deep_agent(model, state_schema=Log, subagents=[sub])
    final = await agent.ainvoke({**GO, "ship": "Barton"})
    assert seen == ["Barton"]
    assert final["ship"] == "Barton"


async def test_a_structured_answer():
    class Depth(BaseModel):
        metres: int

    model = ScriptedChatModel(script=[calls("Depth", metres=459)])
    final = await create_deep_agent(model, response_format=Depth).ainvoke(GO)
    assert final["structured_response"] == Depth(metres=459)


async def test_a_failing_tool_does_not_end_the_run():
    @tool
    def broken() -> str:
        """Break."""
        raise OSError("rope snapped")

    model = ScriptedChatModel(script=[calls("broken"), says("It broke.")])
    final = await create_deep_agent(model, [broken]).ainvoke(GO)
    assert "rope snapped" in final["messages"][-2].text


async def test_a_failing_model_reaches_the_caller():
    with pytest.raises(ConnectionError, match="gone"):
        await create_deep_agent(ScriptedChatModel(script=[fails(ConnectionError("gone"))])).ainvoke(
            GO
        )


def test_two_tools_of_one_name_are_an_error():
    @tool
    def write_file(x: str) -> str:
        """Mine."""
        return x

    with pytest.raises(ConfigError, match="two tools named 'write_file'"):
        create_deep_agent(ScriptedChatModel(), [write_file])


# ── the package's own door ──


def test_the_public_names_are_few_and_all_load():
    assert len(bathysphere.__all__) <= 20
    assert sorted(bathysphere.__all__) == bathysphere.__all__
    for name in bathysphere.__all__:
        assert getattr(bathysphere, name) is not None
        assert name in dir(bathysphere)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = bathysphere.nothing_here
