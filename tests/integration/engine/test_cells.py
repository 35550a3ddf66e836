"""A tenant moves between two cells: all of it, only it, once, and whatever interrupts the move."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, Rig, clean, open_rig, own_database
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.engine.audit.chain import EMPTY, AuditRow
from bathysphere.engine.cells import move
from bathysphere.engine.cells.arrival import delete_rows
from bathysphere.engine.cells.checks import CellsDiffer, TenantHasMoney
from bathysphere.engine.cells.move import move_tenant, reopen
from bathysphere.engine.cells.tables import MOVED_TABLES, STAYING_TABLES, parameters
from bathysphere.engine.cells.tenants import (
    CLOSED,
    Cell,
    CellTenants,
    TenantElsewhere,
    TenantInSeveralCells,
    TenantOnItsWay,
    set_state,
)
from bathysphere.engine.crons.scheduler import Scheduler
from bathysphere.engine.database.pool import Database
from bathysphere.engine.delivery.outbox import Outbox
from bathysphere.engine.expiry import item_sweep
from bathysphere.engine.records import Run
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.engine.thread_deletion import OwnedThread, lock_deletable
from bathysphere.engine.webhooks.channel import WEBHOOKS

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]
TENANT = ALICE.tenant
NEIGHBOURS = tuple(Owner(tenant=name, user="n") for name in ("alice2", "alice.x", "alic"))


@pytest.fixture(scope="session")
def other_database() -> Iterator[Database]:
    with own_database() as database:
        yield database


@pytest.fixture
async def far(other_database: Database) -> AsyncIterator[Rig]:
    """The rig of the cell that the tenant moves to."""
    clean(other_database)
    async with open_rig(other_database) as rig:
        yield rig


@pytest.fixture
def here(rig: Rig) -> Cell:
    return Cell(name="a", pool=rig.pool)


@pytest.fixture
def there(far: Rig) -> Cell:
    return Cell(name="b", pool=far.pool)


async def moved(source: Cell, target: Cell) -> move.Moved:
    return await move_tenant(source, target, TENANT, settle_seconds=0)


async def state(cell: Cell) -> str | None:
    found = await CellTenants(cell.pool).find(TENANT)
    return found.state if found is not None else None


async def execute(cell: Cell, statement: str, values: Any = None) -> list[dict[str, Any]]:
    async with cell.pool.connection() as connection:
        cursor = await connection.execute(statement.encode(), values)
        return await cursor.fetchall() if cursor.description else []


async def rows_of(cell: Cell, tenant: str) -> dict[str, list[str]]:
    """The tenant's rows by table; without what another database numbers anew."""
    found = {}
    for table in MOVED_TABLES:
        if table.name == "store_vectors":
            continue
        rows = await execute(
            cell,
            f"SELECT (to_jsonb(t) - '{{job_id,change_id,undoes}}'::text[])::text AS row"
            f" FROM {table.name} t WHERE {table.where} ORDER BY 1",
            parameters(tenant),
        )
        found[table.name] = [row["row"] for row in rows]
    return found


