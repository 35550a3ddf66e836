"""What operators and people do is in the audit log, whose chain shows every change made to it."""

import asyncio
import hashlib
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, Rig, own_database
from psycopg.errors import RestrictViolation

from bathysphere.core.errors import CallerError
from bathysphere.engine.audit.chain import EMPTY, Head
from bathysphere.engine.audit.log import AuditLog, BrokenChain
from bathysphere.engine.audit.recording import OPERATOR, Recorded, record
from bathysphere.engine.conversations.message_texts import MessageText
from bathysphere.engine.database.pool import Database, Pool, open_pool
from bathysphere.engine.personal_data.deletion import PersonalData
from bathysphere.engine.runs.operations import RunOperations
from bathysphere.engine.usage.budgets import Budget
from bathysphere.server.identity.api_keys import ApiKeys

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
BATHYSPHERE = Path(sys.executable).with_name("bathysphere")


@pytest.fixture
def own():
    """A database of the test's own: an append-only log cannot be emptied for the next one."""
    with own_database() as database:
        yield database


@pytest.fixture
async def pool(own: Database):
    async with open_pool(own) as opened:
        yield opened


async def add(pool: Pool, count: int = 5) -> None:
    for n in range(count):
        async with pool.connection() as connection, connection.transaction():
            done = Recorded(
                action="key.created",
                by=BOB if n % 2 else OPERATOR,
                tenant=ALICE.tenant,
                user=ALICE.user,
                subject=f"key-{n}",
                details={"n": n, "word": "Ünï\u2028", "is_set": True, "none": None},
            )
            await record(connection, done)


def tamper(database: Database, *statements: str) -> None:
    """What whoever owns the tables can do: switch the triggers off."""
    with psycopg.connect(database.url) as connection:
        connection.execute("ALTER TABLE engine.audit DISABLE TRIGGER ALL")
        connection.execute("ALTER TABLE engine.audit_people DISABLE TRIGGER ALL")
        for statement in statements:
            connection.execute(statement.encode())


async def test_a_chain_verifies_and_its_heads_stay_in_it(pool: Pool):
    log = AuditLog(pool)
    assert await log.verify() == await log.head() == EMPTY
    heads = [await log.head()]
    for _ in range(3):
        await add(pool, 2)
        heads.append(await log.head())
    assert [head.seq for head in heads] == [0, 2, 4, 6]
    for head in heads:
        assert await log.verify(Head.parse(f" {head}\n")) == heads[-1]
    assert [entry.actor for entry in await log.list(limit=2)] == [
        f"{BOB.tenant}/{BOB.user}",
        "operator",
    ]
    assert [entry.row.seq for entry in await log.list(before=3)] == [2, 1]
    assert await log.list(tenant="nobody") == await log.list(action="share.created") == []
    with pytest.raises(CallerError, match="Not a head"):
        Head.parse("5:abc")


