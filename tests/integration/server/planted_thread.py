"""A thread with a word in every table that may hold something of it, and a search for the word."""

import base64
from datetime import UTC, datetime
from uuid import UUID

import psycopg
from test_walls import KEY

from bathysphere.core.identity import Owner
from bathysphere.core.writers import thread_namespace
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.evidence.snapshots import take_snapshot


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


async def plant(client, services, owner: Owner, word: str) -> str:
    """A thread with the word in every table that may hold something of it."""
    made = await client.post("/threads", json={"metadata": {"title": word}})
    thread = made.json()["thread_id"]
    place = f"/threads/{thread}"
    body = {"assistant_id": "plain", "input": {"items": [word]}}
    hook = {"webhook": f"https://hooks.example.com/{word}"}
    run = (await client.post(f"{place}/runs", json={**body, **hook})).json()["run_id"]
    cron = {**body, **hook, "schedule": "0 9 * * *"}
    assert (await client.post(f"{place}/runs/crons", json=cron)).is_success
    await services.runs.cancel(UUID(run), owner=owner)
    values = {"values": {"items": [word]}, "as_node": "node"}
    assert (await client.post(f"{place}/state", json=values)).is_success
    owned = OwnedStore(services.store, owner)
    snapshot = take_snapshot("corpus:x", word.encode(), word, fetched_at=datetime.now(UTC))
    space = (*thread_namespace(thread), "research", "snapshots")
    await owned.aput(space, snapshot.id, {"text": base64.b64encode(word.encode()).decode()})
    older = {"namespace": ["research", "snapshots", thread], "key": "k", "value": {"text": word}}
    assert (await client.put("/store/items", json=older)).is_success
    assert (await client.post(f"{place}/payments", json={"refund_key": KEY})).is_success
    async with services.pool.connection() as connection:
        values = {"thread": thread, "run": run, "word": word, "data": word.encode()}
        values |= {"tenant": owner.tenant, "user": owner.user}
        for statement in PLANTED:
            await connection.execute(statement, values)
    return thread


PLANTED = (
    "INSERT INTO engine.message_texts"
    " (thread_id, message_id, role, tenant, owner, position, body, words) VALUES"
    " (%(thread)s, 'm', 'person', %(tenant)s, %(user)s, 0, %(word)s,"
    " array_to_tsvector(ARRAY[%(word)s]))",
    "INSERT INTO engine.shares"
    " (share_id, thread_id, tenant, owner, title, messages, expires_at) VALUES"
    " (%(run)s, %(thread)s, %(tenant)s, %(user)s, %(word)s, to_jsonb(%(word)s::text),"
    " now() + interval '1 day')",
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
    " (%(tenant)s, 'main', '/x', 'write', %(user)s, %(user)s, %(thread)s, %(run)s, 'c', 'v',"
    " now())",
)
