"""The workspace agent: it delegates, its specialist asks, and a change is what was shown."""

import difflib
import json
import os
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.agents.workspace import spec
from bathysphere.agents.workspace.subagents import REGISTRY
from bathysphere.backends.object_store import BucketConfig, ObjectStoreBackend, open_bucket
from bathysphere.core.errors import NotAllowed
from bathysphere.core.run_context import RunContext
from bathysphere.harness.build import build
from bathysphere.harness.describe import describe
from bathysphere.middleware.file_approvals.contents import MAX_FOLDER_FILES
from bathysphere.middleware.workspace import RunRoot
from bathysphere.models.resolve import Models
from bathysphere.tenancy.directory import Directory, Tenant
from bathysphere.testing import ScriptedChatModel, calls, says

SNAPSHOTS = Path(__file__).parents[2] / "snapshots" / "workspace"
THREAD = {"configurable": {"thread_id": "1"}}
DIRECTORY = Directory(
    tenants={
        "acme": Tenant(workspaces={"main": None, "board": frozenset({"ada"})}),
        "zenith": Tenant(),
    }
)


def caller_of(**given):
    return RunContext(**{"tenant": "acme", "user": "ada"} | given)


class Changes:
    def __init__(self):
        self.begun, self.finished = {}, {}

    async def begin(self, change):
        self.begun[change.call] = change

    async def finish(self, call, *, after_version):
        self.finished[call] = after_version

    async def drop(self, call):
        self.begun.pop(call, None)


class Desk:
    """An agent on a bucket in memory, with scripted models."""

    def __init__(self, *script, lead=None):
        self.root = RunRoot(DIRECTORY)
        self.files = ObjectStoreBackend(open_bucket(BucketConfig(kind="memory")), self.root)
        self.bucket = self.files._objects
        self.lead = ScriptedChatModel(
            script=lead
            or [calls("task", subagent_type="files", description="do it"), says("Done.")]
        )
        self.worker = ScriptedChatModel(script=[*script, says("Worked.")])
        models = Models(main=self.lead, subagent=self.worker, summary=self.lead, audit=self.lead)
        self.graph = build(spec(models=models, backend=self.files), checkpointer=InMemorySaver())
        self.changes = Changes()

    def put(self, key, text):
        self.bucket.put(key, text.encode())

    def text(self, key):
        got = self.bucket.get(key)
        return got.data.decode() if got else None

    async def run(self, given, caller=None):
        caller = caller or caller_of(changes=self.changes)
        await self.graph.ainvoke(given, THREAD, context=caller)
        state = await self.graph.aget_state(THREAD, subgraphs=True)
        return list(state.interrupts)

    async def start(self, caller=None, workspace="main"):
        given = {"messages": [("user", "Change it.")], "workspace": workspace}
        return await self.run(given, caller)

    async def answer(self, question, caller=None, **decision):
        bound = {"bound": question.value["bound"]} | decision  # as the engine does
        return await self.run(Command(resume={question.id: bound}), caller)

    def last_tool_message(self):
        return self.worker.requests[-1][-1]


WRITE = calls("write_file", file_path="/a.md", content="new\n")
EDIT = calls("edit_file", file_path="/a.md", old_string="old", new_string="new")


# ── what the models see ──


def check_snapshot(name, text):
    path = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    diff = difflib.unified_diff(stored.splitlines(), text.splitlines(), lineterm="")
    assert stored == text, "\n".join([f"{name}: UPDATE_SNAPSHOTS=1 pytest {__file__}", *diff])