SWAP = (
    "UPDATE engine.audit SET seq = -seq WHERE seq IN (2, 3)",
    "UPDATE engine.audit SET seq = CASE WHEN seq = -2 THEN 3 ELSE 2 END WHERE seq < 0",
)
INSERT = (
    "UPDATE engine.audit SET seq = -seq - 1 WHERE seq >= 3",
    "UPDATE engine.audit SET seq = -seq WHERE seq < 0",
    "INSERT INTO engine.audit SELECT 3, at, tenant, actor, person, action, 'x', details, hash"
    " FROM engine.audit WHERE seq = 2",
)
RENUMBERED = (
    "DELETE FROM engine.audit WHERE seq = 2",
    "UPDATE engine.audit SET seq = -seq WHERE seq > 2",
    "UPDATE engine.audit SET seq = -seq - 1 WHERE seq < 0",
)
TAMPERED = {
    "subject": (("UPDATE engine.audit SET subject = 'other' WHERE seq = 2",), "Row 2 was changed"),
    "time": (
        ("UPDATE engine.audit SET at = at + interval '1 microsecond' WHERE seq = 4",),
        "Row 4 was changed",
    ),
    "actor": (("UPDATE engine.audit SET actor = NULL WHERE seq = 2",), "Row 2 was changed"),
    "details": (
        ("UPDATE engine.audit SET details = details || '{\"n\": 9}' WHERE seq = 5",),
        "Row 5 was changed",
    ),
    "hash": (("UPDATE engine.audit SET hash = repeat('0', 64) WHERE seq = 3",), "Row 3 was"),
    "removed": (("DELETE FROM engine.audit WHERE seq = 3",), "Row 3 is missing"),
    "first removed": (("DELETE FROM engine.audit WHERE seq = 1",), "Row 1 is missing"),
    "removed and renumbered": (RENUMBERED, "Row 2 was changed"),
    "inserted": (INSERT, "Row 3 was changed"),
    "reordered": (SWAP, "Row 2 was changed"),
    "renamed": (
        ("UPDATE engine.audit_people SET owner = 'mallory' WHERE owner = 'bob@b'",),
        "The name of person",
    ),
    "unnamed": (
        ("DELETE FROM engine.audit_people WHERE owner = 'bob@b'",),
        "Row 2: the name of a person is missing",
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
async def test_what_was_changed_behind_its_back_is_named(pool: Pool, own: Database, name: str):
    await add(pool)
    statements, message = TAMPERED[name]
    await asyncio.to_thread(tamper, own, *statements)
    with pytest.raises(BrokenChain, match=message):
        await AuditLog(pool).verify()


async def test_a_published_head_shows_that_the_end_was_cut_off_or_all_written_again(
    pool: Pool, own: Database
):
    await add(pool)
    log = AuditLog(pool)
    published = await log.head()
    await asyncio.to_thread(tamper, own, "DELETE FROM engine.audit WHERE seq > 3")
    assert (await log.verify()).seq == 3  # by itself it is a good chain
    with pytest.raises(BrokenChain, match="Rows after 3 are missing, up to 5"):
        await log.verify(published)
    await add(pool)
    with pytest.raises(BrokenChain, match="Row 5 is not the one that was published"):
        await log.verify(published)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE engine.audit SET subject = 'x'",
        "DELETE FROM engine.audit",
        "TRUNCATE engine.audit",
        "UPDATE engine.audit_people SET owner = 'x'",
        "TRUNCATE engine.audit_people",
    ],
)
async def test_the_database_refuses_to_change_rows(pool: Pool, statement: str):
    await add(pool, 1)
    async with pool.connection() as connection:
        with pytest.raises(RestrictViolation, match="never changed"):
            await connection.execute(statement.encode())


async def test_many_writers_make_one_chain_and_what_is_rolled_back_is_not_in_it(own: Database):
    async with open_pool(Database(url=own.url, max_size=12)) as pool:
        budgets = [Budget(f"tenant-{n % 3}", f"user-{n}", "tokens", Decimal(n)) for n in range(60)]

        async def write(budget: Budget) -> None:
            async with pool.connection() as connection, connection.transaction() as transaction:
                done = Recorded(
                    action="budget.set",
                    by=ALICE,
                    tenant=budget.tenant,
                    user=budget.user,
                    details={"amount": str(budget.amount)},
                )
                await record(connection, done)
                if budget.amount % 4 == 0:
                    raise psycopg.Rollback(transaction)

        await asyncio.gather(*(write(budget) for budget in budgets))
        assert (await AuditLog(pool).verify()).seq == 45
        entries = await AuditLog(pool).list(limit=100)
    amounts = {int(str(entry.row.details["amount"])) for entry in entries}
    assert amounts == {n for n in range(60) if n % 4}
    times = [entry.row.at for entry in entries]
    assert times == sorted(times, reverse=True)


async def newest(rig: Rig, count: int) -> list[tuple[str, str, str, str]]:
    entries = await rig.services.audit.list(limit=count)
    return [(e.row.action, e.actor, e.user, e.row.subject) for e in reversed(entries)]


