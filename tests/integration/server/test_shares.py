"""Shared conversations: a snapshot behind a link that expires and can be revoked."""

import re
import sys
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph

sys.path.insert(0, str(Path(__file__).parent))

from test_walls import identify
from workspace_town import drop, own_database

from bathysphere.engine.conversations.shares import ShareLimits
from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.process.services import open_services

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
LIMITS = ShareLimits(per_tenant=3, per_thread=2, bytes=20_000)
HOSTILE = """\
<script>alert(1)</script> [click](javascript:alert(1)) ![pixel](https://evil.example/x.png)
[site](https://example.org/a?b=c) <img src=x onerror=alert(1)>

# A heading

| a | b |
|---|---|
| 1 | 2 |
"""


def graph():
    builder = StateGraph(MessagesState)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    return builder.compile()


@pytest.fixture
def database():
    found = own_database()
    yield found
    drop(found)


@pytest.fixture
async def services(database):
    async with open_services(
        database=database, graphs=Graphs({"plain": graph}), shares=LIMITS
    ) as opened:
        yield opened


class Caller:
    """Someone who calls the server."""

    def __init__(self, app, user):
        headers = {"x-test-user": user} if user else {}
        transport = httpx.ASGITransport(app=app)
        self.http = httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers)

    async def thread(self, *messages, title="On whales"):
        metadata = {"title": title, "graph_id": "plain"}
        made = (await self.http.post("/threads", json={"metadata": metadata})).json()
        update = {"values": {"messages": [*messages]}, "as_node": "node"}
        answer = await self.http.post(f"/threads/{made['thread_id']}/state", json=update)
        assert answer.is_success, answer.text
        return made["thread_id"]

    async def share(self, thread, **body):
        return await self.http.post(f"/threads/{thread}/shares", json=body)


@pytest.fixture
def app(services):
    return create_app(services=services, identify=identify)


@pytest.fixture
def alice(app):
    return Caller(app, "alice")


@pytest.fixture
def nobody(app):
    return Caller(app, None)


def said(*messages):
    return [message.model_dump() for message in messages]


TALK = said(
    HumanMessage("How deep do whales dive?", id="h"),
    AIMessage(
        "Very **deep**.",
        id="a",
        tool_calls=[
            {"name": "read_user_file", "args": {"path": "secret-plan.md"}, "id": "c1"},
            {"name": "ask_user", "args": {"question": "Which whales?"}, "id": "c2"},
        ],
    ),
    ToolMessage("the text of secret-plan.md", tool_call_id="c1"),
    ToolMessage("raw", tool_call_id="c2", additional_kwargs={"answer": "Sperm whales"}),
)


async def test_whoever_has_the_link_reads_what_was_said_and_nothing_else(alice, nobody):
    thread = await alice.thread(*TALK)
    made = await alice.share(thread)
    assert made.status_code == 200, made.text
    share = made.json()
    assert re.fullmatch(r"/shared/[\w-]{43}", share["path"])
    answer = await nobody.http.get(share["path"])
    assert answer.status_code == 200
    for words in ("On whales", "How deep do whales dive?", "Very <strong>deep</strong>."):
        assert words in answer.text
    assert "Which whales?" in answer.text
    assert "Sperm whales" in answer.text
    assert "secret-plan" not in answer.text
    assert thread not in answer.text
    more = said(HumanMessage("and later words", id="h2"))
    update = {"values": {"messages": more}, "as_node": "node"}
    await alice.http.post(f"/threads/{thread}/state", json=update)
    assert (await nobody.http.get(share["path"])).text == answer.text  # a copy, not the thread


async def test_the_page_runs_nothing_and_asks_nobody(alice, nobody):
    thread = await alice.thread(
        *said(HumanMessage(HOSTILE, id="h"), AIMessage(HOSTILE, id="a")), title="<b>x</b>\u202e"
    )
    answer = await nobody.http.get((await alice.share(thread)).json()["path"])
    assert "<script" not in answer.text
    assert "<img" not in answer.text
    assert "javascript:" not in re.sub(r"\[click\]\(javascript:alert\(1\)\)", "", answer.text)
    assert "<b>x</b>" not in answer.text
    assert "\u202e" not in answer.text
    assert 'href="https://example.org/a?b=c" rel="noopener noreferrer nofollow"' in answer.text
    assert "<h3>A heading</h3>" in answer.text
    assert "<table>" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "script-src" not in policy
    assert "sandbox allow-popups " in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "noindex" in answer.headers["x-robots-tag"]


