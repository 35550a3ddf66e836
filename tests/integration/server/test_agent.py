"""`POST /api/agent` on the real engine: the seed's flow, approvals inside the subagent, undo."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from workspace_town import drop, open_town, own_database

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
ADA, BOB, EVE = "acme/ada", "acme/bob", "zenith/eve"


def do(tool, **args):
    return f"{tool} {json.dumps(args)}"


WRITE = do("write_file", file_path="/plan.md", content="dive\n")
EDIT = do("edit_file", file_path="/plan.md", old_string="dive", new_string="dive slowly")


@pytest.fixture(scope="module")
def database():
    found = own_database()
    yield found
    drop(found)


@pytest.fixture
async def town(database, gcs_server):
    async with open_town(database, gcs_server.config) as town:
        yield town


async def approve(town, user, asked, **decision):
    [question] = asked["interrupts"]
    resume = {question["id"]: {"type": "approve", **decision}}
    answer = await town.agent(user, thread_id=asked["thread_id"], resume=resume)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_seed_request_is_served(town):
    """Its body as the seed has it; the root it names is the identity's own."""
    town.bucket.put("acme/main/notes.md", b"our words\n")
    answer = await town.agent(
        ADA,
        messages=[{"role": "user", "content": do("read_file", file_path="/notes.md")}],
        config={"configurable": {"gcs_root_path": "/acme/main/"}},
    )
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert (body["status"], body["workspace"]) == ("success", "main")
    assert "our words" in body["messages"][-1]["content"]


async def test_a_write_in_the_subagent_waits_and_is_in_the_record_with_its_approver(town):
    asked = await town.ask(ADA, WRITE, workspace="board")
    assert asked["status"] == "interrupted"
    [question] = asked["interrupts"]
    assert question["value"]["diff"].endswith("+dive\n")
    assert town.text("acme/board/plan.md") is None
    done = await approve(town, ADA, asked)
    assert done["status"] == "success"
    assert town.text("acme/board/plan.md") == "dive\n"
    changes = (await town.call(ADA, "GET", "/workspaces/board/changes")).json()["changes"]
    assert [(c["path"], c["action"], c["approver"]) for c in changes] == [
        ("/plan.md", "write", "ada")
    ]


async def test_an_approval_is_for_the_version_that_was_shown(town):
    town.bucket.put("acme/board/plan.md", b"dive\n")
    asked = await town.ask(ADA, EDIT, workspace="board")
    town.bucket.put("acme/board/plan.md", b"dive, said somebody else\n")
    forged = {"version": "x", "result": "y"}
    again = await approve(town, ADA, asked, bound=forged)  # the server's word counts, not ours
    assert again["status"] == "interrupted"
    assert "+dive slowly, said somebody else" in again["interrupts"][0]["value"]["diff"]
    firsts = [said["interrupts"][0]["value"]["again"] for said in (asked, again)]
    assert firsts == [False, True]  # the question says that it comes a second time
    assert town.text("acme/board/plan.md") == "dive, said somebody else\n"
    done = await approve(town, ADA, again)
    assert done["status"] == "success"
    assert town.text("acme/board/plan.md") == "dive slowly, said somebody else\n"


async def test_a_change_is_undone_from_what_was_there_before(town):
    town.bucket.put("acme/board/undo.md", b"first\n")
    edit = do("edit_file", file_path="/undo.md", old_string="first", new_string="second")
    await approve(town, ADA, await town.ask(ADA, edit, workspace="board"))
    write = do("write_file", file_path="/new.md", content="x")
    await approve(town, ADA, await town.ask(ADA, write, workspace="board"))
    place = "/workspaces/board/changes"
    newest, edited = (await town.call(ADA, "GET", place)).json()["changes"][:2]
    for change in (newest, edited):
        undone = await town.call(ADA, "POST", f"{place}/{change['change_id']}/undo")
        assert undone.status_code == 204, undone.text
    assert town.text("acme/board/undo.md") == "first\n"
    assert town.text("acme/board/new.md") is None
    again = await town.call(ADA, "POST", f"{place}/{edited['change_id']}/undo")
    assert again.status_code == 409
    record = (await town.call(ADA, "GET", place)).json()["changes"]
    assert record[0]["undoes"] == edited["change_id"]
    calls = [change["tool_call_id"] for change in (record[0], edited, newest)]
    assert calls[0] is None
    assert len(set(calls)) == 3
    assert next(c for c in record if c["change_id"] == edited["change_id"])["undone_by"]


