"""The simple agent: what its model sees, and what waits for the person."""

import difflib
import json
import os
from pathlib import Path

import pytest
from deepagents.backends import FilesystemBackend
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.simple import SimpleConfig, spec
from bathysphere.agents.simple import settings as simple_settings
from bathysphere.agents.simple.settings import SimpleSettings
from bathysphere.core.errors import ConfigError
from bathysphere.core.usage import Limits, total
from bathysphere.device.device import Device
from bathysphere.device.documents import MemoryDocuments
from bathysphere.harness.build import build
from bathysphere.harness.describe import describe
from bathysphere.harness.web_tools import WEB_TOOLS, WebAccess
from bathysphere.middleware.reliability import reliability
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, calls, says, together

SNAPSHOTS = Path(__file__).parents[2] / "snapshots" / "simple"
THREAD = {"configurable": {"thread_id": "1"}}


def models_of(model):
    return Models(main=model, subagent=model, summary=model, audit=model)


def simple_with(model, **extra):
    return build(spec(models=models_of(model), **extra), checkpointer=InMemorySaver())


def check_snapshot(name, text):
    """Compare with the stored text; with UPDATE_SNAPSHOTS=1 store it instead."""
    path = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    diff = difflib.unified_diff(
        stored.splitlines(), text.splitlines(), "stored", "now", lineterm=""
    )
    assert stored == text, "\n".join(
        [f"{path.name} changed; if that is meant: UPDATE_SNAPSHOTS=1 pytest {__file__}", *diff]
    )


@pytest.fixture
async def asked():
    """The model of an agent that was asked one thing."""
    model = ScriptedChatModel(script=[says("Hello.")])
    await simple_with(model).ainvoke({"messages": [("user", "Hi")]}, THREAD)
    model.assert_done()
    return model


async def test_the_model_reads_this_prompt(asked):
    check_snapshot("system_prompt.md", asked.requests[0][0].text + "\n")


async def test_the_model_sees_these_tools(asked):
    schemas = sorted(asked.tool_schemas(0), key=lambda tool: tool["function"]["name"])
    check_snapshot("tools.json", json.dumps(schemas, indent=2, sort_keys=True) + "\n")


def test_the_stack_is_this():
    layers = reliability(ModelSettings.model_construct())
    described = describe(spec(models=models_of(ScriptedChatModel()), reliability=layers))
    check_snapshot("stack.txt", described + "\n")


