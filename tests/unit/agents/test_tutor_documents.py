"""The tutor, a real folder and a device on it: changed files, quotes, the tour with no model."""

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.tutor import spec
from bathysphere.argument.map import status_of
from bathysphere.device.device import Device, Refused, Verdict
from bathysphere.device.documents import NoDocuments
from bathysphere.device.folder import FolderDocuments
from bathysphere.harness.build import build
from bathysphere.models.demo import tutor_words
from bathysphere.models.demo.model import DemoTourModel
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says

NOTES = "In 1971 the dollar stopped being exchangeable for gold.\nPeople went on taking dollars.\n"
READ = calls("read_user_file", file_id="money.md")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "money.md").write_text(NOTES)
    return tmp_path


@pytest.fixture
def device(folder):
    return Device(FolderDocuments(folder))


async def conversation(model, device, *, answers=(), before_answer=lambda call: None):
    """Say one thing to the tutor; a device and a list of answers see to the rest."""
    models = Models(main=model, subagent=model, summary=model, audit=model)
    graph = build(spec(models=models), checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    left = list(answers)
    state = await graph.ainvoke({"messages": [HumanMessage("Money is trust.")]}, config)
    while waiting := state.get("__interrupt__"):
        given = {}
        for pause in waiting:
            if pause.value["type"] == "tool":
                before_answer(pause.value["tool_call"])
                given[pause.id] = device.run(pause.value["tool_call"])
            else:
                given[pause.id] = left.pop(0)
        state = await graph.ainvoke(Command(resume=given), config)
    assert left == []
    return state


def picks(move):
    return says(json.dumps({"move": move, "why": "It is due."}))


def patch(search, replace):
    words = {"search": search, "replace": replace, "description": "Better."}
    return calls("patch_user_file", file_id="money.md", **words)


def results(state):
    return [m.text for m in state["messages"] if m.type == "tool"]


# ── a file that changed ──


@pytest.mark.parametrize("when", ["before the patch", "while the person decides"])
async def test_a_patch_against_a_changed_file_is_never_applied_and_the_agent_recovers(
    folder, device, when
):
    path, seen = folder / "money.md", []
    edited = NOTES.replace("taking", "accepting")

    def person_edits(_):
        if path.read_text() == NOTES:
            path.write_text(edited)

    def before_answer(call):
        if call["name"] == "patch_user_file" and when == "before the patch":
            person_edits(call)

    def decide(proposal):
        seen.append(path.read_text())
        if when == "while the person decides":
            person_edits(proposal)
        return Verdict(text=proposal.after)

    device.decide = decide
    model = ScriptedChatModel(
        script=[
            picks("work"),
            READ,
            patch("People went on taking dollars.", "They went on."),
            patch("People went on accepting dollars.", "They went on."),
            says("I changed it after your edit."),
        ]
    )
    state = await conversation(model, device, before_answer=before_answer)
    model.assert_done()
    conflict, done = results(state)[-2:]
    assert conflict.startswith("The person edited the document since you read it: nothing was")
    assert "People went on accepting dollars." in conflict
    assert seen[-1] == edited  # what the second patch was made for: the person's edit stood
    assert done == "Written (money.md)."
    assert path.read_text() == edited.replace("People went on accepting dollars.", "They went on.")
    assert [m.type for m in state["messages"]].count("human") == 1
    assert state["messages"][-1].text == "I changed it after your edit."


async def test_a_quote_that_does_not_stand_in_the_file_is_an_error_and_one_that_does_is_kept(
    folder, device
):
    wrong, right = "People stopped taking dollars.", "People went on taking dollars."

    def quote(words):
        return calls("propose_quote", text="It shows trust.", file_id="money.md", quote=words)

    model = ScriptedChatModel(
        script=[picks("ask_premise"), quote(wrong), quote(right), says("What does it show?")]
    )
    state = await conversation(model, device)
    assert "That quote does not stand in money.md" in results(state)[-2]
    (node,) = state["argument_map"]["nodes"].values()
    source = node["source"]
    assert NOTES[source["start"] : source["end"]] == source["quote"] == right
    assert source["version"] == FolderDocuments(folder).read("money.md").version


# ── the tour, with no model ──

ANSWERS = (
    {"response": "People take it because others do."},
    {"selected": [], "freeform": "Not sure."},
)


def called(state):
    names = [
        call["name"]
        for message in state["messages"]
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    return [name for name in names if name != "choose_move"]


async def test_the_tour_of_the_tutor_shows_files_map_question_and_a_change_in_part(folder, device):
    def half(proposal):
        if proposal.before is None:
            return Verdict(text=proposal.after)
        text = proposal.after.replace("You decide", "The tutor decides")
        return Verdict(text=text, refused=(Refused("You decide", "no"),))

    device.decide = half
    state = await conversation(DemoTourModel(), device, answers=ANSWERS)
    assert called(state) == [
        "write_todos",
        "write_file",
        "list_user_files",
        "read_user_file",
        "propose_node",
        "propose_quote",
        "ask_user",
        "propose_node",
        "review_nodes",
        "write_user_file",
        "patch_user_file",
        "write_todos",
    ]
    assert [todo["status"] for todo in state["todos"]] == ["completed"] * 4
    known = state["argument_map"]
    texts = {node["kind"]: node["text"] for node in known["nodes"].values()}
    assert texts["claim"] == "Money is trust."
    assert texts["premise"] == "People take it because others do."
    assert {status_of(known, node) for node in known["nodes"]} == {"proposed"}
    assert [move["move"] for move in state["moves"]] == ["ask_premise", "work"]
    assert all(move["fits"] for move in state["moves"])
    end = state["messages"][-1].text
    assert "not this time" not in end
    assert "not done" not in end
    assert (folder / "tour-of-the-tutor.md").read_text().startswith("# A note from the tour")


async def test_without_files_the_tour_says_so_and_goes_on():
    state = await conversation(DemoTourModel(), Device(NoDocuments()), answers=ANSWERS)
    assert called(state) == [
        "write_todos",
        "write_file",
        "list_user_files",
        "propose_node",
        "ask_user",
        "propose_node",
        "review_nodes",
        "write_todos",
    ]
    said = " ".join(m.text for m in state["messages"] if m.type == "ai")
    assert "shares no document" in said
    assert state["messages"][-1].text.count("not this time") == 4


async def test_a_tour_whose_proposals_are_refused_goes_on_to_its_end(folder, device):
    device.decide = lambda proposal: Verdict(text=None, reason="not on my disk")
    state = await conversation(DemoTourModel(), device, answers=ANSWERS)
    said = " ".join(m.text for m in state["messages"] if m.type == "ai")
    assert "That did not happen: The person refused it" in said
    assert tutor_words.THE_END in said
    assert [path.name for path in folder.iterdir()] == ["money.md"]
