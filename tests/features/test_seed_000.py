"""Seed 000: the formats it names, as a client of the tutor meets them."""

import json
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents import AGENTS
from bathysphere.agents.tutor import spec
from bathysphere.device.device import Device
from bathysphere.device.documents import MemoryDocuments, version_of
from bathysphere.harness.build import build
from bathysphere.harness.describe import describe
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says, together

ROOT = Path(__file__).parents[2]
DRAFT = "Inflation is a tax.\n"
OPTIONS = [
    {"id": "seminar", "label": "Socratic Seminar"},
    {"id": "essay", "label": "Essay"},
    {"id": "notes", "label": "Research Notes"},
]
CHOOSE = {"question": "What type of document?", "options": OPTIONS}
CHOICES = {**CHOOSE, "allow_multiple": False, "allow_freeform": True}
REPLACE = {"search": "a tax", "replace": "like a tax"}


def models_of(model):
    return Models(main=model, subagent=model, summary=model, audit=model)


def picks(move="work"):
    return says(json.dumps({"move": move, "why": "It is due."}))


class Talk:
    """One thread with the tutor, seen as a client sees it."""

    def __init__(self, *script, **texts):
        self.model = ScriptedChatModel(script=list(script))
        self.graph = build(spec(models=models_of(self.model)), checkpointer=InMemorySaver())
        self.device = Device(MemoryDocuments(texts))

    async def step(self, given, thread="1"):
        return await self.graph.ainvoke(given, {"configurable": {"thread_id": thread}})

    async def say(self, text="Go", thread="1"):
        return await self.step({"messages": [HumanMessage(text)]}, thread)

    async def answer(self, state, *answers):
        waiting = state["__interrupt__"]
        pairs = zip(waiting, answers, strict=True)
        return await self.step(Command(resume={pause.id: answer for pause, answer in pairs}))

    async def run_tools(self, state):
        """Let the device answer until the run is over; the calls that it was asked to do."""
        asked = []
        while waiting := state.get("__interrupt__"):
            asked += [pause.value for pause in waiting]
            calls_ = [pause.value["tool_call"] for pause in waiting]
            state = await self.answer(state, *map(self.device.run, calls_))
        return state, asked


def values(state):
    return [pause.value for pause in state["__interrupt__"]]


def results(state):
    return [m.text for m in state["messages"] if m.type == "tool" and m.name != "choose_move"]


# ── interrupt data ──


async def test_the_interrupt_of_ask_user_equals_the_seed():
    question = "What topic would you like to write about?"
    talk = Talk(picks(), calls("ask_user", {"question": question}, id="12345"))
    assert values(await talk.say()) == [
        {
            "type": "clarification_request",
            "tool": "ask_user",
            "tool_call_id": "12345",
            "question": question,
        }
    ]


async def test_the_interrupt_of_ask_choices_equals_the_seed():
    talk = Talk(picks(), calls("ask_choices", CHOICES, id="12345"))
    assert values(await talk.say()) == [
        {
            "type": "clarification_request",
            "tool": "ask_choices",
            "tool_call_id": "12345",
            **CHOICES,
        }
    ]


CLIENT_TOOLS = [
    ("list_user_files", {"file_type": "text"}, {}),
    ("read_user_file", {"file_id": "d"}, {"offset": 0, "limit": 8000}),
    ("search_user_files", {"query": "tax"}, {"top_k": 8}),
    ("grep_user_files", {"pattern": "tax", "glob": "*"}, {"case_sensitive": False}),
    ("glob_user_files", {"pattern": "*"}, {}),
    (
        "write_user_file",
        {"title": "New", "content": "x", "description": "d"},
        {"file_type": "markdown"},
    ),
]