async def test_a_revoked_link_shows_nothing(alice, nobody):
    thread = await alice.thread(*TALK)
    share = (await alice.share(thread)).json()
    listed = (await alice.http.get(f"/threads/{thread}/shares")).json()
    assert listed == [share]
    place = f"/threads/{thread}/shares/{share['share_id']}"
    assert (await alice.http.delete(place)).status_code == 204
    answer = await nobody.http.get(share["path"])
    assert answer.status_code == 404
    assert "whales" not in answer.text
    assert (await alice.http.delete(place)).status_code == 404
    assert (await alice.http.get(f"/threads/{thread}/shares")).json() == []


async def test_an_expired_link_shows_nothing_and_is_swept(alice, nobody, services):
    thread = await alice.thread(*TALK)
    share = (await alice.share(thread, days=1)).json()
    kept = (await alice.share(thread)).json()
    assert kept["expires_at"] > share["expires_at"]
    async with services.pool.connection() as connection:
        await connection.execute(
            "UPDATE engine.shares SET expires_at = now() WHERE share_id = %s", (share["share_id"],)
        )
    assert (await nobody.http.get(share["path"])).status_code == 404
    assert (await alice.http.get(f"/threads/{thread}/shares")).json() == [kept]
    assert await services.shares.delete_expired() == 1
    assert (await nobody.http.get(kept["path"])).status_code == 200


async def test_another_tenant_neither_lists_nor_revokes(alice, nobody, app):
    bob = Caller(app, "bob")
    thread = await alice.thread(*TALK)
    share = (await alice.share(thread)).json()
    other = await bob.thread(*TALK)
    assert (await bob.http.get(f"/threads/{thread}/shares")).status_code == 404
    assert (await bob.share(thread)).status_code == 404
    for place in (thread, other):
        answer = await bob.http.delete(f"/threads/{place}/shares/{share['share_id']}")
        assert answer.status_code == 404
    assert (await bob.http.get(f"/threads/{other}/shares")).json() == []
    assert (await nobody.http.get(share["path"])).status_code == 200


async def test_links_go_with_the_thread(alice, nobody):
    thread = await alice.thread(*TALK)
    share = (await alice.share(thread)).json()
    await alice.http.delete(f"/threads/{thread}")
    assert (await nobody.http.get(share["path"])).status_code == 404


async def test_links_are_counted_per_thread_and_tenant(alice, app):
    first, second = await alice.thread(*TALK), await alice.thread(*TALK)
    statuses = [(await alice.share(thread)).status_code for thread in (first, first, first)]
    assert statuses == [200, 200, 429]
    assert (await alice.share(second)).status_code == 200
    refused = await alice.share(second)
    assert refused.status_code == 429
    assert "revoke some" in refused.text
    bob = Caller(app, "bob")
    assert (await bob.share(await bob.thread(*TALK))).status_code == 200


async def test_what_cannot_be_shared_is_refused(alice):
    silent = await alice.thread()
    assert (await alice.share(silent)).status_code == 422
    long = await alice.thread(*said(HumanMessage("x" * 30_000, id="h")))
    assert "too long" in (await alice.share(long)).text
    assert (await alice.share(str(uuid4()))).status_code == 404
    talk = await alice.thread(*TALK)
    for days in (0, 91):
        assert (await alice.share(talk, days=days)).status_code == 422


@pytest.mark.parametrize("share_id", ["x", "a" * 43, "../../etc", "%00" * 43, "'" * 43])
async def test_a_guess_finds_nothing(nobody, share_id):
    assert (await nobody.http.get(f"/shared/{share_id}")).status_code in (404, 422)


async def test_a_server_without_sharing_shows_no_link(database, nobody, alice, app):
    share = (await alice.share(await alice.thread(*TALK))).json()
    graphs = Graphs({"plain": graph})
    async with open_services(
        database=database, graphs=graphs, shares=ShareLimits(per_tenant=0)
    ) as closed:
        other = create_app(services=closed, identify=identify)
        assert (await Caller(other, None).http.get(share["path"])).status_code == 404
        caller = Caller(other, "alice")
        refused = await caller.share(await caller.thread(*TALK))
        assert "turned off" in refused.text
    assert (await nobody.http.get(share["path"])).status_code == 200
