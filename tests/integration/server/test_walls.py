"""Nobody reaches what another identity has, by any route; a route without a case fails."""

import asyncio
import json
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import UUID, uuid4

import httpx
import pytest
from langgraph.graph import START, StateGraph
from pydantic import SecretStr

sys.path.insert(0, str(Path(__file__).parent))

from open_stream import OpenStream

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.agent import sealer_of
from bathysphere.agents.research.snapshot_store import StoredSnapshots
from bathysphere.backends.object_store import BucketConfig, open_bucket
from bathysphere.core.identity import Owner
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.conversations.message_index import index_messages
from bathysphere.engine.conversations.message_texts import MessageText
from bathysphere.engine.crons.service import CronLimits
from bathysphere.engine.delivery.sender import SenderOptions
from bathysphere.engine.events.log import Event
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.usage.journal import CallJournal, record_usage
from bathysphere.evidence.snapshots import take_snapshot
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.permission import Call
from bathysphere.server.app import ROUTERS, create_app
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.process.deliveries import PushOptions
from bathysphere.server.process.services import ScheduleOptions, open_services
from bathysphere.server.research.service import ResearchService
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.tenancy.directory import Directory, Tenant

pytestmark = pytest.mark.services
SECRET = "the-secret-of-alice"
ALICE = Owner(tenant="alice", user="alice")
KEY = "02" + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
# Nobody answers there: what must be refused is refused without asking a mint.
PAID = PaymentSettings(mint="http://127.0.0.1:9", secret=SecretStr("s" * 32))
# A push service outside: nothing is sent there.
PUSH = PushOptions(
    secret=b"p" * 32, contact="mailto:operator@example.com", sender=SenderOptions(slots=0)
)
BROWSER = {
    "endpoint": "https://push.example.com/x",
    "keys": {
        "p256dh": "BI5TO2-gv3tGJbswZnwB-2B--fi4qA_vWzAGKHAxh7Kjc-sdveAzGDZtBp-D"
        "pvWQAFPHNjPLBBshxV4ahsH0ALQ",
        "auth": "AAAAAAAAAAAAAAAAAAAAAA",
    },
}


class State(TypedDict, total=False):
    items: Annotated[list[str], lambda old, new: old + new]