SHARE = (
    "INSERT INTO engine.shares VALUES"
    " (%(run)s, %(thread)s, %(tenant)s, %(user)s, 't', '[]', now(), now())"
)
PLANTED = (
    SHARE,
    "INSERT INTO engine.answers VALUES (%(thread)s, 'i', '{}', NULL)",
    "INSERT INTO engine.effects (thread_id, namespace, task, call, run_id)"
    " VALUES (%(thread)s, '', 't', 'c', %(run)s)",
    "INSERT INTO engine.writes_before VALUES"
    " (%(run)s, %(thread)s, '', 'c', 't', '', 0, 'x', 'bytes', '\\x00ff')",
    "INSERT INTO checkpoint_writes"
    " (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)"
    " VALUES (%(thread)s, '', 'c', 't', 0, 'x', 'bytes', '\\x00ff')",
    "INSERT INTO engine.message_texts VALUES"
    " (%(thread)s, 'm', 'person', %(tenant)s, %(user)s, 0, 'said', to_tsvector('said'))",
    "INSERT INTO engine.assistants VALUES (%(tenant)s, %(user)s, %(run)s, 1)",
    "INSERT INTO engine.assistant_versions VALUES"
    " (%(tenant)s, %(user)s, %(run)s, 1, 'steps', 'n', NULL, '{}', '{}', '{}')",
    "INSERT INTO engine.crons (cron_id, tenant, owner, graph, assistant_id, schedule, payload,"
    " work, strategy) VALUES (%(run)s, %(tenant)s, %(user)s, 'steps', %(run)s, '* * * * *', '{}',"
    " '{}', 'enqueue')",
    "INSERT INTO engine.webhooks (run_id, tenant, owner, url, receiver) VALUES"
    " (%(run)s, %(tenant)s, %(user)s, 'https://h.example.com', 'https://h.example.com')",
    "INSERT INTO engine.push_subscriptions (tenant, owner, endpoint, receiver, p256dh, auth)"
    " VALUES (%(tenant)s, %(user)s, %(run)s, '', '', '')",
    "INSERT INTO engine.push_notices (subscription_id, thread_id, run_id, tenant, owner, receiver,"
    " news, next_attempt_at) SELECT subscription_id, %(thread)s, %(run)s, tenant, owner, '',"
    " 'done', now() + interval '1 day' FROM engine.push_subscriptions"
    " WHERE endpoint = %(run)s::text",
    "INSERT INTO engine.usage VALUES"
    " (%(run)s, 'm', '', %(tenant)s, %(user)s, 'steps', 1, 0, 10, 2, 0, 0.5, 0.25)",
    "INSERT INTO engine.model_calls (call_id, run_id, tenant, owner, graph, model, input_tokens,"
    " tool_calls, seconds) VALUES (%(run)s, %(run)s, %(tenant)s, %(user)s, 'steps', 'm', 1, 0, 0)",
    "INSERT INTO engine.budgets VALUES (%(tenant)s, %(user)s, 'tokens', 100)",
    "INSERT INTO engine.file_changes (tenant, workspace, path, action, asked_by, approver,"
    " thread_id, run_id, call, before_version) VALUES"
    " (%(tenant)s, 'main', '/x', 'write', %(user)s, %(user)s, %(thread)s, %(run)s, 'c', 'v')",
    "INSERT INTO identity.api_keys (key_id, digest, tenant, owner) VALUES"
    " (%(run)s, '\\x00', %(tenant)s, %(user)s)",
    "INSERT INTO store (prefix, key, value) VALUES"
    " ('owners.' || %(space)s || '.notes', 'k', '{\"a\": 1}')",
    "INSERT INTO store (prefix, key, value) VALUES ('engine.' || %(space)s || '.x', 'k', '{}')",
)


async def plant(rig: Rig, owner: Owner) -> Run:
    """A pending run, and a row in every table that moves."""
    run = await rig.start(uuid4(), "steps", owner=owner, input={"name": "a", "steps": 2})
    space = f"{owner.tenant.replace('.', '%2E')}.{owner.user.replace('.', '%2E')}"
    values = {"thread": run.thread_id, "run": run.run_id, "space": space}
    values |= {"tenant": owner.tenant, "user": owner.user}
    async with rig.pool.connection() as connection:
        for statement in PLANTED:
            await connection.execute(statement.encode(), values)
    bound = rig.graphs.bind("steps", checkpointer=AsyncPostgresSaver(rig.pool))
    place = {"configurable": {"thread_id": str(run.thread_id)}}
    await bound.aupdate_state(place, {"items": ["before"]}, as_node="start")
    return run


async def test_every_table_is_known_to_move_or_to_stay(here: Cell):
    rows = await execute(
        here,
        "SELECT CASE schemaname WHEN 'public' THEN tablename"
        "       ELSE schemaname || '.' || tablename END AS name FROM pg_tables"
        " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')",
    )
    known = {table.name for table in MOVED_TABLES} | STAYING_TABLES.keys()
    assert {row["name"] for row in rows} - known == {"journal"}