async def test_keys_budgets_and_runs_are_recorded_with_what_they_change(rig: Rig):
    keys, operations = ApiKeys(rig.pool), RunOperations(rig.pool, rig.queue)
    budgets = rig.services.budgets
    created = await keys.create(ALICE, label="a label", by=BOB)
    for _ in range(2):  # revoked once
        await keys.revoke(created.key.key_id)
    await budgets.set(Budget(ALICE.tenant, "", "EUR", Decimal("1.50")), by=BOB)
    for _ in range(2):
        await budgets.remove(ALICE.tenant, "", "EUR")
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    await operations.requeue(run.run_id, by=BOB)
    for by in (OPERATOR, OPERATOR, None):  # cancelled once
        await rig.services.runs.cancel(run.run_id, owner=ALICE, by=by)
    bob = f"{BOB.tenant}/{BOB.user}"
    assert await newest(rig, 6) == [
        ("key.created", bob, ALICE.user, created.key.key_id),
        ("key.revoked", "operator", ALICE.user, created.key.key_id),
        ("budget.set", bob, "", "EUR"),
        ("budget.removed", "operator", "", "EUR"),
        ("run.requeued", bob, ALICE.user, str(run.run_id)),
        ("run.cancelled", "operator", ALICE.user, str(run.run_id)),
    ]
    entries = await rig.services.audit.list(limit=6)
    assert entries[3].row.details == {"amount": "1.50"}
    text = repr(entries)
    assert "a label" not in text
    assert created.secret not in text
    await rig.services.audit.verify()


async def test_a_share_is_recorded_without_the_key_to_it(rig: Rig):
    thread = (await rig.services.threads.create(uuid4(), owner=ALICE)).thread_id
    texts = [MessageText(message_id="m", role="person", text="words")]
    shares = rig.services.shares
    share = await shares.create(thread, texts, owner=ALICE, title="A title", days=7)
    await shares.revoke(share.share_id, thread_id=thread, owner=ALICE)
    alice = f"{ALICE.tenant}/{ALICE.user}"
    assert await newest(rig, 2) == [
        ("share.created", alice, ALICE.user, str(thread)),
        ("share.revoked", alice, ALICE.user, str(thread)),
    ]
    entries = await rig.services.audit.list(limit=2)
    digest = hashlib.sha256(share.share_id.encode()).hexdigest()
    assert {entry.row.details["share_sha256"] for entry in entries} == {digest}
    assert share.share_id not in repr(entries)
    assert "A title" not in repr(entries)


async def test_a_deleted_person_has_no_name_in_a_chain_that_still_verifies(rig: Rig):
    log, rows = rig.services.audit, PersonalData(rig.pool)
    await ApiKeys(rig.pool).create(ALICE, by=ALICE)
    await rows.record_export(ALICE)
    published = await log.head()
    await rows.delete_rest(ALICE)
    (deleted, exported, created) = await log.list(limit=3)
    assert [e.row.action for e in (created, exported, deleted)] == [
        *("key.created", "person.exported", "person.deleted")
    ]
    assert created.actor == exported.user == deleted.user
    assert deleted.user.startswith("deleted-")
    await log.verify(published)
    await rows.record_export(ALICE)  # whoever comes back is somebody else to the log
    (again,) = await log.list(limit=1)
    assert (again.user, again.row.person == created.row.actor) == (ALICE.user, False)


def command(database: Database, *words: str) -> tuple[int, str]:
    line = [str(BATHYSPHERE), "audit", "--database-url", database.url, *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


async def test_the_command_lists_verifies_and_prints_the_head(pool: Pool, own: Database):
    await add(pool, 3)
    code, head = await asyncio.to_thread(command, own, "head")
    assert (code, head) == (0, f"{await AuditLog(pool).head()}\n")
    code, text = await asyncio.to_thread(command, own, "list", "--kind", "key.created")
    assert (code, text.count("key.created"), f"{BOB.tenant}/{BOB.user}" in text) == (0, 3, True)
    code, text = await asyncio.to_thread(command, own, "verify", "--head", head.strip())
    assert (code, "Verified 3 rows" in text) == (0, True)
    await asyncio.to_thread(tamper, own, "DELETE FROM engine.audit WHERE seq = 2")
    code, text = await asyncio.to_thread(command, own, "verify")
    assert (code, "Row 2 is missing" in text, "Traceback" in text) == (1, True, False)
