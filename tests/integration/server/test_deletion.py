"""Deleting a thread deletes all that belongs to it: a dump of the database holds no word of it."""

import base64
import secrets
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_walls import KEY, PAID, graph, identify, workspaces_of_the_town
from workspace_town import drop, own_database

from bathysphere.agents.research import ResearchConfig
from bathysphere.core.identity import Owner
from bathysphere.core.writers import thread_namespace
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.graphs import Graphs
from bathysphere.evidence.snapshots import take_snapshot
from bathysphere.models.settings import ModelSettings
from bathysphere.server.app import create_app
from bathysphere.server.process.services import WebhookOptions, open_services
from bathysphere.server.research.service import ResearchService

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
ALICE = Owner(tenant="alice", user="alice")


@pytest.fixture
def database():
    found = own_database()
    yield found
    drop(found)


@pytest.fixture
async def services(database):
    graphs = Graphs({"plain": graph, "research": graph})
    async with open_services(
        database=database,
        graphs=graphs,
        payments=PAID,
        workspaces=workspaces_of_the_town(),
        webhooks=WebhookOptions(master=b"a secret of thirty-two characters"),
    ) as opened:
        yield opened


@pytest.fixture
async def client(services):
    research = ResearchService(models=ModelSettings.model_construct(), research=ResearchConfig())
    app = create_app(services=services, identify=identify, research=research)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url="http://test",
        headers={"x-test-user": "alice"},
    ) as client:
        yield client


def spellings(word: str) -> list[str]:
    """How a word may look in a dump: plain, in bytes, and in base64 at any offset."""
    data = word.encode()
    shifted = (base64.b64encode(b"\0" * n + data).decode() for n in range(3))
    return [word, data.hex(), *(text[4:-4] for text in shifted)]


def hits(database, word: str) -> list[str]:
    """The tables that hold the word."""
    found = []
    with psycopg.connect(database.url) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for (table,) in tables:
            for (row,) in connection.execute(f"SELECT t::text FROM {table} t"):
                found += [table for spelling in spellings(word) if spelling in row][:1]
    return sorted(set(found))


async def plant(client, services, word: str) -> str:
    """A thread with the word in every table that may hold something of it."""
    made = await client.post("/threads", json={"metadata": {"title": word}})
    thread = made.json()["thread_id"]
    place = f"/threads/{thread}"
    body = {"assistant_id": "plain", "input": {"items": [word]}}
    hook = {"webhook": f"https://hooks.example.com/{word}"}
    run = (await client.post(f"{place}/runs", json={**body, **hook})).json()["run_id"]
    cron = {**body, **hook, "schedule": "0 9 * * *"}
    assert (await client.post(f"{place}/runs/crons", json=cron)).is_success
    await services.runs.cancel(UUID(run), owner=ALICE)
    values = {"values": {"items": [word]}, "as_node": "node"}
    assert (await client.post(f"{place}/state", json=values)).is_success
    owned = OwnedStore(services.store, ALICE)
    snapshot = take_snapshot("corpus:x", word.encode(), word, fetched_at=datetime.now(UTC))
    space = (*thread_namespace(thread), "research", "snapshots")
    await owned.aput(space, snapshot.id, {"text": base64.b64encode(word.encode()).decode()})
    older = {"namespace": ["research", "snapshots", thread], "key": "k", "value": {"text": word}}
    assert (await client.put("/store/items", json=older)).is_success
    assert (await client.post(f"{place}/payments", json={"refund_key": KEY})).is_success
    async with services.pool.connection() as connection:
        values = {"thread": thread, "run": run, "word": word, "data": word.encode()}
        for statement in PLANTED:
            await connection.execute(statement, values)
    return thread


PLANTED = (
    "UPDATE engine.runs SET error = jsonb_build_object('message', %(word)s::text)"
    " WHERE run_id = %(run)s",
    "INSERT INTO engine.effects (thread_id, namespace, task, call, run_id, result) VALUES"
    " (%(thread)s, '', 't', 'c', %(run)s, jsonb_build_object('data', %(word)s::text))",
    "INSERT INTO engine.answers (thread_id, interrupt_id, answer, run_id) VALUES"
    " (%(thread)s, 'i', jsonb_build_object('said', %(word)s::text), %(run)s)",
    "INSERT INTO engine.writes_before VALUES"
    " (%(run)s, %(thread)s, '', 'c', 't', '', 0, 'x', 'bytes', %(data)s)",
    "INSERT INTO checkpoint_writes"
    " (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)"
    " VALUES (%(thread)s, '', 'c', 't', 0, 'x', 'bytes', %(data)s)",
    "INSERT INTO payments.charges"
    " (thread_id, key, session_id, amount, status, holder, memo, charged_at)"
    " SELECT %(thread)s, 'k', session_id, 1, 'done', %(run)s, %(data)s, now()"
    "   FROM payments.sessions WHERE thread_id = %(thread)s",
    "INSERT INTO engine.file_changes (tenant, workspace, path, action, asked_by, approver,"
    " thread_id, run_id, call, before_version, finished_at) VALUES"
    " ('alice', 'main', '/x', 'write', 'alice', 'alice', %(thread)s, %(run)s, 'c', 'v', now())",
)


async def test_no_table_holds_a_word_of_a_deleted_thread(client, services, database):
    word, kept_word = f"word-{secrets.token_hex(12)}", f"kept-{secrets.token_hex(12)}"
    thread = await plant(client, services, word)
    await plant(client, services, kept_word)
    expected = {"engine.threads", "engine.runs", "engine.effects", "engine.answers"}
    expected |= {"engine.writes_before", "public.checkpoint_writes", "public.checkpoint_blobs"}
    expected |= {"public.store", "payments.charges", "engine.crons", "engine.webhooks"}
    assert expected <= set(hits(database, word))  # the search finds what is there
    kept = hits(database, kept_word)
    assert (await client.delete(f"/threads/{thread}")).status_code == 204
    assert hits(database, word) == []
    assert hits(database, kept_word) == kept


async def test_money_and_the_workspace_record_outlive_the_thread(client, services, database):
    thread = await plant(client, services, "x")
    assert (await client.delete(f"/threads/{thread}")).status_code == 204
    with psycopg.connect(database.url) as connection:
        query = "SELECT count(*), sum(amount) FROM payments.charges WHERE thread_id = %s"
        assert connection.execute(query, (thread,)).fetchone() == (1, 1)
        query = "SELECT count(*) FROM payments.sessions WHERE thread_id = %s"
        assert connection.execute(query, (thread,)).fetchone() == (1,)
        query = "SELECT thread_id, run_id, approver FROM engine.file_changes"
        assert connection.execute(query).fetchall() == [(None, None, "alice")]


async def test_a_deletion_that_fails_leaves_everything(client, services, database, monkeypatch):
    word = f"word-{secrets.token_hex(12)}"
    thread = await plant(client, services, word)
    before = hits(database, word)
    from bathysphere.engine import threads

    monkeypatch.setattr(threads, "_DELETE", (*threads._DELETE, "SELECT 1 / 0"))
    with pytest.raises(psycopg.errors.DivisionByZero):
        await services.threads.delete(UUID(thread), owner=ALICE)
    assert hits(database, word) == before
