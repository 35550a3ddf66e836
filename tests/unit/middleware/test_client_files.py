"""Client files: the person's documents stay on their device, and the person decides."""

import asyncio
import hashlib

import pytest
from jsonschema import Draft202012Validator
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import ValidationError

from bathysphere.device.device import Device, Refused, Verdict
from bathysphere.device.documents import MemoryDocuments, version_of
from bathysphere.flow.provenance import Source, passages
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.middleware.client_files.wire import BY_WORDS, File, FoundFiles, to_text
from bathysphere.testing import ScriptedChatModel, calls, says, together


def device_with(**texts):
    return Device(MemoryDocuments(texts))


class Talk:
    """An agent and a device that answers whatever it is asked."""

    def __init__(self, mode, device, *script):
        self.model, self.device, self.mode = ScriptedChatModel(script=list(script)), device, mode
        spec = AgentSpec(name="t", model=self.model, middleware=(ClientFilesMiddleware(),))
        self.graph = build(spec, checkpointer=InMemorySaver())
        self.asked = []

    def step(self, given):
        config = {"configurable": {"thread_id": "1"}}
        if self.mode == "sync":
            return self.graph.invoke(given, config)
        return asyncio.run(self.graph.ainvoke(given, config))

    def go(self, between=lambda: None):
        state = self.step({"messages": [("user", "go")]})
        while waiting := state.get("__interrupt__"):
            self.asked += [i.value["tool_call"] for i in waiting]
            answers = {i.id: self.device.run(i.value["tool_call"]) for i in waiting}
            between()
            state = self.step(Command(resume=answers))
        return state


@pytest.fixture(params=["sync", "async"])
def mode(request):
    return request.param


def results(state):
    return [m.text for m in state["messages"] if m.type == "tool"]


READ = calls("read_user_file", file_id="essay")


def patch(search, replace):
    return calls(
        "patch_user_file", file_id="essay", search=search, replace=replace, description="Better."
    )


def test_a_read_runs_on_the_device_and_is_written_down(mode):
    talk = Talk(mode, device_with(essay="Money is sound."), READ, says("ok"))
    state = talk.go()
    assert talk.asked[0]["name"] == "read_user_file"
    assert results(state) == ["@@ essay (essay) 0-15 of 15 @@\nMoney is sound."]
    assert state["disclosures"] == [
        {
            "call": "call_1",
            "tool": "read_user_file",
            "file": "essay",
            "version": version_of("Money is sound."),
            "start": 0,
            "end": 15,
            "bytes": 15,
            "sha256": hashlib.sha256(b"Money is sound.").hexdigest(),
        }
    ]


def test_long_documents_are_read_in_parts(mode):
    part = calls("read_user_file", file_id="essay", offset=5, limit=5)
    state = Talk(mode, device_with(essay="0123456789abcdef"), part, says("ok")).go()
    assert results(state) == ["@@ essay (essay) 5-10 of 16 | next offset 10 @@\n56789"]


def test_lists_and_searches_say_what_they_found(mode):
    all_of_them = together(
        calls("list_user_files"),
        calls("glob_user_files", pattern="*"),
        calls("grep_user_files", pattern="sound"),
        calls("search_user_files", query="money"),
    )
    state = Talk(mode, device_with(essay="Money is sound."), all_of_them, says("ok")).go()
    assert results(state) == [
        "essay: essay (text, 15 characters)",
        "essay: essay (text, 15 characters)",
        "essay (essay) line 1: Money is sound.",
        f"@@ essay (essay) 0-15 of 15 @@\nMoney is sound.\n\n{BY_WORDS}",
    ]
    assert [d["tool"] for d in state["disclosures"]] == ["grep_user_files", "search_user_files"]


class PagedDevice:
    """A device whose one document has pages, as a browser answers for a PDF."""

    def __init__(self, **pages):
        self.pages = pages

    def run(self, call):
        about = {"file_id": "paper", "title": "paper.pdf", "version": "v1", "start": 0}
        text = "Money is sound."
        answers = {
            "list_user_files": {
                "files": [{"id": "paper", "title": "paper.pdf", "version": "v1", "pages": 9}]
            },
            "read_user_file": {**about, "total": 99, "text": text, **self.pages},
            "grep_user_files": {"matches": [{**about, "line": 4, "text": text, "page": 3}]},
        }
        return {call["id"]: answers[call["name"]]}


@pytest.mark.parametrize(
    ("pages", "head"),
    [
        ({}, ""),
        ({"page": 3}, " | page 3"),
        ({"page": 3, "last_page": 3}, " | page 3"),
        ({"page": 3, "last_page": 4}, " | pages 3-4"),
    ],
)
def test_a_document_with_pages_is_read_with_their_numbers(mode, pages, head):
    asked = together(
        calls("list_user_files"),
        calls("read_user_file", file_id="paper"),
        calls("grep_user_files", pattern="sound"),
    )
    state = Talk(mode, PagedDevice(**pages), asked, says("ok")).go()
    read = f"@@ paper.pdf (paper) 0-15 of 99{head} | next offset 15 @@\nMoney is sound."
    assert results(state) == [
        "paper: paper.pdf (text, 9 pages)",
        read,
        "paper.pdf (paper) page 3 line 4: Money is sound.",
    ]
    source = Source(call="c", tool="read_user_file", about="", text=read)
    (passage,) = passages(source)
    assert (passage.file, passage.start, passage.text) == ("paper", 0, "Money is sound.")