async def test_what_an_undo_would_do_is_shown_before_it_is_done(town):
    town.bucket.put("acme/board/shown.md", b"first\n")
    edit = do("edit_file", file_path="/shown.md", old_string="first", new_string="second")
    await approve(town, ADA, await town.ask(ADA, edit, workspace="board"))
    place = "/workspaces/board/changes"
    [newest, *_] = (await town.call(ADA, "GET", place)).json()["changes"]
    one = f"{place}/{newest['change_id']}"
    shown = (await town.call(ADA, "GET", one)).json()
    assert shown["diff"].splitlines()[2:] == ["@@ -1 +1 @@", "-second", "+first"]
    assert (shown["refusal"], shown["change_id"]) == (None, newest["change_id"])
    town.bucket.put("acme/board/shown.md", b"third\n")
    refused = (await town.call(ADA, "GET", one)).json()
    assert (refused["diff"], "changed since" in refused["refusal"]) == (None, True)
    assert (await town.call(BOB, "GET", one)).status_code == 403
    assert (await town.call(EVE, "GET", one)).status_code == 403


async def test_a_folder_is_read_page_by_page_and_a_file_says_its_version(town):
    for name in ("a.md", "b/deep.md", "c.md", "d.md"):
        town.bucket.put(f"acme/board/pages/{name}", b"one\ntwo\n")
    place, seen, after = "/workspaces/board/files", [], ""
    while after is not None:
        query = {"path": "/pages", "limit": 3, "after": after}
        found = (await town.call(ADA, "GET", place, params=query)).json()
        seen.append([entry["path"] for entry in found["entries"]])
        after = found["next"]
    assert seen == [["/pages/b/", "/pages/a.md", "/pages/c.md"], ["/pages/d.md"]]
    file = await town.call(
        ADA, "GET", "/workspaces/board/file", params={"path": "/pages/a.md", "limit": 1}
    )
    body = file.json()
    head = town.bucket.head("acme/board/pages/a.md")
    assert (body["version"], body["size"]) == (head.version.token, 8)
    assert (body["file"]["content"], body["next_offset"]) == ("one\n", 1)
    me = (await town.call(ADA, "GET", "/workspaces")).json()
    assert (me["tenant"], me["user"]) == ("acme", "ada")


async def test_what_changed_since_is_not_undone(town):
    write = do("write_file", file_path="/since.md", content="agent's\n")
    await approve(town, ADA, await town.ask(ADA, write, workspace="board"))
    town.bucket.put("acme/board/since.md", b"a person's\n")
    place = "/workspaces/board/changes"
    [newest, *_] = (await town.call(ADA, "GET", place)).json()["changes"]
    undone = await town.call(ADA, "POST", f"{place}/{newest['change_id']}/undo")
    assert undone.status_code == 409
    assert town.text("acme/board/since.md") == "a person's\n"


FORGED = [
    {"config": {"configurable": {"langgraph_auth_user": {"identity": "ada", "tenant": "acme"}}}},
    {"config": {"configurable": {"langgraph_auth_user_id": "ada"}}},
    {"config": {"configurable": {"user_id": "ada"}}},
    {"config": {"configurable": {"tenant": "acme"}}},
    {"config": {"context": {"tenant": "acme"}}},
    {"context": {"tenant": "acme", "user": "ada"}},
    {"user_id": "ada"},
    {"tenant": "acme"},
    {"config": {"configurable": {"gcs_root_path": "/acme/main/"}}},
    {"config": {"configurable": {"gcs_root_path": "/zenith/../acme/main/"}}},
    {"config": {"configurable": {"gcs_root_path": ["acme", "main"]}}},
    {"config": {"configurable": {"workspace": "board"}}},
    {"workspace": "../acme/main"},
    {"workspace": "board"},
]


