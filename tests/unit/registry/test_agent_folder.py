"""An agent as a folder: what it builds, and how its mistakes are said."""

import sys
from dataclasses import fields
from pathlib import Path

import pytest
from langchain_core.messages import SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from bathysphere.core.errors import ConfigError
from bathysphere.core.usage import Limits
from bathysphere.harness.build import build
from bathysphere.harness.spec import GENERAL_PURPOSE, AgentSpec
from bathysphere.harness.web_tools import WebAccess
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.models.resolve import Models, name_of
from bathysphere.models.settings import ModelSettings
from bathysphere.registry import folder_tools
from bathysphere.registry.agent_file import LimitsTable
from bathysphere.registry.agent_folder import read_agent_folder
from bathysphere.registry.agents import agent_settings, folder_agent, resolve_agent, uses_web
from bathysphere.registry.errors import LoadError
from bathysphere.registry.langgraph_json import read_project
from bathysphere.registry.loading import load_agents, load_one
from bathysphere.registry.selection import Selection
from bathysphere.registry.targets import FolderTarget, parse_target
from bathysphere.server.process.assembly import graphs_of
from bathysphere.testing import ScriptedChatModel, calls, says

SETTINGS = ModelSettings(main="demo:tour")
TOOLS = '''
from langchain_core.tools import tool

def count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())

@tool
def shout(text: str) -> str:
    """Say it loudly."""
    return text.upper()

def silent(text: str) -> str:
    return text

number = 5
'''


@pytest.fixture(autouse=True)
def _imports_as_before(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path):
    """Write the files of an agent; its folder as a target."""

    def write(agent: str = "", *, name: str = "helper", **files: str) -> FolderTarget:
        folder = tmp_path / "agents" / name
        files = {"prompt.md": "You help.", "tools.py": TOOLS, **files, "agent.toml": agent}
        for place, text in files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)
        target = parse_target(f"agents/{name}", folder=tmp_path)
        assert isinstance(target, FolderTarget)
        return target

    return write


def spec_of(target: FolderTarget, model=None) -> AgentSpec:
    if model is None:
        found = resolve_agent(folder_agent(target), SETTINGS)
        assert isinstance(found, AgentSpec)
        return found
    models = Models(main=model, subagent=model, summary=model, audit=model)
    return read_agent_folder(target).spec(models=models)


def refusal(target: FolderTarget) -> str:
    with pytest.raises(LoadError) as refused:
        folder_agent(target)
    assert refused.value.hint
    return refused.value.message


# ── what it builds ──


def test_a_prompt_and_an_empty_file_are_an_agent(write):
    spec = spec_of(write())
    assert (spec.name, spec.prompt, spec.description) == ("helper", "You help.", "")
    assert [(sub.name, sub.description) for sub in spec.subagents] == [
        (GENERAL_PURPOSE.name, GENERAL_PURPOSE.description)
    ]
    assert (spec.tools, spec.approvals, spec.limits, spec.skills) == ((), {}, Limits(), ())
    assert spec.middleware  # the settings' retries


def test_every_key_reaches_the_spec(write):
    agent = """
        name = "first mate"
        description = "Counts"
        tools = ["ask_user", "tools.py:count", "tools.py:shout"]
        max_questions = 1
        approval_mode = "batched"
        [approvals]
        count = true
        shout = ["approve", "reject"]
        [limits]
        model_calls = 7
        tool_seconds = 1.5
        [subagents.diver]
        description = "Dives"
        tools = ["tools.py:count"]
        [subagents.general-purpose]
        prompt = "Work."
    """
    spec = spec_of(write(agent, **{"subagents/diver.md": "You dive."}))
    assert (spec.name, spec.description) == ("first mate", "Counts")
    assert [tool.name for tool in spec.tools] == ["count", "shout"]
    assert spec.limits == Limits(model_calls=7, tool_seconds=1.5)
    assert spec.approvals["count"] is True
    assert spec.approval_mode == "batched"
    assert spec.approvals["shout"] == {"allowed_decisions": ["approve", "reject"]}
    [asking] = [layer for layer in spec.middleware if isinstance(layer, ClarifyMiddleware)]
    assert asking.max_questions == 1
    diver, general = spec.subagents
    assert (diver.name, diver.description, diver.prompt) == ("diver", "Dives", "You dive.")
    assert [tool.name for tool in diver.tools] == ["count"]
    assert (general.description, general.prompt) == (GENERAL_PURPOSE.description, "Work.")
    assert general.tools is None