def test_a_patch_that_the_person_takes_is_applied(mode):
    device = device_with(essay="Money is sound.")
    state = Talk(mode, device, READ, patch("sound", "good"), says("ok")).go()
    assert device.documents.texts == {"essay": "Money is good."}
    assert results(state)[-1] == "Written (essay)."
    marks = [m.additional_kwargs.get("proposal") for m in state["messages"] if m.type == "tool"]
    version = state["file_versions"]["essay"]
    assert marks == [None, {"status": "applied", "file_id": "essay", "version": version}]


def test_a_patch_that_the_person_refuses_changes_nothing(mode):
    device = device_with(essay="Money is sound.")
    device.decide = lambda proposal: Verdict(text=None, reason="not my words")
    state = Talk(mode, device, READ, patch("sound", "good"), says("ok")).go()
    assert device.documents.texts == {"essay": "Money is sound."}
    assert results(state)[-1] == (
        "The person refused it: nothing was changed. Reason: not my words"
    )
    assert state["messages"][-2].status == "error"
    assert state["messages"][-2].additional_kwargs["proposal"]["status"] == "refused"


def test_a_patch_taken_in_part_tells_the_agent_what_was_written(mode):
    device = device_with(essay="Money is sound.")
    refused = (Refused("perfect", "too strong"),)
    device.decide = lambda proposal: Verdict(text="Money is fairly good.", refused=refused)
    state = Talk(mode, device, READ, patch("sound", "perfect"), says("ok")).go()
    assert results(state)[-1] == (
        "The person took part of it (essay). What was written:\nMoney is fairly good."
        "\n- refused: too strong: perfect"
    )


def test_a_patch_is_bound_to_the_version_that_was_read(mode):
    device = device_with(essay="Money is sound.")
    talk = Talk(
        mode, device, READ, patch("sound", "good"), patch("solid", "good"), says("recovered")
    )

    def person_edits():
        if device.documents.texts["essay"] == "Money is sound.":
            device.documents.texts["essay"] = "Money is solid."

    state = talk.go(between=person_edits)
    assert talk.asked[1]["args"]["base_version"] == version_of("Money is sound.")
    assert "nothing was changed. It now reads:\nMoney is solid." in results(state)[1]
    assert device.documents.texts == {"essay": "Money is good."}
    assert state["messages"][-1].text == "recovered"


def test_a_document_that_was_not_read_is_not_patched(mode):
    device = device_with(essay="Money is sound.")
    talk = Talk(mode, device, patch("sound", "good"), says("ok"))
    state = talk.go()
    assert talk.asked == []
    assert results(state)[0].startswith("Read the document first")


def test_a_second_patch_builds_on_the_first(mode):
    device = device_with(essay="one two")
    script = [READ, patch("one", "1"), patch("two", "2"), says("ok")]
    Talk(mode, device, *script).go()
    assert device.documents.texts == {"essay": "1 2"}


def test_a_new_document_is_proposed_with_its_purpose(mode):
    device = device_with()
    write = calls("write_user_file", title="Thesis", content="x", description="A start.")
    talk = Talk(mode, device, write, says("ok"))
    talk.go()
    assert talk.asked[0]["args"]["description"] == "A start."
    assert device.documents.texts == {"Thesis": "x"}


def test_an_error_of_the_device_is_a_result(mode):
    state = Talk(mode, device_with(), READ, says("ok")).go()
    assert results(state) == ["The person's device says: Document not found: 'essay'"]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"call_1": "text"},
        {"call_2": {"error": "x"}},
        {"call_1": {"file_id": "essay", "version": "1", "start": 0, "total": 1}},
        {"call_1": {"file_id": "e", "version": "1", "start": 0, "total": 1, "text": "x" * 20_001}},
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused_and_can_be_given_again(mode, bad):
    device = device_with(essay="Money")
    talk = Talk(mode, device, READ, says("ok"))
    paused = talk.step({"messages": [("user", "go")]})
    (asked,) = paused["__interrupt__"]
    with pytest.raises(ValidationError):
        talk.step(Command(resume={asked.id: bad}))
    state = talk.step(Command(resume={asked.id: device.run(asked.value["tool_call"])}))
    assert results(state) == ["@@ essay (essay) 0-5 of 5 @@\nMoney"]


def test_scratch_files_and_the_persons_files_have_different_names():
    model = ScriptedChatModel(script=[says("ok")])
    spec = AgentSpec(name="t", model=model, middleware=(ClientFilesMiddleware(),))
    build(spec).invoke({"messages": [("user", "x")]})
    names = model.tools_seen[0]
    assert len(names) == len(set(names))
    assert {"read_file", "read_user_file"} <= set(names)


@pytest.mark.parametrize(
    ("result", "fits"),
    [
        ({"status": "applied", "file_id": "a", "version": "2"}, True),
        ({"status": "applied", "file_id": "a"}, False),
        ({"status": "applied", "file_id": "", "version": "2"}, False),
        ({"status": "refused"}, True),
        ({"status": "partly", "file_id": "a", "version": "2", "text": "t"}, True),
        ({"status": "partly", "file_id": "a", "version": "2"}, False),
        ({"status": "conflict", "file_id": "a", "version": "2", "text": None}, False),
        ({"error": "no"}, True),
    ],
)
def test_the_published_schema_of_a_change_says_what_is_needed(result, fits):
    """A server has the JSON Schema only: what slips through it would fail the run."""
    write = calls("write_user_file", {"title": "t", "content": "c", "description": "d"}, id="c1")
    talk = Talk("sync", Device(MemoryDocuments({})), write)
    (question,) = talk.step({"messages": [("user", "go")]})["__interrupt__"]
    assert Draft202012Validator(question.response_schema).is_valid({"c1": result}) is fits


def test_a_document_of_one_page_is_listed_as_such():
    file = File(id="note", title="note.pdf", version="v1", pages=1)
    assert to_text(FoundFiles(files=[file])) == "note: note.pdf (text, 1 page)"