@pytest.mark.parametrize(
    ("name", "args", "more"), CLIENT_TOOLS, ids=[row[0] for row in CLIENT_TOOLS]
)
async def test_a_client_tool_is_an_interrupt_of_type_tool_with_the_seed_arguments(name, args, more):
    talk = Talk(picks(), calls(name, args, id="c1"), says("Done."), d=DRAFT)
    paused = await talk.say()
    assert values(paused) == [
        {"type": "tool", "tool_call": {"id": "c1", "name": name, "args": {**args, **more}}}
    ]
    final, _ = await talk.run_tools(paused)
    assert final["messages"][-2].status == "success"


async def test_a_patch_carries_search_replace_description_and_the_version_that_was_read():
    patch = {"file_id": "d", **REPLACE, "description": "Not quite one."}
    talk = Talk(
        picks(),
        calls("read_user_file", file_id="d"),
        calls("patch_user_file", patch),
        says("Done."),
        d=DRAFT,
    )
    _, asked = await talk.run_tools(await talk.say())
    assert asked[-1]["tool_call"]["args"] == {**patch, "base_version": version_of(DRAFT)}
    assert talk.device.documents.texts == {"d": "Inflation is like a tax.\n"}


async def test_an_approval_is_an_interrupt_of_its_own_type():
    talk = Talk(picks(), calls("delete", {"file_path": "/scratch/a.md"}, id="c1"))
    (value,) = values(await talk.say())
    assert (value["type"], value["tool_call_id"], value["name"]) == (
        "tool_approval",
        "c1",
        "delete",
    )


# ── responses ──


@pytest.mark.parametrize(
    ("call", "answer", "told"),
    [
        (
            calls("ask_user", question="What?"),
            {"response": "I want to write about Bitcoin's monetary policy"},
            "I want to write about Bitcoin's monetary policy",
        ),
        (
            calls("ask_choices", CHOICES),
            {"selected": ["seminar"]},
            "The person chose: Socratic Seminar",
        ),
        (
            calls("ask_choices", CHOICES),
            {"selected": ["essay"], "freeform": "Specifically about inflation"},
            "The person chose: Essay\nThey added: Specifically about inflation",
        ),
        (
            calls("ask_choices", {**CHOOSE, "allow_multiple": True}),
            {"selected": ["essay", "notes"]},
            "The person chose: Essay, Research Notes",
        ),
    ],
    ids=["ask_user", "single", "freeform", "multiple"],
)
async def test_an_answer_of_the_seed_form_comes_back_as_the_tool_result(call, answer, told):
    talk = Talk(picks("clarify_term"), call, picks(), says("Good."))
    final = await talk.answer(await talk.say(), answer)
    assert results(final) == [told]


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"files": []}, "No documents."),
        ({"error": "the disk is full"}, "The person's device says: the disk is full"),
    ],
)
async def test_a_device_answers_by_the_id_of_the_call(result, told):
    talk = Talk(picks(), calls("list_user_files", {}, id="c1"), says("Done."))
    assert results(await talk.answer(await talk.say(), {"c1": result})) == [told]


# ── the flow ──


async def test_interrupts_may_follow_each_other_whatever_their_type():
    talk = Talk(
        picks("clarify_term"),
        calls("ask_user", question="Which file?"),
        picks(),
        calls("read_user_file", {"file_id": "d"}, id="c2"),
        calls("delete", file_path="/scratch/a.md"),
        says("All done."),
        d=DRAFT,
    )
    state = await talk.say()
    kinds = []
    for answer in (
        {"response": "d"},
        talk.device.run({"id": "c2", "name": "read_user_file", "args": {"file_id": "d"}}),
        {"type": "reject", "message": "Keep it."},
    ):
        kinds += [value["type"] for value in values(state)]
        state = await talk.answer(state, answer)
    assert kinds == ["clarification_request", "tool", "tool_approval"]
    assert state["messages"][-1].text == "All done."


