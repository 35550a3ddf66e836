"""The tutor: what its model sees, the seminar, notes and approvals, how it is measured."""

import difflib
import json
import os
import sys
from pathlib import Path

import pytest
from deepagents.backends import FilesystemBackend
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.tutor import TutorConfig, spec
from bathysphere.agents.tutor.voices import VOICES
from bathysphere.argument.map import node_id_of
from bathysphere.harness.build import build
from bathysphere.harness.describe import describe
from bathysphere.middleware.reliability import reliability
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.testing import ScriptedChatModel, calls, says, together

ROOT = Path(__file__).parents[3]
SNAPSHOTS = ROOT / "tests" / "snapshots" / "tutor"
THREAD = {"configurable": {"thread_id": "1"}}
CLAIM = node_id_of("claim", "Money is trust.")

sys.path.insert(0, str(ROOT / "benchmarks" / "quality" / "tutor"))

from tutor_measured import MUST, talk_to  # noqa: E402  # the benchmark's own parts
from tutor_personas import PERSONAS  # noqa: E402
from tutor_scripted import careful, careless  # noqa: E402


def models_of(model):
    return Models(main=model, subagent=model, summary=model, audit=model)


def tutor_with(model, **extra):
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


def picks(move, **more):
    return says(json.dumps({"move": move, "why": "It is due.", **more}))


@pytest.fixture
async def asked():
    """The model of a tutor that was asked one thing."""
    model = ScriptedChatModel(script=[picks("clarify_term"), says("What do you hold?")])
    await tutor_with(model).ainvoke({"messages": [("user", "Hi")]}, THREAD)
    model.assert_done()
    return model


async def test_the_model_reads_these_prompts(asked):
    choosing, wording = (request[0].text for request in asked.requests)
    parts = [f"{wording}\n", f"{choosing}\n"]
    parts += [f"{sub.prompt}\n" for sub in spec(models=models_of(ScriptedChatModel())).subagents]
    check_snapshot("system_prompt.md", "\n---\n\n".join(parts))


async def test_the_model_sees_these_tools(asked):
    assert asked.tool_schemas(0) == []
    schemas = sorted(asked.tool_schemas(1), key=lambda tool: tool["function"]["name"])
    check_snapshot("tools.json", json.dumps(schemas, indent=2, sort_keys=True) + "\n")


def test_the_stack_is_this():
    layers = reliability(ModelSettings.model_construct())
    described = describe(spec(models=models_of(ScriptedChatModel()), reliability=layers))
    check_snapshot("stack.txt", described + "\n")


def test_server_files_and_the_person_files_have_names_of_their_own(asked):
    (names,) = asked.tools_seen[1:]
    assert len(names) == len(set(names))
    assert {"read_file", "write_file", "read_user_file", "write_user_file"} <= set(names)


# ── the seminar ──


def seminar(messages):
    """A tutor that holds a seminar of two, whose voices object and support at once."""
    system, task = messages[0].text, messages[1].text
    results = [m for m in messages if m.type == "tool"]
    if "You plan the next turn" in system:
        return picks("summarise")
    if "in a seminar" in system:
        voice = "sceptic" if "the sceptic" in system else "advocate"
        if results:
            return says(f"[{CLAIM}] The {voice} has spoken.")
        kind, relation = {"sceptic": ("objection", "attacks"), "advocate": ("premise", "supports")}[
            voice
        ]
        assert CLAIM in system
        args = {"kind": kind, "text": f"The {voice} says so."}
        return calls("propose_node", **args, relation=relation, target=CLAIM)
    assert task == "I hold that money is trust. What would others say?"
    if len(results) == 1:
        words = "money is trust"
        return calls("propose_node", kind="claim", text="Money is trust.", said=words)
    if len(results) == 2:
        sends = (
            calls("task", description=f"Speak to {CLAIM}.", subagent_type=v.name)
            for v in VOICES[:2]
        )
        return together(*sends)
    return says("The advocate and the sceptic have spoken.")