@pytest.mark.parametrize("claim", FORGED, ids=json.dumps)
async def test_who_the_caller_is_cannot_be_claimed(town, claim):
    town.bucket.put("acme/main/secret.md", b"SECRET")
    words = [{"role": "user", "content": do("read_file", file_path="/secret.md")}]
    answer = await town.agent(EVE, messages=words, **claim)
    assert answer.status_code == 403, answer.text
    assert "SECRET" not in answer.text


async def test_a_refused_root_says_which_may_be_named(town):
    claim = {"config": {"configurable": {"gcs_root_path": "/acme/main/"}}}
    answer = await town.agent(EVE, messages=[], **claim)
    assert answer.status_code == 403
    assert "choose from /zenith/" in answer.json()["hint"]


async def test_nobody_is_let_in_without_an_identity(town):
    assert (await town.agent(None, messages=[])).status_code == 401


async def test_a_claim_on_the_older_routes_changes_nobody(town):
    town.bucket.put("acme/main/secret.md", b"SECRET")
    run = {
        "assistant_id": "workspace",
        "input": {
            "messages": [{"role": "user", "content": do("read_file", file_path="/secret.md")}],
            "workspace_pin": {"tenant": "acme", "workspace": "main"},
        },
        "config": {"configurable": {"user_id": "ada", "langgraph_auth_user": {"identity": "ada"}}},
        "context": {"tenant": "acme", "user": "ada"},
    }
    forged = await town.call(EVE, "POST", "/runs/wait", json=run)
    assert forged.status_code == 422
    assert "workspace_pin" in forged.json()["message"]
    del run["input"]["workspace_pin"]
    forged = await town.call(EVE, "POST", "/runs/wait", json=run)
    assert forged.status_code == 422
    assert "'tenant', 'user'" in forged.json()["message"]
    del run["context"]
    answer = await town.call(EVE, "POST", "/runs/wait", json=run)
    assert "SECRET" not in answer.text
    assert answer.json()["workspace_pin"]["tenant"] != "acme"


async def test_a_foreign_thread_cannot_be_continued(town):
    asked = await town.ask(ADA, WRITE, workspace="main")
    [question] = asked["interrupts"]
    resume = {question["id"]: {"type": "approve"}}
    for user in (EVE, BOB):
        answer = await town.agent(user, thread_id=asked["thread_id"], resume=resume)
        assert answer.status_code == 404, answer.text
    other = await town.agent(ADA, thread_id=asked["thread_id"], workspace="board", messages=[])
    assert other.status_code == 403
    pin = {"values": {"workspace_pin": {"tenant": "zenith", "workspace": "main"}}}
    forged = await town.call(ADA, "POST", f"/threads/{asked['thread_id']}/state", json=pin)
    assert forged.status_code == 422
    assert "workspace_pin" in forged.json()["message"]
    assert town.text("zenith/main/plan.md") is None
    assert town.text("acme/main/plan.md") is None


async def test_a_tenant_has_so_many_runs_at_a_time(town):
    from bathysphere.tenancy.errors import QuotaExceeded

    words = [{"role": "user", "content": "x"}]
    town.services.runs._quota = lambda tenant: 0
    try:
        answer = await town.agent(ADA, workspace="main", messages=words)
        assert answer.status_code == 429, answer.text
        assert answer.json()["error"] == QuotaExceeded.code
    finally:
        town.services.runs._quota = None


async def test_files_can_be_looked_at(town):
    town.bucket.put("acme/board/deep/a.md", b"one\ntwo\n")
    names = (await town.call(ADA, "GET", "/workspaces")).json()["workspaces"]
    assert [w["name"] for w in names] == ["board", "main"]
    found = await town.call(ADA, "GET", "/workspaces/board/files", params={"path": "/deep"})
    assert [e["path"] for e in found.json()["entries"]] == ["/deep/a.md"]
    read = await town.call(
        ADA, "GET", "/workspaces/board/file", params={"path": "/deep/a.md", "offset": 1}
    )
    assert read.json()["file"]["content"] == "two\n"
    bad = await town.call(ADA, "GET", "/workspaces/board/file", params={"path": "/../x"})
    assert bad.status_code == 404