async def test_every_table_that_names_a_tenant_refuses_writes_of_one_that_is_closed(here: Cell):
    rows = await execute(
        here,
        "SELECT table_schema || '.' || table_name AS name FROM information_schema.columns"
        " WHERE column_name = 'tenant' AND table_schema IN ('engine', 'identity')",
    )
    guarded = await execute(
        here,
        "SELECT tgrelid::regclass::text AS name FROM pg_trigger"
        " WHERE tgname = 'engine_enter_tenant'",
    )
    unguarded = {row["name"] for row in rows} - {row["name"] for row in guarded}
    assert unguarded == {
        "engine.audit",
        "engine.audit_people",
        "engine.cell_tenants",
        "engine.cell_arrivals",
        "engine.turns",
    }


async def test_all_rows_of_the_tenant_move_and_no_others(rig: Rig, here: Cell, there: Cell):
    for owner in (ALICE, *NEIGHBOURS):
        await plant(rig, owner)
    before = {owner: await rows_of(here, owner.tenant) for owner in (ALICE, *NEIGHBOURS)}
    assert all(before[ALICE].values()), "a table without a row proves nothing"
    done = await moved(here, there)
    assert await rows_of(there, TENANT) == before[ALICE]
    assert not any((await rows_of(here, TENANT)).values())
    for owner in NEIGHBOURS:
        assert await rows_of(here, owner.tenant) == before[owner]
        assert not any((await rows_of(there, owner.tenant)).values())
    assert (done.threads, done.rows) == (1, sum(map(len, before[ALICE].values())))
    assert (await state(here), await state(there)) == ("left", "here")


async def test_a_pending_run_is_executed_by_the_other_cell(
    rig: Rig, far: Rig, here: Cell, there: Cell
):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 2})
    await moved(here, there)
    async with rig.working(), far.working():
        assert (await far.ended(run)).status == "success"
        behind = await far.start(run.thread_id, "steps", input={"name": "b", "steps": 1})
        assert behind.seq > run.seq
        assert (await far.ended(behind)).status == "success"
    assert await rig.journal(run.thread_id) == []
    assert not await execute(here, "SELECT 1 FROM procrastinate_jobs")


async def test_a_running_run_goes_on_in_the_other_cell_without_a_strike(
    rig: Rig, far: Rig, here: Cell, there: Cell
):
    async with rig.working():
        run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 8, "delay": 0.1})
        await rig.in_journal(run.thread_id, "a:2")
        await moved(here, there)
        async with far.working():
            ended = await far.ended(run)
    assert (ended.status, ended.strikes) == ("success", 1)
    assert await far.items(run.thread_id) == [f"a:{step}" for step in range(8)]


async def test_the_runs_of_a_thread_keep_their_order(rig: Rig, far: Rig, here: Cell, there: Cell):
    thread = uuid4()
    runs = [
        await rig.start(thread, "steps", input={"name": name, "steps": 1}, strategy="enqueue")
        for name in "abcde"
    ]
    await moved(here, there)
    async with far.working():
        for run in runs:
            await far.ended(run)
    assert await far.items(thread) == ["a:0", "b:0", "c:0", "d:0", "e:0"]


async def test_nobody_writes_for_a_tenant_that_has_left(rig: Rig, here: Cell, there: Cell):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    await moved(here, there)
    new = NewRun(thread_id=run.thread_id, graph="steps", work=run.work)
    with pytest.raises(psycopg.Error) as raised:
        await rig.runs.create(new, owner=ALICE)
    assert raised.value.sqlstate == CLOSED
    with pytest.raises(psycopg.Error) as raised:
        await rig.services.store.aput(("owners", "alice", "alice@a"), "k", {})
    assert raised.value.sqlstate == CLOSED
    assert (await rig.start(uuid4(), "steps", owner=BOB)).status == "pending"


