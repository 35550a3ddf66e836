"""PostgreSQL goes away under a subagent: the attempt ends and is tried again; no model reads it."""

from typing import Any
from uuid import uuid4

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from psycopg import OperationalError
from psycopg_pool import AsyncConnectionPool

from bathysphere.core.effects import EffectKey
from bathysphere.core.errors import StorageLost
from bathysphere.engine import fence
from bathysphere.engine.effects import PostgresEffectLog
from bathysphere.engine.fence import FencedSaver
from bathysphere.engine.purse import FencedPurse
from bathysphere.middleware.failures import describe_failure

pytestmark = pytest.mark.timeout(30)
PLACE = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}}


class NoPool(AsyncConnectionPool):
    """A pool whose server is gone."""

    def __init__(self) -> None:
        super().__init__("", open=False)

    def connection(self, *_: Any) -> Any:
        raise OperationalError("the connection is lost")


class NoLedger:
    """A purse whose ledger is gone."""

    def __getattr__(self, _name: str) -> Any:
        async def lost(*_: Any) -> None:
            raise OperationalError("the connection is lost")

        return lost


def gone() -> tuple[FencedSaver, PostgresEffectLog]:
    pool: Any = NoPool()
    effects = PostgresEffectLog(pool, thread_id=uuid4(), run_id=uuid4(), token=1)
    return FencedSaver(pool, run_id=uuid4(), token=1), effects


async def test_checkpoints_that_cannot_be_read_or_written_end_the_attempt(monkeypatch):
    monkeypatch.setattr(fence, "_PAUSES", (0,))
    saver, _ = gone()
    with pytest.raises(StorageLost):
        await saver.aget_tuple(PLACE)
    with pytest.raises(StorageLost):
        await saver.aput(PLACE, empty_checkpoint(), {}, {})
    with pytest.raises(StorageLost):
        await saver.aput_writes(PLACE, [("messages", 1)], "task")


async def test_effects_that_cannot_be_written_down_end_the_attempt():
    _, effects = gone()
    key = EffectKey(namespace="", task="t", call="c")
    with pytest.raises(StorageLost):
        await effects.begin(key)
    with pytest.raises(StorageLost):
        await effects.finish(key, "sent")


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


def test_no_model_reads_of_it():
    request: Any = type("Request", (), {"tool_call": {"name": "task", "args": {}}})()
    assert describe_failure(StorageLost("gone"), request) is None
    assert describe_failure(OperationalError("a tool's own database"), request) is not None