async def test_a_seminar_puts_two_voices_on_the_map_at_once():
    model = ScriptedChatModel(answer=seminar)
    given = {"messages": [("user", "I hold that money is trust. What would others say?")]}
    state = await tutor_with(model).ainvoke(given, THREAD)
    nodes = state["argument_map"]["nodes"].values()
    assert {(node["author"], node["kind"]) for node in nodes} == {
        ("person", "claim"),
        ("advocate", "premise"),
        ("sceptic", "objection"),
    }
    assert {r["target"] for r in state["argument_map"]["relations"].values()} == {CLAIM}
    assert state["argument_map"]["decisions"] == {}
    assert state["messages"][-1].text == "The advocate and the sceptic have spoken."


def test_a_seminar_has_two_to_four_voices_or_none():
    with pytest.raises(ValueError, match="2 to 4 voices, got 1"):
        TutorConfig(voices=VOICES[:1])
    model = ScriptedChatModel()
    assert spec(models=models_of(model), config=TutorConfig(voices=())).subagents == ()
    assert [sub.name for sub in spec(models=models_of(model)).subagents] == [
        "advocate",
        "sceptic",
        "empiricist",
        "judge",
    ]


# ── notes and approvals ──


async def test_notes_need_no_approval_and_deleting_one_waits():
    model = ScriptedChatModel(
        script=[
            picks("work"),
            calls("write_file", file_path="/summaries/draft.md", content="It is a tax."),
            calls("delete", file_path="/summaries/draft.md"),
            says("Gone."),
        ]
    )
    agent = tutor_with(model)
    paused = await agent.ainvoke({"messages": [("user", "Tidy up")]}, THREAD)
    (waiting,) = paused["__interrupt__"]
    assert waiting.value["type"] == "tool_approval"
    assert paused["files"]["/summaries/draft.md"]["content"] == "It is a tax."
    final = await agent.ainvoke(Command(resume={waiting.id: {"type": "approve"}}), THREAD)
    assert final["messages"][-1].text == "Gone."


async def test_in_files_that_are_not_its_own_every_write_waits(tmp_path):
    script = [picks("work"), calls("write_file", file_path="/new.md", content="one")]
    model = ScriptedChatModel(script=script)
    agent = tutor_with(model, backend=FilesystemBackend(root_dir=tmp_path, virtual_mode=True))
    paused = await agent.ainvoke({"messages": [("user", "Go")]}, THREAD)
    assert paused["__interrupt__"][0].value["name"] == "write_file"
    assert list(tmp_path.iterdir()) == []


# ── how it is measured ──


async def test_a_tutor_that_keeps_to_its_craft_is_measured_as_such():
    figures = {}
    for persona in PERSONAS:
        models = models_of(ScriptedChatModel(answer=careful))
        figures[persona.name] = (await talk_to(persona, models)).figures()
    assert sorted(figures) == [
        "adversarial",
        "confused",
        "eager",
        "off-topic",
        "wrong but confident",
    ]
    for name, must in MUST.items():
        assert {name: {found[name] for found in figures.values()}} == {name: {must}}
    assert figures["eager"]["repaired"] >= 1
    assert figures["eager"]["quote_accuracy"] == 0.5
    assert figures["off-topic"]["chosen_by_rule"] == 1
    assert max(found["questions_per_turn"] for found in figures.values()) <= 1


@pytest.mark.parametrize("persona", [PERSONAS[0], PERSONAS[2]], ids=lambda persona: persona.name)
async def test_a_careless_tutor_is_found_out(persona):
    models = models_of(ScriptedChatModel(answer=careless))
    figures = (await talk_to(persona, models)).figures()
    assert figures["form_share"] == 0
    assert figures["given_away"] > 0
    assert figures["questions_per_turn"] == 2
    assert figures["made_up_quotes"] == figures["turns"]
    if persona.name == "adversarial":
        assert figures["told_when_asked"] == 0
        assert figures["unanswered_objections"] == 1
