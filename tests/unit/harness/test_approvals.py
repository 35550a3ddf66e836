"""Approvals: approve, edit, reject with a reason, respond; in the main agent and in subagents."""

import asyncio

import pytest
from deepagents.backends.composite import CompositeBackend
from deepagents.backends.local_shell import LocalShellBackend
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from trees import by_role, calls, results, says, send_out, tree

from bathysphere.harness.build import build
from bathysphere.testing import ScriptedChatModel, together

GATED = {"write_file": True, "edit_file": True, "delete": True}


class Thread:
    """One thread of a graph, sync or async."""

    def __init__(self, spec, mode):
        self.graph, self.mode = build(spec, checkpointer=InMemorySaver()), mode
        self.config = {"configurable": {"thread_id": "1"}}

    def step(self, given):
        if self.mode == "sync":
            return self.graph.invoke(given, self.config)
        return asyncio.run(self.graph.ainvoke(given, self.config))

    def start(self, **state):
        return self.step({"messages": [("user", "go")], **state})

    def answer(self, state, *decisions):
        waiting = state["__interrupt__"]
        return self.step(Command(resume={i.id: d for i, d in zip(waiting, decisions, strict=True)}))


def write(path="/a.md", content="hello"):
    return calls("write_file", file_path=path, content=content)


def test_a_gated_call_waits_with_its_id_and_schema(mode):
    thread = Thread(tree(ScriptedChatModel(script=[write()]), approvals=GATED), mode)
    (asked,) = thread.start()["__interrupt__"]
    assert asked.value["type"] == "tool_approval"
    assert asked.value["tool_call_id"] == "call_1"
    assert asked.value["args"] == {"file_path": "/a.md", "content": "hello"}
    kinds = {
        branch["properties"]["type"]["const"]
        for branch in asked.response_schema["$defs"].values()
        if "const" in branch.get("properties", {}).get("type", {})
    }
    assert kinds == {"approve", "edit", "reject", "respond"}


def test_batched_calls_of_a_turn_are_one_question_and_none_runs_before_its_answer(mode):
    turn = together(write("/a.md", "one"), write("/b.md", "two"), calls("ls", path="/"))
    model = ScriptedChatModel(script=[turn, says("ok")])
    thread = Thread(tree(model, approvals=GATED, approval_mode="batched"), mode)
    state = thread.start()
    (asked,) = state["__interrupt__"]
    assert [action["name"] for action in asked.value["action_requests"]] == ["write_file"] * 2
    assert not results(state)
    decisions = [{"type": "approve"}, {"type": "reject", "message": "no"}]
    state = thread.answer(state, {"decisions": decisions})
    assert list(state["files"]) == ["/a.md"]


def test_approved_it_runs(mode):
    thread = Thread(tree(ScriptedChatModel(script=[write(), says("ok")]), approvals=GATED), mode)
    state = thread.answer(thread.start(), {"type": "approve"})
    assert state["files"]["/a.md"]["content"] == "hello"


def test_edited_the_person_version_runs_and_the_model_is_told(mode):
    thread = Thread(tree(ScriptedChatModel(script=[write(), says("ok")]), approvals=GATED), mode)
    edited = {"name": "write_file", "args": {"file_path": "/b.md", "content": "better"}}
    state = thread.answer(thread.start(), {"type": "edit", "edited_action": edited})
    assert set(state["files"]) == {"/b.md"}
    assert "a human reviewer replaced this tool call" in results(state)[0]


def test_rejected_it_does_not_run_and_the_model_reads_the_reason(mode):
    thread = Thread(tree(ScriptedChatModel(script=[write(), says("ok")]), approvals=GATED), mode)
    state = thread.answer(thread.start(), {"type": "reject", "message": "not in my notes"})
    assert not state.get("files")
    assert "not in my notes" in results(state)[0]


def test_responded_the_person_answers_for_the_tool(mode):
    thread = Thread(tree(ScriptedChatModel(script=[write(), says("ok")]), approvals=GATED), mode)
    state = thread.answer(thread.start(), {"type": "respond", "message": "I wrote it myself"})
    assert not state.get("files")
    assert results(state) == ["I wrote it myself"]


