"""PostgreSQL is lost during a subagent: the attempt ends and is retried; no model sees it."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from engine_rig import ALICE, Rig
from langgraph.checkpoint.base import empty_checkpoint
from psycopg import OperationalError
from psycopg_pool import AsyncConnectionPool

from bathysphere.backends.object_store.changes import Change
from bathysphere.core.effects import EffectKey
from bathysphere.core.errors import StorageLost
from bathysphere.engine.attempt_services.effects import PostgresEffectLog
from bathysphere.engine.attempt_services.file_changes import RunChangeLog
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.attempt_services.purse import FencedPurse
from bathysphere.engine.checkpoints import fenced_saver as fence
from bathysphere.engine.checkpoints.fenced_saver import FencedSaver
from bathysphere.engine.encryption.cipher import NO_ENCRYPTION
from bathysphere.engine.errors import Superseded
from bathysphere.engine.records import Run, Work
from bathysphere.middleware.failures import describe_failure
from bathysphere.models.failures import is_transient
from bathysphere.server.process.services import open_store

pytestmark = pytest.mark.timeout(30)
PLACE = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}


class NoPool(AsyncConnectionPool):
    """A pool whose server is unavailable."""

    encryption = NO_ENCRYPTION

    def __init__(self) -> None:
        super().__init__("", open=False)

    def connection(self, *_: Any) -> Any:
        raise OperationalError("the connection is lost")


class NoLedger:
    """A purse whose ledger is unavailable."""

    def __getattr__(self, _name: str) -> Any:
        async def lost(*_: Any) -> None:
            raise OperationalError("the connection is lost")

        return lost


def gone() -> tuple[FencedSaver, PostgresEffectLog]:
    pool: Any = NoPool()
    cipher = pool.encryption.tenant("acme")
    effects = PostgresEffectLog(pool, some_run(), token=1)
    return FencedSaver(pool, run_id=uuid4(), token=1, cipher=cipher), effects


async def test_checkpoints_that_cannot_be_read_or_written_end_the_attempt(monkeypatch):
    monkeypatch.setattr(fence, "_PAUSES", (0,))
    saver, _ = gone()
    with pytest.raises(StorageLost):
        await saver.aget_tuple(PLACE)
    with pytest.raises(StorageLost):
        await saver.aput(PLACE, empty_checkpoint(), {}, {})
    with pytest.raises(StorageLost):
        await saver.aput_writes(PLACE, [("messages", 1)], "task")


async def test_effects_that_cannot_be_recorded_end_the_attempt():
    _, effects = gone()
    key = EffectKey(namespace="", task="t", call="c")
    with pytest.raises(StorageLost):
        await effects.begin(key)
    with pytest.raises(StorageLost):
        await effects.finish(key, "sent")


def some_run() -> Run:
    now = datetime(2026, 11, 15, tzinfo=UTC)
    return Run(
        run_id=uuid4(),
        thread_id=uuid4(),
        owner=ALICE,
        graph="g",
        work=Work(),
        status="running",
        cancel=None,
        attempt=1,
        strikes=1,
        losses=0,
        token=1,
        seq=1,
        tag=0,
        job_id=None,
        error=None,
        created_at=now,
        started_at=now,
        finished_at=None,
    )


CHANGE = Change(
    workspace="main",
    path="/a",
    action="write",
    approver="ada",
    call="c",
    before_version="0",
    before=None,
)


async def test_a_file_change_that_cannot_be_recorded_ends_the_attempt():
    """As a tool result, the change would be in the bucket but not be listed."""
    pool: Any = NoPool()
    log = RunChangeLog(pool, some_run())
    with pytest.raises(StorageLost):
        await log.begin(CHANGE)
    with pytest.raises(StorageLost):
        await log.finish("c", after_version="1")
    with pytest.raises(StorageLost):
        await log.drop("c")


async def test_store_items_that_cannot_be_reached_end_the_attempt():
    pool: Any = NoPool()
    store = OwnedStore(open_store(pool), ALICE)
    with pytest.raises(StorageLost):
        await store.aget(("notes",), "a")
    with pytest.raises(StorageLost):
        await store.aput(("notes",), "a", {"text": "b"})


def test_a_lost_database_is_retryable_for_node_retries():
    assert is_transient(StorageLost("gone"))


@pytest.mark.services
async def test_an_attempt_that_was_taken_over_may_not_begin_a_change(rig: Rig):
    run = await rig.start(uuid4(), "steps", input={})
    first = await rig.attempts.open(run.run_id)
    second = await rig.attempts.open(run.run_id)
    with pytest.raises(Superseded):
        await RunChangeLog(rig.pool, first).begin(CHANGE)
    log = RunChangeLog(rig.pool, second)
    for _ in range(2):
        await log.begin(CHANGE)
    await RunChangeLog(rig.pool, first).finish("c", after_version="1")  # it did happen
    await log.begin(CHANGE)
    (change,) = await rig.services.changes.list_of_workspace(ALICE, "main")
    assert (change.path, change.after_version) == ("/a", "1")


@pytest.mark.parametrize(
    ("method", "values"),
    [("complete", ("k", 1, b"")), ("void", ("k",)), ("deposit", ("t",)), ("bill", (1,))],
)
async def test_a_ledger_that_cannot_be_reached_ends_the_attempt(method, values):
    ledger: Any = NoLedger()
    pool: Any = NoPool()
    purse = FencedPurse(ledger, pool, run_id=uuid4(), token=1)
    with pytest.raises(StorageLost):
        await getattr(purse, method)(*values)
    with pytest.raises(StorageLost):
        await purse.charge("k", 1)
    with pytest.raises(StorageLost):
        await purse.keep("k")


def test_no_model_sees_the_database_error():
    request: Any = type("Request", (), {"tool_call": {"name": "task", "args": {}}})()
    assert describe_failure(StorageLost("gone"), request) is None
    assert describe_failure(OperationalError("a tool's own database"), request) is not None