def test_an_empty_table_of_subagents_means_none(write):
    assert spec_of(write("[subagents]")).subagents == ()


def test_the_limits_of_a_file_are_those_of_a_run():
    assert {field.name for field in fields(Limits)} == set(LimitsTable.model_fields)


def test_it_calls_its_tools(write):
    model = ScriptedChatModel(script=[calls("count", text="a b c"), says("Three.")])
    graph = build(spec_of(write('tools = ["tools.py:count"]'), model))
    ended = graph.invoke({"messages": [("user", "How many?")]})
    assert [message.text for message in ended["messages"][-2:]] == ["3", "Three."]
    assert model.requests[0][0].text.startswith("You help.")


def test_a_gated_tool_waits_for_the_person(write):
    model = ScriptedChatModel(script=[calls("count", text="a b c"), says("Three.")])
    agent = 'tools = ["tools.py:count"]\n[approvals]\ncount = ["approve"]'
    graph = build(spec_of(write(agent), model), checkpointer=InMemorySaver())
    asked = graph.invoke(
        {"messages": [("user", "How many?")]}, {"configurable": {"thread_id": "1"}}
    )
    [question] = asked["__interrupt__"]
    assert question.value["tool_call_id"] == "call_1"


SKILL = "---\nname: sail\ndescription: How to sail\n---\nHoist the main."


async def test_skills_are_in_the_prompt_and_can_be_read_but_not_changed(write, tmp_path):
    change = {"file_path": "/skills/sail/SKILL.md", "content": "Sink."}
    model = ScriptedChatModel(
        script=[
            calls("read_file", file_path="/skills/sail/SKILL.md"),
            calls("write_file", change),
            calls("edit_file", file_path=change["file_path"], old_string="H", new_string="h"),
            calls("delete", file_path=change["file_path"]),
            calls("read_file", file_path="/skills/../agent.toml"),
            calls("write_file", file_path="/note.md", content="scratch"),
            calls("task", description="Sail.", subagent_type="general-purpose"),
            says("Sailed."),
            says("Done."),
        ]
    )
    target = write("", **{"skills/sail/SKILL.md": SKILL})
    ended = await build(spec_of(target, model)).ainvoke({"messages": [("user", "Sail")]})
    results = [message.text for message in ended["messages"] if message.type == "tool"]
    assert "How to sail" in model.requests[0][0].text
    assert "Hoist the main." in results[0]
    assert all("read-only" in text for text in results[1:4]), results[1:4]
    assert "not allowed" in results[4] or "rror" in results[4]
    assert list(ended["files"]) == ["/note.md"]
    assert any(
        isinstance(each[0], SystemMessage) and "How to sail" in each[0].text
        for each in model.requests[7:8]
    )
    assert (target.folder / "skills/sail/SKILL.md").read_text() == SKILL


def test_tools_of_several_folders_do_not_mix(write):
    for number in (1, 2, 3):
        tools = f'def count() -> int:\n    """Count."""\n    return {number}'
        target = write('tools = ["tools.py:count"]', name=f"n{number}", **{"tools.py": tools})
        [count] = spec_of(target).tools
        assert count.invoke({}) == number


def test_a_module_of_the_project_has_tools_too(write, tmp_path):
    (tmp_path / "shop_tools.py").write_text(TOOLS)
    assert [tool.name for tool in spec_of(write('tools = ["shop_tools:shout"]')).tools] == ["shout"]


def test_tools_for_the_web_use_the_access_of_the_process(write):
    agent = """
        tools = ["fetch_page", "tools.py:count", "web_search"]
        [subagents.diver]
        description = "Dives"
        tools = ["web_search"]
    """
    found = folder_agent(write(agent))
    access = WebAccess()
    spec = resolve_agent(found, SETTINGS, web=access)
    assert [tool.name for tool in spec.tools] == ["fetch_page", "web_search", "count"]
    assert spec.tools[0].coroutine.__self__ is access
    assert [tool.name for tool in spec.subagents[0].tools] == ["web_search"]
    assert uses_web(found)
    assert not uses_web(folder_agent(write('tools = ["ask_user"]')))


def test_reading_pages_needs_its_extra(write, monkeypatch):
    monkeypatch.setattr(folder_tools, "find_spec", lambda name: None)
    said = refusal(write('tools = [\n"fetch_page"]'))
    assert said.startswith("agents/helper/agent.toml:2: fetch_page needs an optional dependency")
    assert "bathysphere[research]" in said