async def test_the_models_read_these_prompts_and_see_these_tools():
    desk = Desk()
    await desk.start()
    prompts = [model.requests[0][0].text for model in (desk.lead, desk.worker)]
    check_snapshot("system_prompt.md", "\n\n-- files --\n\n".join(prompts) + "\n")
    tools = {"workspace": desk.lead.tool_schemas(0), "files": desk.worker.tool_schemas(0)}
    for schemas in tools.values():
        schemas.sort(key=lambda tool: tool["function"]["name"])
    check_snapshot("tools.json", json.dumps(tools, indent=2, sort_keys=True) + "\n")
    model = ScriptedChatModel()
    models = Models(main=model, subagent=model, summary=model, audit=model)
    check_snapshot("stack.txt", describe(spec(models=models, backend=desk.files)) + "\n")


async def test_the_lead_has_task_and_its_list_and_nothing_else():
    desk = Desk(lead=[calls("read_file", file_path="/a.md"), says("Sorry.")])
    desk.put("acme/main/a.md", "secret")
    await desk.start()
    assert sorted(desk.lead.tools_seen[0]) == ["task", "write_todos"]
    refusal = desk.lead.requests[-1][-1]
    assert "You do not have `read_file`" in refusal.text
    assert "secret" not in refusal.text


async def test_each_role_has_its_own_model():
    desk = Desk()
    await desk.start()
    assert len(desk.lead.requests) == 2
    assert len(desk.worker.requests) == 1
    assert set(desk.worker.tools_seen[0]) >= {"ls", "read_file", "write_file", "edit_file", "grep"}
    assert "task" not in desk.worker.tools_seen[0]


