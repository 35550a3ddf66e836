"""Deleting a thread deletes all that belongs to it: a dump of the database holds no word of it."""

import secrets
import sys
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from planted_thread import hits, plant
from test_walls import PAID, graph, identify, workspaces_of_the_town
from workspace_town import drop, own_database

from bathysphere.agents.research import ResearchConfig
from bathysphere.core.identity import Owner
from bathysphere.engine.graphs import Graphs
from bathysphere.models.settings import ModelSettings
from bathysphere.server.app import create_app
from bathysphere.server.process.deliveries import WebhookOptions
from bathysphere.server.process.services import open_services
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


async def test_no_table_holds_a_word_of_a_deleted_thread(client, services, database):
    word, kept_word = f"word-{secrets.token_hex(12)}", f"kept-{secrets.token_hex(12)}"
    thread = await plant(client, services, ALICE, word)
    await plant(client, services, ALICE, kept_word)
    expected = {"engine.threads", "engine.runs", "engine.effects", "engine.answers"}
    expected |= {"engine.writes_before", "public.checkpoint_writes", "public.checkpoint_blobs"}
    expected |= {
        "engine.message_texts",
        "engine.shares",
        "public.store",
        "payments.charges",
        "engine.crons",
        "engine.webhooks",
    }
    assert expected <= set(hits(database, word))  # the search finds what is there
    kept = hits(database, kept_word)
    assert (await client.delete(f"/threads/{thread}")).status_code == 204
    assert hits(database, word) == []
    assert hits(database, kept_word) == kept


async def test_money_and_the_workspace_record_outlive_the_thread(client, services, database):
    thread = await plant(client, services, ALICE, "x")
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
    thread = await plant(client, services, ALICE, word)
    before = hits(database, word)
    from bathysphere.engine import thread_deletion

    failing = (*thread_deletion.DELETE, "SELECT 1 / 0")
    monkeypatch.setattr(thread_deletion, "DELETE", failing)
    with pytest.raises(psycopg.errors.DivisionByZero):
        await services.threads.delete(UUID(thread), owner=ALICE)
    assert hits(database, word) == before