# ── models ──

MODELS = """
[models]
main = "lm-studio:big"
summary = "lm-studio:small"
[subagents.diver]
description = "Dives"
model = "lm-studio:deep"
[subagents.sailor]
description = "Sails"
"""


def test_its_models_replace_those_of_the_settings(write):
    agent = folder_agent(write(MODELS))
    spec = resolve_agent(agent, ModelSettings(main="demo:tour", subagent="demo:tour"))
    diver, sailor = spec.subagents
    named = [spec.model, spec.summary_model, spec.subagent_model, diver.model]
    expected = ["lm-studio:big", "lm-studio:small", "demo:tour", "lm-studio:deep"]
    assert [name_of(model) for model in named] == expected
    assert sailor.model is None


def test_a_model_of_the_command_line_replaces_the_main_one(write):
    agent = folder_agent(write(MODELS))
    spec = resolve_agent(agent, SETTINGS, model="demo:tour")
    assert name_of(spec.model) == "demo:tour"
    assert agent_settings(agent, SETTINGS).choice("main").name == "lm-studio:big"


def test_a_model_that_cannot_be_used_is_said_when_a_process_starts(write):
    agent = folder_agent(write('[models]\nmain = "demo:nothing"'))
    with pytest.raises(LoadError, match="Cannot load agents/helper: Unknown demo: nothing"):
        graphs_of(SETTINGS, {"helper": agent})
    broken = ModelSettings(main="demo:nothing")
    with pytest.raises(ConfigError, match=r"^Unknown demo: nothing"):
        resolve_agent(folder_agent(write("")), broken)


# ── mistakes ──


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("\ntoolz = []", "2: Unknown key 'toolz'; did you mean 'tools'?"),
        ("[limits]\nmodelcalls = 5", "2: Unknown key 'modelcalls'; did you mean 'model_calls'?"),
        ("[models]\naudit = 'a:b'", "2: Unknown key 'audit'; the keys are main, subagent, summary"),
        ("\n\nprompt = 'Hi'", "3: Unknown key 'prompt'; write the prompt to prompt.md"),
        ("model = 'a:b'", "1: Unknown key 'model'; use [models]"),
        (
            "[mcp_servers.web]\nurl = 'x'",
            "1: Unknown key 'mcp_servers'; configure MCP servers in an mcp.json",
        ),
        (
            "[subagents.diver]\ndescription = 'D'\n\nprompts = 'x'",
            "4: Unknown key 'prompts'; did you mean 'prompt'?",
        ),
        ("[subagents.diver]\nmodel = 'a:b'", "1: Subagent 'diver' needs a description"),
        ("name = 5", "1: 'name': Input should be a valid string"),
        ("name = 'a/b'", "1: Invalid agent name 'a/b'"),
        ("tools = 'tools.py:count'", "1: 'tools': Input should be a valid list"),
        ("tools = [\n'ask_user',\n5]", "1: 'tools': Input should be a valid string"),
        (
            "[models]\nmain = 'gpt'",
            "2: 'models.main': Invalid model name: 'gpt'; use prov",
        ),
        ("[limits]\nseconds = 0", "2: 'limits.seconds': Input should be greater than 0"),
        ("[limits]\ntokens = true", "2: 'limits.tokens': Input should be a valid integer"),
        ("[approvals]\ntask = 'yes'", "2: 'approvals.task': Use true, or a list of decisions"),
        ("[approvals]\ntask = ['allow']", "2: 'approvals.task': Use true, or a list of decisions"),
        ("[approvals]\ntask = []", "2: 'approvals.task': Use true, or a list of decisions"),
        (
            "[approvals]\n\nwritefile = true",
            "3: Unknown tool 'writefile'; did you mean",
        ),
        ("[approvals]\ncount = true", "2: Unknown tool 'count'; its tools are delete, edit_file"),
        ("tools = ['ask_usr']", "1: Unknown tool 'ask_usr'; did you mean 'ask_user'?"),
        (
            "tools = [\n  'ask_user',\n  'count',\n]",
            "3: Unknown tool 'count'; use file.py:",
        ),
        ("tools = [\n'tools.py:coun']", "2: Cannot load tools.py:coun: there is no 'coun'"),
        ("tools = [\n'other.py:count']", "2: File not found: "),
        ("tools = [\n\n'tools.py:number']", "3: tools.py:number is of type int, not a function"),
        ("tools = ['tools.py:silent']", "1: tools.py:silent cannot be a tool: Function must have"),
        ("tools = ['no_such_module_x:count']", "1: Cannot load no_such_module_x:count: No module"),
        (
            "[subagents.diver]\ndescription = 'D'\ntools = ['ask_user']",
            "3: Only the main agent can ask the person",
        ),
        ("name = 'a'\nname = 'b'", "2: Invalid TOML: Cannot overwrite a value"),
        ("name = 'a'\ntools = [", "2: Invalid TOML: "),
        ("name = helper", "1: Invalid TOML: Invalid value"),
    ],
)
def test_a_mistake_is_said_with_its_line(write, agent, said):
    assert f"agents/helper/agent.toml:{said}" in refusal(write(agent))


