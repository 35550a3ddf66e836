"""One person's data can be taken out and deleted: no table, event or file has a word of it."""

import asyncio
import json
import secrets
import sys
from pathlib import Path
from uuid import UUID, uuid4
from zipfile import ZipFile

import httpx
import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import START, MessagesState, StateGraph
from redis import Redis

sys.path.insert(0, str(Path(__file__).parent))

from planted_thread import hits, plant, spellings
from test_walls import PAID, graph
from workspace_town import drop, own_database

from bathysphere.agents.research import ResearchConfig
from bathysphere.backends.object_store import BucketConfig, open_bucket
from bathysphere.cli.main import main
from bathysphere.core.identity import Owner
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.events.log import Event
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.personal_data.deletion import PersonalData
from bathysphere.engine.personal_data.tables import PERSONAL_TABLES
from bathysphere.middleware.memories.notes import Change
from bathysphere.middleware.memories.storage import Notebook
from bathysphere.models.settings import ModelSettings
from bathysphere.server.app import create_app
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.personal_data import (
    HasMoney,
    count_person,
    delete_person,
    export_person,
)
from bathysphere.server.process.deliveries import WebhookOptions
from bathysphere.server.process.services import open_services
from bathysphere.server.research.service import ResearchService
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.tenancy.directory import Directory, Tenant

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
REDIS = "redis://127.0.0.1:6379/11"
ADA = Owner(tenant="acme", user=f"ada-{secrets.token_hex(6)}")
BOB = Owner(tenant="acme", user=f"bob-{secrets.token_hex(6)}")
PRIVATE = {
    ADA.user: frozenset({ADA.user}),
    BOB.user: frozenset({BOB.user}),
    "both": frozenset({ADA.user, BOB.user}),
}
NOBODYS = {
    "engine.migrations": "names of migrations",
    "engine.epochs": "restores from backups",
    "engine.cell_tenants": "where tenants are",
    "engine.cell_arrivals": "moves that ended",
    "engine.encryption_keys": "ids of keys",
    "public.checkpoint_migrations": "versions",
    "public.store_migrations": "versions",
    "public.vector_migrations": "versions",
    "public.store_vectors": "deleted with the store's items",
    "public.procrastinate_workers": "heartbeats of workers",
    "engine.worker_slots": "of workers",
    "public.procrastinate_events": "deleted with the queue's jobs",
    "public.procrastinate_periodic_defers": "unused",
    "payments.vault": "the operator's earnings",
    "payments.withdrawals": "the operator's earnings",
    "payments.withdrawn": "the operator's earnings",
}

USED = (
    "INSERT INTO engine.push_subscriptions (tenant, owner, endpoint, receiver, p256dh, auth)"
    " VALUES (%(tenant)s, %(user)s, 'https://push.example.com/' || %(word)s, '', '', '')",
    "INSERT INTO engine.push_notices (subscription_id, thread_id, run_id, tenant, owner, receiver,"
    " news, next_attempt_at) SELECT subscription_id, thread_id, run_id, tenant, owner, '', 'done',"
    " now() FROM engine.push_subscriptions JOIN engine.runs USING (tenant, owner)"
    " WHERE owner = %(user)s LIMIT 1",
    "INSERT INTO engine.model_calls"
    " (call_id, run_id, tenant, owner, graph, model, input_tokens, tool_calls, seconds) VALUES"
    " (gen_random_uuid(), gen_random_uuid(), %(tenant)s, %(user)s, 'plain', 'm', 1, 0, 0)",
    "INSERT INTO engine.budgets VALUES (%(tenant)s, %(user)s, 'tokens', 1000000)",
    "INSERT INTO engine.usage (run_id, model, currency, tenant, owner, graph, model_calls,"
    " estimated_calls, input_tokens, output_tokens, tool_calls, seconds) VALUES"
    " (gen_random_uuid(), 'm', '', %(tenant)s, %(user)s, 'plain', 1, 0, 1, 1, 0, 1)",
)


@pytest.fixture
def database():
    found = own_database()
    yield found
    drop(found)


@pytest.fixture
def redis():
    with Redis.from_url(REDIS) as client:
        client.flushdb()
        yield client
        client.flushdb()


@pytest.fixture
def workspaces():
    tenants = {"acme": Tenant(workspaces={"main": None, **PRIVATE})}
    bucket = open_bucket(BucketConfig(kind="memory"))
    return Workspaces(directory=Directory(tenants=tenants), bucket=bucket)