async def test_a_transaction_that_began_before_the_move_is_waited_for(
    rig: Rig, here: Cell, there: Cell
):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    async with rig.pool.connection() as connection:
        async with connection.transaction():
            await connection.execute(
                "UPDATE engine.threads SET metadata = '{\"late\": true}' WHERE thread_id = %s",
                (run.thread_id,),
            )
            moving = asyncio.create_task(moved(here, there))
            await asyncio.sleep(0.5)
            assert not moving.done()
            assert await state(here) == "moving"
        await moving
    (row,) = await execute(there, "SELECT metadata FROM engine.threads")
    assert row["metadata"] == {"late": True}


async def test_a_transaction_enters_again_after_a_savepoint_was_rolled_back(
    rig: Rig, here: Cell, there: Cell
):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    async with rig.pool.connection() as connection, connection.transaction():
        with suppress(ZeroDivisionError):
            async with connection.transaction():
                await connection.execute(
                    "UPDATE engine.threads SET status = 'idle' WHERE thread_id = %s",
                    (run.thread_id,),
                )
                raise ZeroDivisionError
        await moved(here, there)  # nobody holds it up: the lock went with the savepoint
        with pytest.raises(psycopg.Error) as raised:
            await connection.execute("SELECT engine.enter_tenant(%s)", (TENANT,))
        assert raised.value.sqlstate == CLOSED
        raise psycopg.Rollback