def test_a_specialist_is_a_folder_and_a_line():
    folder = Path(__file__).parents[3] / "src/bathysphere/agents/workspace/subagents"
    folders = {p.name for p in folder.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(REGISTRY)


# ── approvals ──


async def test_reading_needs_nobody_and_stays_in_the_root():
    desk = Desk(calls("read_file", file_path="/a.md"), calls("grep", pattern="secret"))
    desk.put("acme/main/a.md", "our secret")
    desk.put("zenith/main/a.md", "their secret")
    assert await desk.start() == []
    seen = " ".join(m.text for m in desk.worker.requests[-1])
    assert "our secret" in seen
    assert "their secret" not in seen


async def test_a_change_waits_with_its_difference_and_is_written_down_with_its_approver():
    desk = Desk(EDIT)
    desk.put("acme/main/a.md", "old\nline\n")
    [question] = await desk.start()
    value = question.value
    assert (value["type"], value["name"], value["path"]) == ("tool_approval", "edit_file", "/a.md")
    assert "-old\n+new\n" in value["diff"]
    assert desk.text("acme/main/a.md") == "old\nline\n"
    assert await desk.answer(question, type="approve") == []
    assert desk.text("acme/main/a.md") == "new\nline\n"
    [change] = desk.changes.begun.values()
    assert (change.workspace, change.path, change.action) == ("main", "/a.md", "edit")
    assert (change.approver, change.before) == ("ada", b"old\nline\n")
    assert list(desk.changes.finished) == [change.call]


# ── what the conversation keeps of a decision ──


async def decided(desk, **decision):
    """Start, decide, and return what the result of `task` says about it."""
    [question] = await desk.start()
    assert await desk.answer(question, **decision) == []
    state = await desk.graph.aget_state(THREAD)
    assert "file_decisions" not in state.values
    [report] = [m for m in state.values["messages"] if isinstance(m, ToolMessage)]
    return report.additional_kwargs.get("decisions")


async def test_the_conversation_keeps_what_was_approved_and_how_much_it_changed():
    desk = Desk(EDIT)
    desk.put("acme/main/a.md", "old\nline\n")
    [made] = await decided(desk, type="approve")
    [call] = desk.changes.finished
    about = {"tool_call_id": call, "name": "edit_file", "path": "/a.md"}
    assert made == {"type": "approve", **about, "added": 1, "removed": 1}


async def test_the_conversation_keeps_that_a_change_was_edited_or_rejected():
    args = {"file_path": "/a.md", "content": "mine\n"}
    edit = {"type": "edit", "edited_action": {"name": "write_file", "args": args}}
    [edited] = await decided(Desk(WRITE), **edit)
    assert (edited["type"], edited["path"]) == ("edit", "/a.md")
    [rejected] = await decided(Desk(WRITE), type="reject", message="no")
    assert (rejected["type"], rejected["path"]) == ("reject", "/a.md")


async def test_an_edit_that_could_not_be_applied_is_not_kept_as_a_change():
    args = {"file_path": "/a.md", "old_string": "absent", "new_string": "new"}
    edit = {"type": "edit", "edited_action": {"name": "edit_file", "args": args}}
    desk = Desk(EDIT)
    desk.put("acme/main/a.md", "old\n")
    assert await decided(desk, **edit) is None


async def test_a_person_is_shown_the_last_line_of_a_long_change():
    long = "".join(f"line {n} of a report that goes on and on\n" for n in range(1500))
    desk = Desk(calls("write_file", file_path="/a.md", content=f"{long}transfer everything\n"))
    [question] = await desk.start()
    assert "+transfer everything\n" in question.value["diff"]
    assert (question.value["added"], question.value["removed"]) == (1501, 0)


async def test_a_change_too_long_to_be_read_is_refused_and_nobody_is_asked():
    long = "a line that is not read by anybody any more\n" * 4000
    desk = Desk(calls("write_file", file_path="/a.md", content=f"{long}transfer everything\n"))
    assert await desk.start() == []
    assert desk.text("acme/main/a.md") is None
    assert "smaller edits" in desk.last_tool_message().text


async def test_a_long_file_can_be_deleted_and_the_card_says_how_much_goes():
    desk = Desk(calls("delete", file_path="/a.md"))
    desk.put("acme/main/a.md", "a line of a log file that has grown\n" * 5000)
    [question] = await desk.start()
    assert question.value["removed"] == 5000
    assert await desk.answer(question, type="approve") == []
    assert desk.text("acme/main/a.md") is None


async def test_a_stale_approval_comes_back_with_the_new_difference():
    desk = Desk(EDIT)
    desk.put("acme/main/a.md", "old\n")
    [question] = await desk.start()
    desk.put("acme/main/a.md", "old, and a line of somebody else\n")
    [again] = await desk.answer(question, type="approve")
    assert desk.text("acme/main/a.md") == "old, and a line of somebody else\n"
    assert "+new, and a line of somebody else" in again.value["diff"]
    assert again.value["version"] != question.value["version"]
    assert desk.changes.finished == {}
    assert await desk.answer(again, type="approve") == []
    assert desk.text("acme/main/a.md") == "new, and a line of somebody else\n"
    assert len(desk.changes.finished) == 1


async def test_a_new_file_is_only_written_where_there_is_still_none():
    desk = Desk(WRITE)
    [question] = await desk.start()
    desk.put("acme/main/a.md", "theirs\n")
    [again] = await desk.answer(question, type="approve")
    assert "-theirs\n+new\n" in again.value["diff"]
    await desk.answer(again, type="reject", message="keep theirs")
    assert desk.text("acme/main/a.md") == "theirs\n"
    assert "keep theirs" in desk.last_tool_message().text


async def test_an_answer_that_names_another_version_changes_nothing():
    desk = Desk(WRITE)
    desk.put("acme/main/a.md", "old\n")
    [question] = await desk.start()
    forged = {"version": "other", "result": "other"}
    [again] = await desk.answer(question, type="approve", bound=forged)
    assert desk.text("acme/main/a.md") == "old\n"
    assert again.id != question.id


async def test_an_answer_without_a_version_changes_nothing():
    desk = Desk(WRITE)
    [question] = await desk.start()
    await desk.answer(question, type="approve", bound=None)
    assert desk.text("acme/main/a.md") is None
    assert "does not say which version" in desk.last_tool_message().text


async def test_a_person_may_change_the_call_but_not_the_file():
    desk = Desk(WRITE)
    [question] = await desk.start()
    action = {"name": "write_file", "args": {"file_path": "/a.md", "content": "mine\n"}}
    await desk.answer(question, type="edit", edited_action=action)
    assert desk.text("acme/main/a.md") == "mine\n"
    assert "Executed instead" in desk.last_tool_message().text
    other = Desk(WRITE)
    [question] = await other.start()
    action = {"name": "write_file", "args": {"file_path": "/b.md", "content": "mine\n"}}
    await other.answer(question, type="edit", edited_action=action)
    assert other.text("acme/main/b.md") is None


async def test_a_step_that_is_run_again_after_the_write_landed_asks_nobody_again():
    desk = Desk(EDIT)
    desk.put("acme/main/a.md", "old\n")
    [question] = await desk.start()
    desk.put("acme/main/a.md", "new\n")  # as if the worker had died right after writing
    assert await desk.answer(question, type="approve") == []
    assert "was made" in desk.last_tool_message().text
    assert desk.text("acme/main/a.md") == "new\n"


async def test_what_cannot_be_done_bothers_nobody():
    desk = Desk(
        EDIT,
        calls("delete", file_path="/nothing"),
        calls("write_file", file_path="/../x", content=""),
        calls("write_file", file_path="/folder", content="x"),
        calls("write_file", file_path="/folder/x/y", content="x"),
        calls("delete", file_path="/large"),
    )
    desk.put("acme/main/folder/x", "x")
    for number in range(MAX_FOLDER_FILES + 1):
        desk.put(f"acme/main/large/{number}", "x")
    assert await desk.start() == []
    texts = [m.text for m in desk.worker.requests[-1]]
    for words in ("file not found", "'/folder' is a folder", "'/folder/x' is a file", "201 files"):
        assert any(words in text for text in texts), words


async def test_a_file_that_has_a_folder_name_is_deleted_alone():
    """Two harmless approvals must not erase what nobody saw."""
    desk = Desk(calls("delete", file_path="/reports"))
    desk.put("acme/main/reports", "scratch note\n")
    desk.put("acme/main/reports/q1.md", "kept")  # a bucket lets others do this
    [question] = await desk.start()
    assert "-scratch note" in question.value["diff"]
    assert await desk.answer(question, type="approve") == []
    assert desk.text("acme/main/reports") is None
    assert desk.text("acme/main/reports/q1.md") == "kept"
    assert [change.path for change in desk.changes.begun.values()] == ["/reports"]


FOLDER = {"/reports/deep/q2.md": "two", "/reports/q1.md": "one"}


def folder_desk():
    desk = Desk(calls("delete", file_path="/reports/"))
    for path, text in FOLDER.items():
        desk.put(f"acme/main{path}", text)
    desk.put("acme/main/reports2/q3.md", "three")
    return desk


async def test_deleting_a_folder_lists_what_goes_and_can_be_undone_file_by_file():
    desk = folder_desk()
    [question] = await desk.start()
    assert set(question.value["bound"]["files"]) == set(FOLDER)
    assert [line.split(" ")[0] for line in question.value["diff"].splitlines()[1:]] == list(FOLDER)
    assert await desk.answer(question, type="approve") == []
    assert [meta.key for meta in desk.bucket.listing("acme/main").metas] == [
        "acme/main/reports2/q3.md"
    ]
    kept = {change.path: change.before for change in desk.changes.begun.values()}
    assert kept == {path: text.encode() for path, text in FOLDER.items()}
    assert set(desk.changes.finished) == set(desk.changes.begun)
    assert {change.approver for change in desk.changes.begun.values()} == {"ada"}


async def test_a_folder_that_changed_since_comes_back_with_the_new_list():
    desk = folder_desk()
    [question] = await desk.start()
    desk.put("acme/main/reports/new.md", "new")
    [again] = await desk.answer(question, type="approve")
    assert again.value["again"]
    assert set(again.value["bound"]["files"]) == {*FOLDER, "/reports/new.md"}
    assert len(desk.bucket.listing("acme/main").metas) == 4
    assert desk.changes.begun == {}
    assert await desk.answer(again, type="reject") == []
    assert len(desk.bucket.listing("acme/main").metas) == 4


@pytest.mark.parametrize("gone", [1, 2])
async def test_a_folder_deletion_that_stopped_half_way_goes_on(gone):
    desk = folder_desk()
    [question] = await desk.start()
    keys = [f"acme/main{path}" for path in FOLDER]
    desk.bucket.delete(keys[:gone])  # as if the worker had died among them
    assert await desk.answer(question, type="approve") == []
    assert [meta.key for meta in desk.bucket.listing("acme/main").metas] == [
        "acme/main/reports2/q3.md"
    ]
    assert len(desk.changes.finished) == 2  # also those that the first attempt wrote down


# ── the tenant ──


@pytest.mark.parametrize(
    "other",
    [
        caller_of(tenant="zenith", user="eve"),
        caller_of(tenant="acme", user=""),
        {"tenant": "acme", "user": "ada"},
        None,
    ],
)
async def test_a_thread_goes_on_only_as_the_tenant_it_was_begun_by(other):
    """A write that one tenant asked for cannot be approved into another's workspace."""
    desk = Desk(WRITE)
    [question] = await desk.start()
    bound = {"type": "approve", "bound": question.value["bound"]}
    await desk.graph.ainvoke(Command(resume={question.id: bound}), THREAD, context=other)
    assert [m.key for m in desk.bucket.listing("acme").metas] == []
    assert [m.key for m in desk.bucket.listing("zenith").metas] == []
    assert "permission_denied" in desk.lead.requests[-1][-1].text


@pytest.mark.parametrize(
    "context",
    [None, {"tenant": "acme", "user": "ada"}, {"langgraph_auth_user": {"identity": "ada"}}],
)
async def test_what_a_client_could_send_is_no_identity(context):
    desk = Desk(WRITE)
    config = {
        "configurable": {
            "thread_id": "1",
            "tenant": "acme",
            "user_id": "ada",
            "langgraph_auth_user": {"identity": "ada", "tenant": "acme"},
            "gcs_root_path": "/acme/main/",
        }
    }
    with pytest.raises(NotAllowed):
        await desk.graph.ainvoke({"messages": [("user", "x")]}, config, context=context)
    assert desk.lead.requests == []


@pytest.mark.parametrize("workspace", ["nowhere", "../zenith/main", ""])
async def test_a_workspace_the_identity_may_not_use_is_refused(workspace):
    with pytest.raises(NotAllowed):
        await Desk(WRITE).start(workspace=workspace)
    with pytest.raises(NotAllowed):
        await Desk(WRITE).start(caller_of(user="bob"), workspace="board")


async def test_a_thread_stays_in_its_workspace():
    desk = Desk()
    await desk.start(workspace="board")
    with pytest.raises(NotAllowed):
        await desk.start(workspace="main")


def test_it_works_without_async_too():
    desk = Desk(EDIT)
    desk.put("acme/main/a.md", "old\n")
    given = {"messages": [("user", "Change it.")], "workspace": "main"}
    desk.graph.invoke(given, THREAD, context=caller_of())
    [question] = desk.graph.get_state(THREAD, subgraphs=True).interrupts
    desk.put("acme/main/a.md", "old and more\n")
    answer = {question.id: {"type": "approve", "bound": question.value["bound"]}}
    desk.graph.invoke(Command(resume=answer), THREAD, context=caller_of())
    [again] = desk.graph.get_state(THREAD, subgraphs=True).interrupts
    answer = {again.id: {"type": "approve", "bound": again.value["bound"]}}
    desk.graph.invoke(Command(resume=answer), THREAD, context=caller_of())
    assert desk.text("acme/main/a.md") == "new and more\n"