@pytest.fixture
async def services(database, workspaces, redis):
    async with open_services(
        database=database,
        graphs=Graphs({"plain": graph, "research": graph}),
        redis_url=REDIS,
        payments=PAID,
        workspaces=workspaces,
        webhooks=WebhookOptions(master=b"a secret of thirty-two characters"),
    ) as opened:
        yield opened


async def identify(connection) -> Owner:
    return Owner(tenant="acme", user=connection.headers["x-test-user"])


async def settle_down(services, owner: Owner, word: str) -> None:
    """Everything a person can have: the word in each of it."""
    research = ResearchService(models=ModelSettings.model_construct(), research=ResearchConfig())
    app = create_app(services=services, identify=identify, research=research)
    headers = {"x-test-user": owner.user}
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://test", headers=headers
    ) as client:
        thread = await plant(client, services, owner, word)
        waiting = {"assistant_id": "plain", "input": {"items": [word]}}
        assert (await client.post(f"/threads/{thread}/runs", json=waiting)).is_success
        assert (await client.post("/threads", json={"metadata": {"title": word}})).is_success
        assistant = {"graph_id": "plain", "name": word, "context": {}}
        assert (await client.post("/assistants", json=assistant)).is_success
        item = {"namespace": ["own"], "key": word, "value": {"text": word}}
        assert (await client.put("/store/items", json=item)).is_success
    await ApiKeys(services.pool).create(owner, label=word)
    note = Notebook(owner, "opt-in").write(Change(name="note", text=word), "person")
    await OwnedStore(services.store, owner).abatch(note)
    said = {"messages": [{"type": "human", "content": f"{word} " * 300}]}
    event = Event(channel="values", run_id="r", data=said)
    await services.events.append(UUID(thread), [event.encode()], owner=owner)
    for workspace in (owner.user, "main", "both"):
        text = word if workspace == owner.user else "the team's"
        services.workspaces.files(owner, workspace).write(f"/{owner.digest}.txt", text)
    async with services.pool.connection() as connection:
        await connection.execute(
            "UPDATE engine.file_changes SET before = %s WHERE asked_by = %s",
            (word.encode(), owner.user),
        )
        await connection.execute(
            "INSERT INTO engine.turns (tenant, owner, taken_at) VALUES (%s, %s, now())",
            (owner.tenant, owner.user),
        )
        for used in USED:
            await connection.execute(
                used, {"tenant": owner.tenant, "user": owner.user, "word": word}
            )


def redis_text(redis: Redis) -> str:
    """All keys and contents of the event logs."""
    found = []
    for key in redis.keys("*"):
        found.append(key.decode())
        if redis.type(key) == b"stream":
            found += [repr(row) for row in redis.xrange(key)]
        elif redis.type(key) == b"hash":
            found.append(repr(redis.hgetall(key)))
    return "\n".join(found)


def rows_of(database, words: list[str]) -> list[tuple[str, str]]:
    """The rows that hold one of the words, as text."""
    found = []
    with psycopg.connect(database.url) as connection:
        for table in tables(connection):
            for (row,) in connection.execute(f"SELECT t::text FROM {table} t"):
                if any(spelling in row for word in words for spelling in spellings(word)):
                    found.append((table, row))
    return sorted(found)


def tables(connection) -> list[str]:
    return [
        table
        for (table,) in connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
    ]


async def test_every_table_is_known_to_be_personal_or_not(database):
    personal = {table.table for table in PERSONAL_TABLES.values()}
    known = {name if "." in name else f"public.{name}" for name in personal} | set(NOBODYS)
    with psycopg.connect(database.url) as connection:
        assert set(tables(connection)) - known == set()


async def test_after_deletion_nothing_of_the_person_is_left_and_others_have_everything(
    services, database, redis, workspaces
):
    word, other_word = f"word-{secrets.token_hex(12)}", f"kept-{secrets.token_hex(12)}"
    await settle_down(services, ADA, word)
    await settle_down(services, BOB, other_word)
    counts = await count_person(services, ADA)
    assert set(PERSONAL_TABLES) - set(counts) <= {
        *("jobs", "payment_deposits", "payment_proofs", "payment_swaps"),
        *("payment_refunds", "payment_entries"),
    }
    before, files = rows_of(database, [other_word, BOB.user]), await count_person(services, BOB)
    assert word in redis_text(redis)
    assert len(hits(database, word)) >= 12
    await delete_person(services, ADA)
    assert rows_of(database, [word, ADA.user, ADA.digest]) == []
    assert len(rows_of(database, ["deleted-"])) >= 2  # what the tenant used stays
    assert rows_of(database, [other_word, BOB.user]) == before
    assert await count_person(services, BOB) == files
    text = redis_text(redis)
    assert word not in text
    assert ADA.digest not in text
    assert other_word in text
    keys = [meta.key for meta in workspaces.bucket.listing("acme").metas]
    assert f"acme/{ADA.user}/{ADA.digest}.txt" not in keys
    assert f"acme/main/{ADA.digest}.txt" in keys  # the team's
    assert f"acme/{BOB.user}/{BOB.digest}.txt" in keys