async def test_several_interrupts_of_one_step_reach_the_client_together():
    talk = Talk(
        picks(),
        together(
            calls("list_user_files", {}, id="c1"),
            calls("read_user_file", {"file_id": "d"}, id="c2"),
        ),
        says("Both are there."),
        d=DRAFT,
    )
    paused = await talk.say()
    assert {value["tool_call"]["id"] for value in values(paused)} == {"c1", "c2"}
    final, _ = await talk.run_tools(paused)
    assert len(results(final)) == 2


# ── state ──


async def test_state_has_messages_todos_and_files_and_lasts_as_long_as_its_thread():
    talk = Talk(
        picks(),
        calls("write_todos", todos=[{"content": "Think", "status": "in_progress"}]),
        calls("write_file", file_path="/scratch/a.md", content="A note."),
        says("Noted."),
        picks(),
        says("Nothing is here."),
    )
    state = await talk.say()
    assert [todo["content"] for todo in state["todos"]] == ["Think"]
    assert state["files"]["/scratch/a.md"]["content"] == "A note."
    other = await talk.say(thread="2")
    assert not other.get("files")
    assert not other.get("todos")
    assert [m.type for m in other["messages"]][:1] == ["human"]


async def test_what_is_read_of_the_person_files_is_never_kept_as_a_server_file():
    talk = Talk(picks(), calls("read_user_file", file_id="d"), says("Read."), d=DRAFT)
    state, _ = await talk.run_tools(await talk.say())
    assert not state.get("files")
    assert [d["file"] for d in state["disclosures"]] == ["d"]


# ── tools, agents, stack ──

SERVER_TOOLS = {"ls", "read_file", "write_file", "edit_file", "glob", "grep"}
PERSON_TOOLS = {row[0] for row in CLIENT_TOOLS} | {"patch_user_file"}


async def test_the_tutor_has_every_tool_of_the_seed_under_one_name_each():
    talk = Talk(picks(), says("Hello."))
    await talk.say()
    names = talk.model.tools_seen[-1]
    wanted = SERVER_TOOLS | PERSON_TOOLS | {"write_todos", "ask_user", "ask_choices"}
    assert wanted <= set(names)
    assert len(names) == len(set(names))


async def test_notes_in_the_three_folders_of_the_seed_need_no_word_from_the_person():
    notes = [f"/{folder}/a.md" for folder in ("scratch", "summaries", "analysis")]
    writes = (calls("write_file", file_path=path, content="x") for path in notes)
    talk = Talk(picks(), together(*writes), says("Noted."))
    state = await talk.say()
    assert "__interrupt__" not in state
    assert sorted(state["files"]) == sorted(notes)


def test_the_agents_of_the_seed_are_served_and_the_seminar_is_in_the_tutor():
    served = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert {"simple", "tutor"} <= served.keys() <= AGENTS.keys()
    tutor = spec(models=models_of(ScriptedChatModel()))
    assert [sub.name for sub in tutor.subagents] == ["advocate", "sceptic", "empiricist", "judge"]


def test_payment_is_a_layer_of_every_agent_right_around_the_model():
    described = describe(spec(models=models_of(ScriptedChatModel())))
    assert "PaymentsMiddleware" in described


def test_the_layers_of_the_seed_are_there():
    described = describe(spec(models=models_of(ScriptedChatModel())))
    for layer in (
        "PlanningMiddleware",
        "ClarifyMiddleware",
        "FilesMiddleware",
        "ClientFilesMiddleware",
        "ApprovalsMiddleware",
    ):
        assert layer in described


async def test_the_model_is_told_when_to_ask_and_when_not():
    talk = Talk(picks(), says("Hello."))
    await talk.say()
    (ask,) = (
        tool["function"]["description"]
        for tool in talk.model.tool_schemas()
        if tool["function"]["name"] == "ask_user"
    )
    assert "when two readings of the request lead to different work" in " ".join(ask.split())
    assert "Never ask about your own tools, to confirm the obvious" in " ".join(ask.split())