def graph(**bound: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", lambda state: {"items": [SECRET]})
    builder.add_edge(START, "node")
    return builder.compile(**bound)


async def identify(connection) -> Owner:
    name = connection.headers["x-test-user"]
    return Owner(tenant=name, user=name)


RESEARCH = ResearchConfig()
RUN = {"assistant_id": "plain", "input": {"items": ["x"]}}
CRON = {**RUN, "schedule": "0 0 1 1 *"}
START_RUN = {"id": 1, "method": "run.start", "params": RUN}

# Named: the request names something of alice's. It must be as if it were not there.
NAMED: dict[tuple[str, str], dict[str, Any]] = {
    ("GET", "/threads/{thread_id}"): {},
    ("PATCH", "/threads/{thread_id}"): {"json": {"metadata": {"x": 1}}},
    ("DELETE", "/threads/{thread_id}"): {},
    ("POST", "/threads/{thread_id}/copy"): {},
    ("GET", "/threads/{thread_id}/storage"): {},
    ("POST", "/threads/{thread_id}/shares"): {"json": {}},
    ("GET", "/threads/{thread_id}/shares"): {},
    ("DELETE", "/threads/{thread_id}/shares/{share_id}"): {},
    ("GET", "/threads/{thread_id}/stream"): {},
    ("GET", "/threads/{thread_id}/state"): {},
    ("POST", "/threads/{thread_id}/state"): {"json": {"values": {"items": ["mine"]}}},
    ("POST", "/threads/{thread_id}/state/checkpoint"): {
        "json": {"checkpoint": {"checkpoint_id": "{checkpoint_id}"}}
    },
    ("GET", "/threads/{thread_id}/state/{checkpoint_id}"): {},
    ("POST", "/threads/{thread_id}/history"): {"json": {}},
    ("GET", "/threads/{thread_id}/history"): {},
    ("POST", "/threads/{thread_id}/commands"): {"json": START_RUN},
    ("POST", "/threads/{thread_id}/stream/events"): {"json": {"channels": ["values"]}},
    ("POST", "/threads/{thread_id}/runs"): {"json": RUN},
    ("POST", "/threads/{thread_id}/runs/wait"): {"json": RUN},
    ("POST", "/threads/{thread_id}/runs/stream"): {"json": RUN},
    ("POST", "/threads/{thread_id}/runs/crons"): {"json": CRON},
    ("GET", "/runs/crons/{cron_id}"): {},
    ("PATCH", "/runs/crons/{cron_id}"): {"json": {"metadata": {"x": 1}}},
    ("DELETE", "/runs/crons/{cron_id}"): {},
    ("GET", "/threads/{thread_id}/runs"): {},
    ("GET", "/threads/{thread_id}/runs/{run_id}"): {},
    ("DELETE", "/threads/{thread_id}/runs/{run_id}"): {},
    ("POST", "/threads/{thread_id}/runs/{run_id}/cancel"): {},
    ("GET", "/threads/{thread_id}/runs/{run_id}/join"): {},
    ("GET", "/threads/{thread_id}/runs/{run_id}/stream"): {},
    ("POST", "/threads/{thread_id}/payments"): {"json": {"refund_key": KEY}},
    ("GET", "/threads/{thread_id}/payments"): {},
    ("POST", "/threads/{thread_id}/payments/deposit"): {},
    ("POST", "/threads/{thread_id}/payments/close"): {},
    ("GET", "/threads/{thread_id}/payments/refunds"): {},
    ("POST", "/api/research"): {"json": {"query": "x", "threadId": "{thread_id}"}},
    ("POST", "/api/research/approve"): {"json": {"threadId": "{thread_id}"}},
    ("GET", "/api/research/{thread_id}"): {},
    ("GET", "/api/research/{thread_id}/stream"): {},
    ("GET", "/api/research/{thread_id}/report"): {},
    ("GET", "/api/research/{thread_id}/reports"): {},
    ("GET", "/api/research/{thread_id}/sources/{snapshot_id}"): {},
    ("POST", "/runs/cancel"): {"json": {"thread_id": "{thread_id}", "run_ids": ["{run_id}"]}},
    ("GET", "/workspaces/{workspace}/files"): {"params": {"path": "/"}},
    ("GET", "/workspaces/{workspace}/file"): {"params": {"path": "/secret.md"}},
    ("GET", "/workspaces/{workspace}/changes"): {},
    ("GET", "/workspaces/{workspace}/changes/{change_id}"): {},
    ("POST", "/workspaces/{workspace}/changes/{change_id}/undo"): {},
    ("POST", "/api/agent"): {"json": {"thread_id": "{thread_id}", "messages": []}},
    ("GET", "/assistants/{assistant}"): {},
    ("PATCH", "/assistants/{assistant}"): {"json": {"name": "mine"}},
    ("DELETE", "/assistants/{assistant}"): {"params": {"delete_threads": "true"}},
    ("GET", "/assistants/{assistant}/graph"): {},
    ("GET", "/assistants/{assistant}/schemas"): {},
    ("GET", "/assistants/{assistant}/subgraphs"): {},
    ("GET", "/assistants/{assistant}/subgraphs/{namespace}"): {},
    ("POST", "/assistants/{assistant}/versions"): {"json": {}},
    ("POST", "/assistants/{assistant}/latest"): {"json": {"version": 1}},
}
# Asked: the request asks for what the caller has. Nothing of alice's may be in the answer.
MCP = {"accept": "application/json, text/event-stream", "mcp-session-id": "{mcp_session}"}
NAMED |= {
    ("POST", "/mcp"): {
        "json": {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        "headers": MCP,
    },
    ("GET", "/mcp"): {"headers": MCP},
    ("DELETE", "/mcp"): {"headers": MCP},
}
"""With a session of the person's."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "walls", "version": "1"},
    },
}
ASKED: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/threads/search"): {"json": {}},
    ("POST", "/threads/count"): {"json": {}},
    ("POST", "/threads/messages/search"): {"json": {"query": "a"}},
    ("POST", "/threads/prune"): {"json": {"thread_ids": ["{thread_id}"]}},
    ("POST", "/runs/crons/search"): {"json": {}},
    ("POST", "/runs/crons/count"): {"json": {}},
    ("GET", "/store/items"): {"params": {"namespace": "notes", "key": "k"}},
    ("DELETE", "/store/items"): {
        "content": b'{"namespace": ["notes"], "key": "k"}',
        "headers": {"content-type": "application/json"},
    },
    ("POST", "/store/items/search"): {"json": {"namespace_prefix": []}},
    ("POST", "/store/namespaces"): {"json": {}},
    ("GET", "/workspaces"): {},
    ("GET", "/memories"): {},
    ("GET", "/usage"): {"params": {"by": "model"}},
    ("DELETE", "/memories/{note}"): {},
    ("DELETE", "/push/subscription"): {
        "content": b'{"endpoint": "https://push.example.com/x"}',
        "headers": {"content-type": "application/json"},
    },
    ("POST", "/assistants/search"): {"json": {"limit": 1000}},
    ("POST", "/assistants/count"): {"json": {}},
}
# Open: there is nothing of anybody's behind it, or it only makes something new of the caller's own.
OPEN = {
    ("GET", "/ok"),
    ("GET", "/info"),
    ("GET", "/sign-in"),
    ("GET", "/verify"),
    ("GET", "/shared/{share_id}"),
    ("GET", "/docs"),
    ("GET", "/models"),
    ("GET", "/mcp-servers"),
    ("GET", "/payments"),
    ("GET", "/push"),
    ("PUT", "/push/subscription"),
    ("POST", "/assistants"),
    ("POST", "/threads"),
    ("POST", "/runs"),
    ("POST", "/runs/batch"),
    ("POST", "/runs/wait"),
    ("POST", "/runs/stream"),
    ("POST", "/runs/crons"),
    ("PUT", "/store/items"),
    ("PUT", "/memories"),
    ("PUT", "/memories/{note}"),
    ("POST", "/api/model/load"),
    ("POST", "/api/pages"),
}


def routes() -> set[tuple[str, str]]:
    found = {(m, r.path) for router in ROUTERS for r in router.routes for m in r.methods}
    return {case for case in found if case[1] != "/mcp/"}  # the same as /mcp


def test_every_route_has_a_case():
    assert routes() == set(NAMED) | set(ASKED) | OPEN


def filled(value: Any, ids: dict[str, str]) -> Any:
    """The request with alice's ids put in."""
    text = json.dumps(value) if not isinstance(value, str) else value
    for name, known in ids.items():
        text = text.replace("{" + name + "}", known)
    return json.loads(text) if not isinstance(value, str) else text


def workspaces_of_the_town() -> Workspaces:
    directory = Directory(
        tenants={"alice": Tenant(workspaces={"main": None, "vault": None})}, others=Tenant()
    )
    return Workspaces(directory=directory, bucket=open_bucket(BucketConfig(kind="memory")))


class Town:
    """A server without a worker, alice's things in it, and a way to come as somebody."""

    def __init__(self, app, services):
        self.app = app
        self.services = services
        transport = httpx.ASGITransport(app=app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://test", timeout=10)
        self.ids: dict[str, str] = {}

    async def call(self, user, method, path, **request):
        request = {k: v if k == "content" else filled(v, self.ids) for k, v in request.items()}
        headers = {"x-test-user": user, **request.pop("headers", {})}
        return await self.client.request(method, filled(path, self.ids), headers=headers, **request)

    async def furnish(self):
        thread = (
            await self.call("alice", "POST", "/threads", json={"metadata": {"of": SECRET}})
        ).json()
        self.ids["thread_id"] = thread["thread_id"]
        await self.call("alice", "PUT", "/push/subscription", json=BROWSER)
        update = {"values": {"items": [SECRET]}, "as_node": "node"}
        place = f"/threads/{thread['thread_id']}"
        run = await self.call("alice", "POST", f"{place}/runs", json=RUN)
        self.ids["run_id"] = run.json()["run_id"]
        await self.say(run.json()["run_id"], SECRET)
        self.ids["share_id"] = await self.share(thread["thread_id"], SECRET)
        cron = {**CRON, "metadata": {"of": SECRET}}
        made = await self.call("alice", "POST", f"{place}/runs/crons", json=cron)
        self.ids["cron_id"] = made.json()["cron_id"]
        state = await self.call("alice", "POST", f"{place}/state", json=update)
        self.ids["checkpoint_id"] = state.json().get("checkpoint_id") or secrets.token_hex(16)
        snapshot = take_snapshot("corpus:x", b"x", SECRET, fetched_at=datetime.now(UTC))
        self.ids["snapshot_id"] = snapshot.id
        owned = OwnedStore(self.services.store, Owner(tenant="alice", user="alice"))
        read = Call(step="s", tool="search_corpus", input="x")
        await StoredSnapshots(owned, thread["thread_id"], sealer_of(RESEARCH)).put(snapshot, read)
        item = {"namespace": ["notes"], "key": "k", "value": {"text": SECRET}}
        assert (await self.call("alice", "PUT", "/store/items", json=item)).status_code < 300
        note = await self.call("alice", "PUT", "/memories/drinks.md", json={"text": SECRET})
        assert note.status_code == 200, note.text
        self.ids["note"] = "drinks.md"
        account = {"refund_key": KEY}
        opened = await self.call("alice", "POST", f"{place}/payments", json=account)
        assert opened.status_code == 200, opened.text
        assistant = {"graph_id": "plain", "name": SECRET, "metadata": {"of": SECRET}}
        made = await self.call("alice", "POST", "/assistants", json=assistant)
        self.ids |= {"assistant": made.json()["assistant_id"], "namespace": "node"}
        accept = {"accept": MCP["accept"]}
        session = await self.call("alice", "POST", "/mcp", json=INITIALIZE, headers=accept)
        self.ids["mcp_session"] = session.headers["mcp-session-id"]
        await self.furnish_workspace()
        await self.use(run.json()["run_id"], SECRET)

    async def use(self, run_id, model):
        """Model calls of alice's run: one in its usage, one that goes on."""
        run = await self.services.runs.get(UUID(run_id), owner=ALICE)
        clock = self.services.clock
        journal = CallJournal(self.services.pool, run, clock=clock)
        await journal.begin(uuid4(), model=model, input_tokens=1)
        async with self.services.pool.connection() as connection:
            await record_usage(connection, run, await journal.close())
        await journal.begin(uuid4(), model=model, input_tokens=1)

    async def say(self, run_id, words):
        """What a run of alice's said, as its end would have indexed it."""
        run = await self.services.runs.get(UUID(run_id), owner=ALICE)
        async with self.services.pool.connection() as connection:
            await index_messages(connection, run, [MessageText("m", "person", words)])

    async def share(self, thread_id, words):
        """A snapshot that alice shares."""
        texts = [MessageText("m", "person", words)]
        made = await self.services.shares.create(
            UUID(thread_id), texts, owner=ALICE, title=words, days=7
        )
        return made.share_id

    async def furnish_workspace(self):
        """A workspace that only alice may use, with a file in it and a change of that file."""
        bucket = self.services.workspaces.bucket
        version = bucket.put("alice/vault/secret.md", SECRET.encode())
        async with self.services.pool.connection() as connection:
            row = await (
                await connection.execute(
                    "INSERT INTO engine.file_changes (tenant, workspace, path, action, asked_by,"
                    " approver, call, before_version, before, after_version, finished_at)"
                    " VALUES ('alice', 'vault', '/secret.md', 'write', 'alice', 'alice', %s, 'v0',"
                    " %s, %s, now()) RETURNING change_id",
                    (secrets.token_hex(8), SECRET.encode(), version.token),
                )
            ).fetchone()
        self.ids |= {"workspace": "vault", "change_id": str(row["change_id"])}

    async def belongings(self):
        """Everything alice has, as the database knows it."""
        async with self.services.pool.connection() as connection:
            tables = ["engine.threads", "engine.runs", "engine.crons", "checkpoints", "store"]
            tables += ["payments.sessions", "engine.file_changes"]
            tables += ["engine.assistants", "engine.assistant_versions", "engine.message_texts"]
            tables += ["engine.shares", "engine.usage", "engine.model_calls"]
            tables += ["engine.push_subscriptions"]
            listed = self.services.workspaces.bucket.listing("alice").metas
            rows = {"bucket": [(meta.key, meta.version) for meta in listed]}
            for table in tables:
                cursor = await connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
                rows[table] = await cursor.fetchall()
            return rows


@pytest.fixture
async def town(database):
    graphs, workspaces = Graphs({"plain": graph, "research": graph}), workspaces_of_the_town()
    async with open_services(
        database=database,
        graphs=graphs,
        payments=PAID,
        workspaces=workspaces,
        push=PUSH,
        # Every test adds to what alice has.
        schedules=ScheduleOptions(limits=CronLimits(per_tenant=None)),
    ) as services:
        research = ResearchService(models=ModelSettings.model_construct(), research=RESEARCH)
        town = Town(create_app(services=services, identify=identify, research=research), services)
        await town.furnish()
        yield town
        await town.client.aclose()
        await town.app.state.mcp.aclose()


@pytest.mark.parametrize(("method", "path"), sorted(NAMED))
async def test_what_is_alices_is_not_there_for_bob(town, method, path):
    before = await town.belongings()
    answer = await asyncio.wait_for(town.call("bob", method, path, **NAMED[method, path]), 10)
    assert answer.status_code in (403, 404), answer.text
    assert SECRET not in answer.text
    assert await town.belongings() == before


@pytest.mark.parametrize(("method", "path"), sorted(ASKED))
async def test_what_bob_asks_for_holds_nothing_of_alices(town, method, path):
    before = await town.belongings()
    answer = await town.call("bob", method, path, **ASKED[method, path])
    assert answer.status_code < 500
    assert SECRET not in answer.text
    assert town.ids["run_id"] not in answer.text
    assert await town.belongings() == before


ANSWERED_AT_ONCE = sorted(
    case
    for case in {**NAMED, **ASKED}
    if not case[1].endswith(("/stream", "/stream/events", "/wait", "/join", "/api/research"))
    and case != ("GET", "/mcp")
    # those wait for work
)


@pytest.mark.parametrize(("method", "path"), ANSWERED_AT_ONCE)
async def test_the_same_request_is_served_when_it_is_alices(town, method, path):
    """The cases above would pass on a route that is simply broken; this one would not."""
    answer = await asyncio.wait_for(
        town.call("alice", method, path, **{**NAMED, **ASKED}[method, path]), 10
    )
    assert answer.status_code not in (401, 403), answer.text
    assert answer.status_code < 500, answer.text


async def test_a_run_with_alices_assistant_is_refused_to_bob(town):
    body = {"assistant_id": "{assistant}", "input": {"items": []}}
    assert (await town.call("bob", "POST", "/runs", json=body)).status_code == 404
    assert (await town.call("alice", "POST", "/runs", json=body)).status_code == 200
    start = {"id": 1, "method": "run.start", "params": body}
    answer = await town.call("bob", "POST", f"/threads/{uuid4()}/commands", json=start)
    assert answer.json()["type"] == "error"
    assert SECRET not in answer.text


async def test_titles_are_searched_among_the_callers_own_threads(town):
    async def found(user, words):
        body = {"title_contains": words, "limit": 1000}
        answer = await town.call(user, "POST", "/threads/search", json=body)
        assert answer.status_code == 200, answer.text
        return sorted(thread["metadata"]["title"] for thread in answer.json())

    titles = ["The Mariana trench", "A trench of 100% mud", "Reefs_and_rays", "back\\slash"]
    for title in titles:
        await town.call("alice", "POST", "/threads", json={"metadata": {"title": title}})
    await town.call("bob", "POST", "/threads", json={"metadata": {"title": "Bob's trench"}})
    assert await found("alice", "TRENCH") == [titles[1], titles[0]]
    assert await found("alice", " trench  mariana ") == [titles[0]]
    assert await found("alice", "100%") == [titles[1]]
    assert await found("alice", "0% m") == [titles[1]]
    assert await found("alice", "f_a") == []
    assert await found("alice", "s_a") == [titles[2]]
    assert await found("alice", "k\\s") == [titles[3]]
    assert await found("alice", "mariana reef") == []
    assert await found("bob", "trench") == ["Bob's trench"]
    assert await found("bob", "%") == []


async def test_a_stream_that_was_open_before_the_thread_changed_hands_stays_empty(town):
    """Bob opens, deletes and keeps reading; Alice then uses the same thread id."""
    thread = str(uuid4())
    assert (await town.call("bob", "POST", "/threads", json={"thread_id": thread})).is_success
    body = {"channels": ["values", "custom", "lifecycle"]}
    headers, place = {"x-test-user": "bob"}, f"/threads/{thread}"
    stream = OpenStream(town.app, "POST", f"{place}/stream/events", headers=headers, body=body)
    async with stream:
        assert await stream.opened() == 200
        assert (await town.call("bob", "DELETE", place)).is_success
        assert (await town.call("alice", "POST", "/threads", json={"thread_id": thread})).is_success
        event = Event(channel="custom", run_id="r", data={"name": "word", "payload": SECRET})
        owner = Owner(tenant="alice", user="alice")
        await town.services.events.append(UUID(thread), [event.encode()], owner=owner)
        mine = OpenStream(
            town.app,
            "POST",
            f"{place}/stream/events",
            headers={"x-test-user": "alice"},
            body=body,
        )
        async with mine:
            async with asyncio.timeout(5):
                while SECRET not in mine.text:  # noqa: ASYNC110  # Alice reads her own
                    await asyncio.sleep(0.01)
        assert SECRET not in stream.text


@pytest.mark.parametrize("claim", ["user_id", "langgraph_auth_user", "langgraph_auth_user_id"])
async def test_a_claim_in_the_body_changes_nobody(town, claim):
    body = {**RUN, "config": {"configurable": {claim: "alice"}}, "context": {claim: "alice"}}
    answer = await town.call("bob", "POST", "/runs", json=body)
    assert answer.status_code < 500
    async with town.services.pool.connection() as connection:
        cursor = await connection.execute("SELECT DISTINCT tenant FROM engine.runs")
        assert {row["tenant"] for row in await cursor.fetchall()} <= {"alice", "bob"}
        cursor = await connection.execute("SELECT work FROM engine.runs WHERE tenant = 'bob'")
        assert all("alice" not in json.dumps(row["work"]) for row in await cursor.fetchall())