def test_by_default_there_is_no_word_of_the_web(monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_SIMPLE_WEB", raising=False)
    config = SimpleSettings.from_environment().config(WebAccess())
    assert config == SimpleConfig()
    made = spec(models=models_of(ScriptedChatModel()), config=config)
    assert made.tools == ()
    assert "web" not in made.prompt


async def test_with_the_web_the_model_reads_this_prompt_and_has_two_tools_more(asked):
    model = ScriptedChatModel(script=[says("Hello.")])
    config = SimpleSettings(web="on").config(WebAccess())
    await simple_with(model, config=config).ainvoke({"messages": [("user", "Hi")]}, THREAD)
    check_snapshot("system_prompt_web.md", model.requests[0][0].text + "\n")
    assert set(model.tools_seen[0]) - set(asked.tools_seen[0]) == set(WEB_TOOLS)
    assert not set(asked.tools_seen[0]) - set(model.tools_seen[0])


@pytest.mark.parametrize("by_helper", [False, True])
async def test_with_ask_nothing_leaves_before_it_is_approved(by_helper):
    search = calls("web_search", query="what my notes say")
    helped = calls("task", description="Search.", subagent_type="general-purpose")
    main = ScriptedChatModel(script=[helped if by_helper else search, says("Not searched.")])
    helper = ScriptedChatModel(script=[search, says("I may not.")])
    models = Models(main=main, subagent=helper, summary=main, audit=main)
    config = SimpleSettings(web="ask").config(WebAccess())
    agent = build(spec(models=models, config=config), checkpointer=InMemorySaver())
    paused = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    (interrupt,) = paused["__interrupt__"]
    assert (interrupt.value["type"], interrupt.value["name"]) == ("tool_approval", "web_search")
    answer = {interrupt.id: {"type": "reject", "message": "Keep it here."}}
    await agent.ainvoke(Command(resume=answer), THREAD)
    asked = helper if by_helper else main
    assert "Keep it here." in asked.requests[1][-1].text
    main.assert_done()


def test_what_waited_without_the_web_waits_with_it():
    for way in ("ask", "on"):
        config = SimpleSettings(web=way).config(WebAccess())
        assert set(SimpleConfig().approvals) <= set(config.approvals)
        assert set(WEB_TOOLS) <= set(config.approvals) or way == "on"


def test_a_wrong_setting_and_a_missing_extra_are_said(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_SIMPLE_WEB", "true")
    with pytest.raises(ConfigError, match="Invalid BATHYSPHERE_SIMPLE_WEB"):
        SimpleSettings.from_environment()
    monkeypatch.setattr(simple_settings, "find_spec", lambda name: None)
    assert SimpleSettings(web="off").config(WebAccess()) == SimpleConfig()
    with pytest.raises(ConfigError, match="fetch_page needs") as missing:
        SimpleSettings(web="on").config(WebAccess())
    assert "bathysphere[research]" in missing.value.hint


async def test_a_snapshot_that_differs_shows_the_difference(monkeypatch):
    monkeypatch.delenv("UPDATE_SNAPSHOTS", raising=False)
    stored = (SNAPSHOTS / "system_prompt.md").read_text(encoding="utf-8")
    with pytest.raises(AssertionError, match="UPDATE_SNAPSHOTS=1") as caught:
        check_snapshot("system_prompt.md", stored.replace("careful", "careless"))
    assert "+You are a careless assistant" in str(caught.value)


async def test_it_reads_a_document_on_the_device_and_proposes_a_change_to_it():
    change = {"file_id": "note", "search": "deep", "replace": "very deep", "description": "More."}
    model = ScriptedChatModel(
        script=[
            calls("read_user_file", file_id="note"),
            calls("patch_user_file", change, id="call_2"),
            says("Changed."),
        ]
    )
    documents = MemoryDocuments({"note": "The sea is deep."})
    device, agent = Device(documents), simple_with(model)
    state = await agent.ainvoke({"messages": [("user", "Change my note.")]}, THREAD)
    while waiting := state.get("__interrupt__"):
        answers = {each.id: device.run(each.value["tool_call"]) for each in waiting}
        state = await agent.ainvoke(Command(resume=answers), THREAD)
    assert documents.read("note").text == "The sea is very deep."
    first = state["disclosures"][0]
    assert (first["file"], first["start"], first["end"]) == ("note", 0, 16)


async def test_a_new_file_needs_no_approval_and_a_change_waits_for_it():
    change = {"file_path": "/a.md", "old_string": "one", "new_string": "two"}
    model = ScriptedChatModel(
        script=[
            calls("write_file", file_path="/a.md", content="one"),
            together(calls("edit_file", change, id="c1"), calls("read_file", file_path="/a.md")),
            says("Changed."),
        ]
    )
    agent = simple_with(model)
    paused = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    (interrupt,) = paused["__interrupt__"]
    assert interrupt.value["type"] == "tool_approval"
    assert interrupt.value["args"] == change
    assert paused["files"]["/a.md"]["content"] == "one"

    final = await agent.ainvoke(Command(resume={interrupt.id: {"type": "approve"}}), THREAD)
    assert final["files"]["/a.md"]["content"] == "two"
    model.assert_done()


@pytest.mark.parametrize("again", ["/a.md", "a.md", "/./a.md"])
async def test_writing_over_a_file_waits_and_a_rejection_keeps_the_file(again):
    model = ScriptedChatModel(
        script=[
            calls("write_file", file_path="/a.md", content="one"),
            calls("write_file", file_path=again, content="two"),
            says("Left as it was."),
        ]
    )
    agent = simple_with(model)
    paused = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    (interrupt,) = paused["__interrupt__"]
    assert interrupt.value["args"]["content"] == "two"
    final = await agent.ainvoke(Command(resume={interrupt.id: {"type": "reject"}}), THREAD)
    assert final["files"]["/a.md"]["content"] == "one"


async def test_in_files_that_are_not_its_own_every_write_waits(tmp_path):
    model = ScriptedChatModel(script=[calls("write_file", file_path="/new.md", content="one")])
    agent = simple_with(model, backend=FilesystemBackend(root_dir=tmp_path, virtual_mode=True))
    paused = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    assert paused["__interrupt__"][0].value["name"] == "write_file"
    assert list(tmp_path.iterdir()) == []


async def test_a_helper_needs_approval_too_and_works_with_the_subagent_model():
    main = ScriptedChatModel(
        script=[
            calls("task", description="Tidy up.", subagent_type="general-purpose"),
            says("Not tidied."),
        ]
    )
    helper = ScriptedChatModel(script=[calls("delete", file_path="/a.md"), says("I may not.")])
    agent = build(
        spec(models=Models(main=main, subagent=helper, summary=main, audit=main)),
        checkpointer=InMemorySaver(),
    )
    paused = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    (interrupt,) = paused["__interrupt__"]
    assert interrupt.value["name"] == "delete"
    answer = {interrupt.id: {"type": "reject", "message": "Keep it."}}
    final = await agent.ainvoke(Command(resume=answer), THREAD)
    assert final["messages"][-1].text == "Not tidied."
    assert "Keep it." in helper.requests[1][-1].text
    main.assert_done()
    helper.assert_done()


async def test_a_deployment_can_change_what_is_gated_and_the_limits():
    model = ScriptedChatModel(script=[calls("delete", file_path="/a.md")])
    config = SimpleConfig(approvals=(), limits=Limits(model_calls=1))
    agent = simple_with(model, config=config)
    final = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    assert "__interrupt__" not in final
    assert total(final["usage"]).stopped == {"limit": "model_calls", "max": 1}
    model.assert_done()


# ── skills ──

SKILL = "---\nname: sail\ndescription: How to sail.\n---\nHoist the mainsail.\n"


@pytest.fixture
def skills(tmp_path):
    folder = tmp_path / "skills"
    (folder / "sail").mkdir(parents=True)
    (folder / "sail" / "SKILL.md").write_text(SKILL)
    return folder


async def test_skills_of_a_folder_are_in_the_prompt_and_can_be_read_but_not_changed(skills):
    change = {"file_path": "/skills/sail/SKILL.md", "content": "Sink."}
    script = [
        calls("read_file", file_path="/skills/sail/SKILL.md"),
        calls("write_file", **change),
        calls("read_file", file_path="/skills/../secret.txt"),
        calls("write_file", file_path="/own.md", content="mine"),
        says("Done."),
    ]
    (skills.parent / "secret.txt").write_text("secret")
    model = ScriptedChatModel(script=script)
    config = SimpleSettings(skills=skills).config(WebAccess())
    state = await simple_with(model, config=config).ainvoke({"messages": [("user", "Go")]}, THREAD)
    assert "How to sail." in model.requests[0][0].text
    assert "Hoist the mainsail." in model.requests[1][-1].text
    assert "read-only" in model.requests[2][-1].text
    assert "secret" not in model.requests[3][-1].text.replace("secret.txt", "")
    assert state["files"]["/own.md"]["content"] == "mine"
    assert (skills / "sail" / "SKILL.md").read_text() == SKILL


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("Hoist.", "SKILL.md:1: No front matter"),
        ("---\nname: sail\n---\n", "has no 'description'"),
        ("---\ndescription: x\nname: row\n---\n", "SKILL.md:3: The name 'row' differs"),
        (None, "Cannot read"),
    ],
)
def test_a_skill_that_would_be_skipped_is_said_at_the_start(skills, monkeypatch, content, problem):
    path = skills / "sail" / "SKILL.md"
    path.unlink() if content is None else path.write_text(content)
    monkeypatch.setenv("BATHYSPHERE_SIMPLE_SKILLS", str(skills))
    with pytest.raises(ConfigError, match=problem):
        SimpleSettings.from_environment().config(WebAccess())


def test_a_folder_without_skills_is_said_at_the_start(tmp_path):
    for folder, problem in ((tmp_path, "Not a folder of skills"), (tmp_path / "x", "not found")):
        with pytest.raises(ConfigError, match=problem) as error:
            SimpleSettings(skills=folder).config(WebAccess())
        assert "BATHYSPHERE_SIMPLE_SKILLS" in error.value.hint