@pytest.mark.parametrize("bad", ["yes", {"type": "maybe"}, {"type": "edit"}, {}])
def test_a_bad_answer_is_refused_and_can_be_given_again(mode, bad):
    from pydantic import ValidationError

    thread = Thread(tree(ScriptedChatModel(script=[write(), says("ok")]), approvals=GATED), mode)
    paused = thread.start()
    with pytest.raises(ValidationError):
        thread.answer(paused, bad)
    state = thread.answer(paused, {"type": "approve"})
    assert state["files"]["/a.md"]["content"] == "hello"


def test_calls_beside_it_that_need_no_word_run_at_once(mode):
    both = together(write(), calls("ls", path="/"))
    thread = Thread(tree(ScriptedChatModel(script=[both, says("ok")]), approvals=GATED), mode)
    paused = thread.start()
    assert len(paused["__interrupt__"]) == 1
    assert len(results(thread.answer(paused, {"type": "approve"}))) == 2


@pytest.mark.parametrize(
    "tool_call",
    [
        write(),
        calls("edit_file", file_path="/old.md", old_string="x", new_string="y"),
        calls("delete", file_path="/old.md"),
    ],
)
def test_every_write_and_delete_waits_in_subagents_too(mode, tool_call):
    model = by_role(
        main=lambda n: says("all back") if n else send_out("a", "b"),
        worker=lambda who, n: says(f"{who} done") if n else tool_call,
    )
    thread = Thread(tree(model, approvals=GATED), mode)
    before = {"/old.md": {"content": "x", "encoding": "utf-8"}}
    paused = thread.start(files=before)
    assert [i.value["name"] for i in paused["__interrupt__"]] == [tool_call.calls[0].name] * 2
    files = thread.graph.get_state(thread.config).values["files"]
    assert {path: f["content"] for path, f in files.items()} == {"/old.md": "x"}
    asked_before = len(model.requests)
    state = thread.answer(paused, {"type": "reject"}, {"type": "reject"})
    assert results(state) == ["a done", "b done"]
    assert len(model.requests) == asked_before + 3  # no model call is repeated by the resume
    assert {path: f["content"] for path, f in state["files"].items()} == {"/old.md": "x"}


def test_answers_may_come_one_at_a_time(mode):
    both = together(write("/a.md"), write("/b.md"))
    thread = Thread(tree(ScriptedChatModel(script=[both, says("ok")]), approvals=GATED), mode)
    first, second = thread.start()["__interrupt__"]
    state = thread.step(Command(resume={first.id: {"type": "approve"}}))
    assert [i.id for i in state["__interrupt__"]] == [second.id]
    state = thread.step(Command(resume={second.id: {"type": "approve"}}))
    assert set(state["files"]) == {"/a.md", "/b.md"}


def test_a_subagent_may_have_approvals_of_its_own(mode):
    from bathysphere.harness.spec import SubagentSpec

    free = SubagentSpec(name="worker", description="Works alone.", approvals={})
    model = by_role(
        main=lambda n: says("all back") if n else send_out("a"),
        worker=lambda who, n: says("done") if n else write(),
    )
    thread = Thread(tree(model, approvals=GATED, subagents=(free,)), mode)
    state = thread.start()
    assert "__interrupt__" not in state
    assert state["files"]["/a.md"]["content"] == "hello"


# ── a shell ──


@pytest.mark.parametrize("routed", [False, True])
def test_a_shell_command_waits_wherever_a_backend_offers_one(mode, tmp_path, routed):
    marker = tmp_path / "ran"
    shell = LocalShellBackend(root_dir=tmp_path, virtual_mode=False)
    backend = CompositeBackend(default=shell, routes={}) if routed else shell
    script = [calls("execute", command=f"touch {marker}"), says("done")]
    spec = tree(ScriptedChatModel(script=script), approvals={}, backend=backend)
    thread = Thread(spec, mode)
    state = thread.start()
    (asked,) = state["__interrupt__"]
    assert asked.value["type"] == "tool_approval"
    assert not marker.exists()
    thread.answer(state, {"type": "approve"})
    assert marker.exists()


def test_a_specification_may_let_a_shell_run_unasked(mode, tmp_path):
    marker = tmp_path / "ran"
    backend = LocalShellBackend(root_dir=tmp_path, virtual_mode=False)
    script = [calls("execute", command=f"touch {marker}"), says("done")]
    spec = tree(ScriptedChatModel(script=script), approvals={"execute": False}, backend=backend)
    assert "__interrupt__" not in Thread(spec, mode).start()
    assert marker.exists()