async def test_an_export_holds_everything_and_no_secret(services, tmp_path):
    word, other_word = f"word-{secrets.token_hex(12)}", f"kept-{secrets.token_hex(12)}"
    await settle_down(services, ADA, word)
    await settle_down(services, BOB, other_word)
    with ZipFile(tmp_path / "ada.zip", "w") as archive:
        counts = await export_person(services, ADA, archive)
    with ZipFile(tmp_path / "ada.zip") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    values = {name: json.loads(text) for name, text in texts.items() if name.endswith(".json")}
    for kind in ("threads", "runs", "answers", "effects", "store_items", "memories", "crons"):
        assert word in texts[f"{kind}.json"], kind
        assert counts[kind] == len(values[f"{kind}.json"])
    for kind in ("webhooks", "assistant_versions", "api_keys"):
        assert word in texts[f"{kind}.json"], kind
    states = [text for name, text in texts.items() if name.startswith("threads/")]
    assert len(states) == 2
    assert any(word in text for text in states)
    assert texts[f"files/{ADA.user}/{ADA.digest}.txt"] == word
    assert len(values["payment_charges.json"]) == 1
    assert values["manifest.json"]["user"] == ADA.user
    everything = "".join(texts.values())
    assert other_word not in everything
    assert "digest" not in values["api_keys.json"][0]
    assert "endpoint" not in values["push_subscriptions.json"][0]


async def test_messages_of_a_thread_are_exported_in_order(services, tmp_path):
    thread = (await services.threads.create(uuid4(), owner=ADA)).thread_id
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [AIMessage("an answer", id="2")]})
    builder.add_edge(START, "answer")
    talk = builder.compile(checkpointer=AsyncPostgresSaver(services.pool))
    config = {"configurable": {"thread_id": str(thread)}}
    await talk.ainvoke({"messages": [HumanMessage("a question", id="1")]}, config)
    with ZipFile(tmp_path / "ada.zip", "w") as archive:
        await export_person(services, ADA, archive)
    with ZipFile(tmp_path / "ada.zip") as archive:
        found = json.loads(archive.read(f"threads/{thread}.json"))
    assert [message["content"] for message in found["messages"]] == ["a question", "an answer"]


async def test_money_that_was_not_paid_back_is_not_lost_silently(services, database):
    await settle_down(services, ADA, "x")
    async with services.pool.connection() as connection:
        await connection.execute("UPDATE payments.sessions SET credited = 21")
    with pytest.raises(HasMoney, match="21 sats"):
        await delete_person(services, ADA)
    assert (await PersonalData(services.pool).count(ADA))["api_keys"] == 1
    await delete_person(services, ADA, forfeits_money=True)
    with psycopg.connect(database.url) as connection:
        query = "SELECT owner, credited FROM payments.sessions"
        ((owner, credited),) = connection.execute(query).fetchall()
    assert owner.startswith("deleted-")
    assert credited == 21


async def test_the_command_shows_before_it_deletes(services, database, tmp_path, capsys):
    await settle_down(services, ADA, "x")
    place = ["users", "--database-url", database.url, "--redis-url", REDIS]
    person = [ADA.user, "--tenant", "acme"]
    archive = tmp_path / "ada.zip"
    export = [*place, "export", *person, "-o", str(archive)]
    assert await asyncio.to_thread(main, export) == 0
    assert archive.stat().st_mode & 0o077 == 0
    assert await asyncio.to_thread(main, export) == 1  # never overwritten
    capsys.readouterr()
    assert await asyncio.to_thread(main, [*place, "delete", *person]) == 0
    shown = capsys.readouterr().out
    assert "1  api_keys" in shown
    assert "Nothing was deleted" in shown
    assert await count_person(services, ADA)
    assert await asyncio.to_thread(main, [*place, "delete", *person, "--yes"]) == 0
    assert (await PersonalData(services.pool).count(ADA)) == {}