async def test_a_transaction_that_does_not_end_gives_the_tenant_back(
    rig: Rig, here: Cell, there: Cell, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(move, "_BARRIER_SECONDS", 0.2)
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    async with rig.pool.connection() as connection, connection.transaction():
        await connection.execute("SELECT engine.enter_tenant(%s)", (TENANT,))
        with pytest.raises(TenantOnItsWay, match="does not end"):
            await moved(here, there)
    assert (await state(here), await state(there)) == ("here", "left")
    async with rig.working():
        assert (await rig.ended(run)).status == "success"


async def test_a_move_that_fails_gives_the_tenant_back(rig: Rig, far: Rig, here: Cell, there: Cell):
    run = await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    # Another tenant of the target has an assistant's key that would collide: none of it arrives.
    await execute(
        there,
        "INSERT INTO identity.api_keys (key_id, digest, tenant, owner)"
        " VALUES (%s, '', 'somebody', 'else')",
        (str(run.run_id),),
    )
    with pytest.raises(psycopg.errors.UniqueViolation):
        await moved(here, there)
    assert await state(here) == "here"
    assert await rows_of(here, TENANT) == before
    assert not any((await rows_of(there, TENANT)).values())
    async with rig.working():
        assert (await rig.ended(run)).status == "success"


Interruption = Callable[..., Awaitable[Any]]


def interrupted_at(monkeypatch: pytest.MonkeyPatch, name: str, *, after: bool) -> None:
    """Let the process that moves die at a step: nothing of what it would do then is done."""
    step: Interruption = getattr(move, name)

    async def dies(*values: Any) -> Any:
        if after:
            await step(*values)
        raise KeyboardInterrupt

    async def nothing(*_: Any) -> bool:
        return True

    monkeypatch.setattr(move, name, dies)
    monkeypatch.setattr(move, "_undo", nothing)


NIGHTLY = pytest.mark.long(
    "tests/integration/engine/test_cells.py"
    "::test_a_move_that_was_interrupted_anywhere_is_finished_by_a_second_call"
)


@pytest.mark.parametrize(
    ("name", "after", "found"),
    [
        pytest.param("_hand_over", False, ("leaving", None), marks=NIGHTLY),
        ("_wait_for_others", False, ("moving", None)),
        pytest.param("copy_rows", True, ("moving", None), marks=NIGHTLY),
        ("_give_up", False, ("moving", "here")),
        pytest.param("delete_rows", False, ("left", "here"), marks=NIGHTLY),
        pytest.param("delete_rows", True, ("left", "here"), marks=NIGHTLY),
    ],
)
async def test_a_move_that_was_interrupted_anywhere_is_finished_by_a_second_call(
    name: str,
    after: bool,
    found: tuple[str, str | None],
    rig: Rig,
    far: Rig,
    here: Cell,
    there: Cell,
    monkeypatch: pytest.MonkeyPatch,
):
    run = await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    with monkeypatch.context() as dying:
        interrupted_at(dying, name, after=after)
        with pytest.raises(KeyboardInterrupt):
            await moved(here, there)
    assert (await state(here), await state(there)) == found
    await moved(here, there)
    assert (await state(here), await state(there)) == ("left", "here")
    assert await rows_of(there, TENANT) == before
    assert not any((await rows_of(here, TENANT)).values())
    async with far.working():
        assert (await far.ended(run)).status == "success"


@pytest.mark.parametrize(
    ("name", "who"),
    [
        pytest.param("_hand_over", "here", marks=NIGHTLY),
        ("copy_rows", "here"),
        ("_give_up", "left"),
    ],
)
async def test_a_move_that_was_interrupted_is_undone_unless_the_target_has_the_tenant(
    name: str,
    who: str,
    rig: Rig,
    far: Rig,
    here: Cell,
    there: Cell,
    monkeypatch: pytest.MonkeyPatch,
):
    run = await plant(rig, ALICE)
    with monkeypatch.context() as dying:
        interrupted_at(dying, name, after=False)
        with pytest.raises(KeyboardInterrupt):
            await moved(here, there)
    assert await reopen(here, there, TENANT) == who
    assert await state(here) == who
    owner_rig = rig if who == "here" else far
    async with owner_rig.working():
        assert (await owner_rig.ended(run)).status == "success"


async def test_a_tenant_can_come_back(rig: Rig, far: Rig, here: Cell, there: Cell):
    run = await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    for _ in range(2):
        await moved(here, there)
        await moved(there, here)
    assert await rows_of(here, TENANT) == before
    async with rig.working(), far.working():
        assert (await rig.ended(run)).status == "success"


async def die_at(monkeypatch: pytest.MonkeyPatch, name: str, source: Cell, target: Cell) -> None:
    """Move the tenant, and die before a step."""
    with monkeypatch.context() as dying:
        interrupted_at(dying, name, after=False)
        with pytest.raises(KeyboardInterrupt):
            await moved(source, target)


async def test_a_tenant_that_is_in_both_cells_is_not_moved(rig: Rig, far: Rig, here, there):
    await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    await CellTenants(far.pool).admit(TENANT)
    key = "INSERT INTO identity.api_keys (key_id, digest, tenant, owner) VALUES ('k', '', %s, 'u')"
    await execute(there, key, (TENANT,))
    with pytest.raises(TenantInSeveralCells) as raised:
        await moved(here, there)
    assert "identity.api_keys" in str(raised.value.hint)
    assert (await state(here), await state(there)) == (None, "here")
    assert await rows_of(here, TENANT) == before


async def test_a_tenant_that_was_admitted_by_mistake_gives_way_to_the_one_that_has_rows(
    rig: Rig, far: Rig, here: Cell, there: Cell
):
    await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    await CellTenants(far.pool).admit(TENANT)
    await moved(here, there)
    assert await rows_of(there, TENANT) == before
    assert (await state(here), await state(there)) == ("left", "here")


async def test_a_tenant_that_is_admitted_in_the_target_during_the_move_stays(
    rig: Rig, here: Cell, there: Cell, monkeypatch: pytest.MonkeyPatch
):
    await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    release = move._release_runs

    async def admit(*values: Any) -> None:
        async with there.pool.connection() as connection:
            await set_state(connection, TENANT, "here", other=None)
        await release(*values)

    monkeypatch.setattr(move, "_release_runs", admit)
    with pytest.raises(TenantInSeveralCells):
        await moved(here, there)
    assert await state(here) == "here"
    assert await rows_of(here, TENANT) == before


async def test_with_the_names_of_the_cells_exchanged_nothing_is_done(
    rig: Rig, here: Cell, there: Cell, monkeypatch: pytest.MonkeyPatch
):
    await plant(rig, ALICE)
    before = await rows_of(here, TENANT)
    await die_at(monkeypatch, "copy_rows", here, there)
    for act in (reopen(there, here, TENANT), moved(there, here)):
        with pytest.raises(TenantElsewhere):
            await act
    assert (await state(here), await state(there)) == ("moving", None)
    await moved(here, there)
    assert await rows_of(there, TENANT) == before


@pytest.mark.parametrize("name", ["_give_up", "delete_rows"])
@pytest.mark.parametrize("act", [moved, lambda *cells: reopen(*cells, TENANT)])
async def test_an_old_move_that_is_finished_late_brings_nothing_back(
    rig: Rig, here: Cell, there: Cell, monkeypatch: pytest.MonkeyPatch, name, act
):
    """The tenant has moved on from the target, which has nothing of it any more."""
    await plant(rig, ALICE)
    await die_at(monkeypatch, name, here, there)
    async with there.pool.connection() as connection:
        await delete_rows(connection, TENANT)
        await set_state(connection, TENANT, "left", other="c", move=uuid4())
    await act(here, there)
    assert (await state(here), await state(there)) == ("left", "left")
    for cell in (here, there):
        assert not any((await rows_of(cell, TENANT)).values())
        assert not await execute(cell, "SELECT 1 FROM procrastinate_jobs")


async def test_a_session_that_is_opened_while_requests_wait_keeps_the_tenant(
    rig: Rig, here: Cell, there: Cell, monkeypatch: pytest.MonkeyPatch
):
    payer = Owner(tenant=f"payer-{uuid4()}", user="p")  # rows of the ledger cannot be deleted
    run = await rig.start(uuid4(), "steps", owner=payer)
    begin = move._begin

    async def begin_and_pay(*values: Any) -> Any:
        begun = await begin(*values)
        await open_session(here, run)
        return begun

    monkeypatch.setattr(move, "_begin", begin_and_pay)
    with pytest.raises(TenantHasMoney):
        await move_tenant(here, there, payer.tenant, settle_seconds=0)
    found = await CellTenants(rig.pool).find(payer.tenant)
    assert found is not None
    assert found.state == "here"


async def open_session(cell: Cell, run: Run) -> None:
    await execute(
        cell,
        "INSERT INTO payments.sessions (session_id, thread_id, epoch, tenant, owner, mint_url,"
        " unit, session_pubkey, refund_pubkey, opened_at, used_at)"
        " VALUES (%s, %s, 0, %s, 'x', '', 'sat', '', '', now(), now())",
        (str(run.run_id), str(run.thread_id), run.owner.tenant),
    )


@pytest.mark.parametrize("ends", [True, False])
async def test_the_outcome_of_a_call_that_changes_something_moves_too(
    rig: Rig, here: Cell, there: Cell, monkeypatch: pytest.MonkeyPatch, ends: bool
):
    monkeypatch.setattr(move, "_EFFECT_SECONDS", 0.6)
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    await execute(
        here,
        "INSERT INTO engine.effects (thread_id, namespace, task, call, run_id)"
        " VALUES (%s, '', 't', 'c', %s)",
        (run.thread_id, run.run_id),
    )
    moving = asyncio.create_task(moved(here, there))
    await asyncio.sleep(0.3)
    if ends:
        await execute(here, "UPDATE engine.effects SET is_done = true, result = '1'")
    await moving
    assert await execute(there, "SELECT is_done, result FROM engine.effects") == [
        {"is_done": ends, "result": 1 if ends else None}
    ]


async def test_changes_of_files_get_numbers_of_the_target(rig: Rig, here: Cell, there: Cell):
    add = (
        "INSERT INTO engine.file_changes (tenant, workspace, path, action, asked_by, approver,"
        " call, before_version, undoes) VALUES (%s, 'main', %s, 'write', 'x', 'x', %s, '', %s)"
        " RETURNING change_id"
    )
    async with there.pool.connection() as connection:
        await connection.execute(add, ("somebody", "/theirs", "c", None))
    async with here.pool.connection() as connection:
        row: Any = await (await connection.execute(add, (TENANT, "/a", "c1", None))).fetchone()
        await connection.execute(add, (TENANT, "/a", "c2", row["change_id"]))
    await rig.start(uuid4(), "steps")
    await moved(here, there)
    rows = await execute(
        there,
        "SELECT change.path, undone.call AS undoes FROM engine.file_changes change"
        " LEFT JOIN engine.file_changes undone ON undone.change_id = change.undoes"
        " ORDER BY change.change_id",
    )
    assert [(row["path"], row["undoes"]) for row in rows] == [
        ("/theirs", None),
        ("/a", None),
        ("/a", "c1"),
    ]


async def test_those_who_left_long_ago_are_not_read_again_and_again(here: Cell):
    async with here.pool.connection() as connection:
        for name in ("here", "leaving", "moving", "left"):
            await set_state(connection, f"{name}-now", name, other="b")
            await set_state(connection, f"{name}-before", name, other="b")
        await connection.execute(
            "UPDATE engine.cell_tenants SET changed_at = now() - interval '1 hour'"
            " WHERE tenant LIKE '%-before'"
        )
    away = await CellTenants(here.pool).away(left_within_seconds=60)
    assert list(away) == [
        "leaving-before",
        "leaving-now",
        "left-now",
        "moving-before",
        "moving-now",
    ]


async def test_two_processes_do_not_move_a_tenant_at_once(rig: Rig, here: Cell, there: Cell):
    await rig.start(uuid4(), "steps")
    first = asyncio.create_task(move_tenant(here, there, TENANT, settle_seconds=0.5))
    await asyncio.sleep(0.2)
    with pytest.raises(TenantOnItsWay):
        await moved(here, there)
    with pytest.raises(TenantOnItsWay):
        await reopen(here, there, TENANT)
    await first
    assert await state(there) == "here"


async def test_a_tenant_on_its_way_to_another_cell_is_refused(rig: Rig, here: Cell, there: Cell):
    await rig.start(uuid4(), "steps")
    async with here.pool.connection() as connection:
        await set_state(connection, TENANT, "leaving", other="c", move=uuid4())
    for act in (moved(here, there), reopen(here, there, TENANT)):
        with pytest.raises(TenantOnItsWay, match="for cell 'c'"):
            await act


async def test_a_tenant_that_nobody_knows_is_refused(here: Cell, there: Cell):
    with pytest.raises(TenantElsewhere):
        await moved(here, there)
    assert await state(here) is None


async def test_tenants_that_were_here_before_there_were_cells_are_admitted_at_once(
    rig: Rig, here: Cell, there: Cell
):
    for owner in (ALICE, BOB):
        await rig.start(uuid4(), "steps", owner=owner)
    await execute(
        here,
        "INSERT INTO identity.api_keys (key_id, digest, tenant, owner)"
        " VALUES ('k', '', 'only-a-key', 'u')",
    )
    async with here.pool.connection() as connection:
        await set_state(connection, BOB.tenant, "left", other="b")
    tenants = CellTenants(rig.pool)
    assert await tenants.admit_all() == 2
    states = {name: found.state for name, found in (await tenants.all()).items()}
    assert states == {TENANT: "here", BOB.tenant: "left", "only-a-key": "here"}
    assert await tenants.admit_all() == 0


async def test_a_tenant_with_open_payments_stays(rig: Rig, here: Cell, there: Cell):
    payer = Owner(tenant=f"payer-{uuid4()}", user="p")  # rows of the ledger cannot be deleted
    run = await rig.start(uuid4(), "steps", owner=payer)
    await open_session(here, run)
    with pytest.raises(TenantHasMoney):
        await move_tenant(here, there, payer.tenant)
    assert await CellTenants(rig.pool).find(payer.tenant) is None


async def test_cells_of_different_versions_are_refused(rig: Rig, here: Cell, there: Cell):
    await rig.start(uuid4(), "steps")
    await execute(there, "INSERT INTO engine.migrations (name) VALUES ('9999_newer.sql')")
    try:
        with pytest.raises(CellsDiffer, match="version"):
            await moved(here, there)
    finally:
        await execute(there, "DELETE FROM engine.migrations WHERE name = '9999_newer.sql'")


async def test_a_cell_without_the_encryption_keys_is_refused(rig: Rig, here: Cell, there: Cell):
    await rig.start(uuid4(), "steps")
    await execute(here, "INSERT INTO engine.encryption_keys (key_id, proof) VALUES ('k1', '{}')")
    try:
        with pytest.raises(CellsDiffer, match="encryption key 'k1'"):
            await moved(here, there)
    finally:
        await execute(here, "DELETE FROM engine.encryption_keys")


async def test_a_tenant_on_its_way_is_left_alone_by_background_work(rig: Rig, here: Cell):
    run = await plant(rig, ALICE)
    async with rig.working():
        await rig.ended(run)
    values = {"run": run.run_id, "thread": run.thread_id, "tenant": TENANT, "user": ALICE.user}
    await execute(here, SHARE, values)  # the first one was found by the worker
    await execute(here, "UPDATE engine.threads SET expires_at = now()")
    await execute(here, "UPDATE store SET expires_at = now()")
    await execute(here, "UPDATE engine.crons SET next_run_at = now()")
    scheduler = Scheduler(rig.pool, rig.runs, clock=SystemClock())
    outbox = Outbox(rig.pool, WEBHOOKS)
    thread = OwnedThread(run.thread_id, ALICE)

    async def done() -> dict[str, Any]:
        async with here.pool.connection() as connection, connection.transaction():
            deletable = await lock_deletable(connection, [thread])
        return {
            "deletable": len(deletable),
            "scheduled": await scheduler.tick() is not None,
            "delivered": await outbox.claim(lease_seconds=0) is not None,
            "shares": await rig.services.shares.delete_expired(),
            "items": await item_sweep(rig.pool)(),
            "threads": len(await rig.services.threads.delete_expired()),
        }

    for closed in ("leaving", "moving"):
        async with here.pool.connection() as connection:
            await set_state(connection, TENANT, closed, other="b")
        assert not any((await done()).values())
    async with here.pool.connection() as connection:
        await set_state(connection, TENANT, "here", other=None)
    assert all((await done()).values())


async def test_no_session_is_opened_once_the_tenant_is_closed(rig: Rig, here: Cell):
    payer = Owner(tenant=f"payer-{uuid4()}", user="p")  # rows of the ledger cannot be deleted
    run = await rig.start(uuid4(), "steps", owner=payer)
    async with here.pool.connection() as connection:
        await set_state(connection, payer.tenant, "moving", other="b")
    with pytest.raises(psycopg.Error, match="moves to another cell"):
        await open_session(here, run)


async def test_both_cells_have_a_row_of_the_move_in_their_audit_log(
    rig: Rig, here: Cell, there: Cell
):
    await rig.start(uuid4(), "steps")
    await moved(here, there)
    for cell, action, details in (
        (here, "tenant.left", {"to": "b"}),
        (there, "tenant.arrived", {"from": "a", "rows": 2}),
    ):
        rows = await execute(
            cell,
            "SELECT seq, at, tenant, actor, person, action, subject, details, hash"
            " FROM engine.audit ORDER BY seq",
        )
        assert (rows[-1]["action"], rows[-1]["tenant"]) == (action, TENANT)
        assert rows[-1]["details"] == details
        last = EMPTY.hash
        for row in rows:
            last = AuditRow.from_row(row).hash_after(last)
            assert row["hash"] == last