def test_all_mistakes_of_a_file_are_said_at_once(write):
    said = refusal(write("[limits]\nfoo = 1\n\n[models]\nmain = 5")).splitlines()
    assert [line.split(":")[1] for line in said] == ["2", "5"]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"prompt.md": " \n"}, "agents/helper/prompt.md:1: The prompt is empty"),
        ({"skills/sail/notes.md": "x"}, "File not found: agents/helper/skills/sail/SKILL.md"),
        ({"skills/sail/SKILL.md": "Hoist."}, "skills/sail/SKILL.md:1: No front matter"),
        (
            {"skills/sail/SKILL.md": "---\nname: sail\n---\n"},
            "SKILL.md:1: The front matter has no 'description'",
        ),
        (
            {"skills/sail/SKILL.md": "---\ndescription: x\nname: row\n---\n"},
            "SKILL.md:3: The name 'row' differs from its folder 'sail'",
        ),
        ({"subagents/diver.md": "Dive."}, "agents/helper/subagents/diver.md: No subagent is named"),
    ],
)
def test_a_mistake_in_another_file_is_said_with_its_place(write, files, said):
    assert said in refusal(write("", **files))


def test_a_missing_prompt_is_said(write):
    target = write()
    (target.folder / "prompt.md").unlink()
    assert refusal(target) == "File not found: agents/helper/prompt.md"


def test_two_prompts_of_a_subagent_are_refused(write):
    agent = "[subagents.diver]\ndescription = 'D'\nprompt = 'x'"
    said = refusal(write(agent, **{"subagents/diver.md": "Dive."}))
    assert said.startswith("agents/helper/agent.toml:3: Subagent 'diver' has two prompts")


def test_a_tool_named_like_one_of_the_harness_is_refused(write):
    tools = 'def ls(path: str) -> str:\n    """List."""\n    return path'
    said = refusal(write('tools = ["tools.py:ls"]', **{"tools.py": tools}))
    assert "Cannot load agents/helper/agent.toml: Agent 'helper' has two tools named 'ls'" in said


def test_a_tool_whose_file_fails_is_said_with_both_places(write):
    said = refusal(write("\ntools = ['tools.py:count']", **{"tools.py": "x = 1\ny = x / 0"}))
    assert said.startswith("agents/helper/agent.toml:2: Cannot load tools.py:count: ZeroDivision")
    assert "agents/helper/tools.py, line 2)" in said


# ── loading ──


def test_a_folder_is_loaded_by_its_target_and_by_langgraph_json(write, tmp_path):
    target = write("description = 'Helps'")
    found = load_agents(Selection(agents=(target,)), is_only=True)
    assert {name: agent.description for name, agent in found.items()} == {"helper": "Helps"}
    (tmp_path / "langgraph.json").write_text('{"graphs": {"mate": "./agents/helper"}}')
    project = read_project(tmp_path / "langgraph.json")
    agent = load_one(Selection(projects=(project,)), "mate")
    assert (agent.name, agent.description) == ("mate", "Helps")
    assert graphs_of(SETTINGS, {"mate": agent}).get("mate").name == "mate"


def test_a_folder_without_an_agent_file_is_refused_by_langgraph_json(tmp_path):
    (tmp_path / "agents").mkdir()
    file = tmp_path / "langgraph.json"
    file.write_text('{"graphs": {"mate": "./agents"}}')
    with pytest.raises(LoadError, match=r"'graphs\.mate' in .* cannot be used: No agent\.toml"):
        read_project(file)


def test_every_label_is_relative_to_the_project(tmp_path):
    target = FolderTarget(text="x", folder=Path("/elsewhere/helper"), project=tmp_path)
    assert target.label("agent.toml") == "/elsewhere/helper/agent.toml"
