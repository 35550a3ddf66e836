"""Writes that wait for the checkpoint that follows them: stored with it, alone, or not at all."""

import asyncio
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from engine_rig import Rig
from langgraph.checkpoint.base import empty_checkpoint

from bathysphere.core.errors import StorageLost
from bathysphere.engine.checkpoints import fenced_saver
from bathysphere.engine.checkpoints.fenced_saver import FencedSaver
from bathysphere.engine.errors import Superseded
from bathysphere.engine.records import Run

pytestmark = pytest.mark.services
WRITE = [("items", ["y"])]


@pytest.fixture
def patience(monkeypatch):
    """Let writes wait longer than a busy machine takes for a test."""
    monkeypatch.setattr(fenced_saver, "_JOIN_SECONDS", 60)


async def opened(rig: Rig) -> tuple[Run, FencedSaver]:
    run = await rig.attempts.open((await rig.start(uuid4(), "steps", input={})).run_id)
    assert run is not None
    saver = FencedSaver(
        rig.pool,
        run_id=run.run_id,
        token=run.token,
        cipher=rig.pool.encryption.tenant(run.owner.tenant),
        joins_writes=True,
    )
    return run, saver


def at(run: Run, checkpoint_id: str | None = None) -> dict[str, Any]:
    known = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": str(run.thread_id), "checkpoint_ns": "", **known}}


async def stored(rig: Rig, run: Run) -> tuple[int, int]:
    """How many checkpoints and writes the thread has."""
    async with rig.pool.connection() as connection:
        row = await (
            await connection.execute(
                "SELECT (SELECT count(*) FROM checkpoints WHERE thread_id = %(thread)s) AS steps,"
                " (SELECT count(*) FROM checkpoint_writes WHERE thread_id = %(thread)s) AS writes",
                {"thread": str(run.thread_id)},
            )
        ).fetchone()
    return row["steps"], row["writes"]


@pytest.mark.usefixtures("patience")
async def test_a_write_is_stored_with_the_checkpoint_that_follows(rig: Rig):
    run, saver = await opened(rig)
    where = await saver.aput(at(run), empty_checkpoint(), {"step": 0}, {})
    await saver.aput_writes(where, WRITE, "task")
    assert await stored(rig, run) == (1, 0)
    with patch.object(saver, "_write", wraps=saver._write) as statements:
        await saver.aput(where, empty_checkpoint(), {"step": 1}, {})
        await saver.aclose()
    assert statements.call_count == 1
    assert await stored(rig, run) == (2, 1)


async def test_a_write_that_nothing_follows_is_stored_soon_and_a_question_at_once(rig: Rig):
    run, saver = await opened(rig)
    where = await saver.aput(at(run), empty_checkpoint(), {"step": 0}, {})
    await saver.aput_writes(where, [("__interrupt__", "?")], "asks")
    assert await stored(rig, run) == (1, 1)
    await saver.aput_writes(where, WRITE, "done")
    for _ in range(100):
        if await stored(rig, run) == (1, 2):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("The write was not stored")


@pytest.mark.usefixtures("patience")
async def test_closing_and_reading_store_what_waits(rig: Rig):
    run, saver = await opened(rig)
    where = await saver.aput(at(run), empty_checkpoint(), {"step": 0}, {})
    await saver.aput_writes(where, WRITE, "first")
    await saver.aclose()
    assert await stored(rig, run) == (1, 1)
    await saver.aput_writes(where, WRITE, "second")
    found = await saver.aget_tuple(at(run))
    assert {task for task, *_ in found.pending_writes} == {"first", "second"}


@pytest.mark.usefixtures("patience")
async def test_a_failed_statement_keeps_its_writes_for_the_next(rig: Rig):
    run, saver = await opened(rig)
    where = await saver.aput(at(run), empty_checkpoint(), {"step": 0}, {})
    await saver.aput_writes(where, WRITE, "task")
    with (
        patch.object(saver, "_write", side_effect=StorageLost("gone")),
        pytest.raises(StorageLost),
    ):
        await saver.aput(where, empty_checkpoint(), {"step": 1}, {})
    assert await stored(rig, run) == (1, 0)
    await saver.aput(where, empty_checkpoint(), {"step": 1}, {})
    assert await stored(rig, run) == (2, 1)


@pytest.mark.usefixtures("patience")
async def test_a_superseded_attempt_stores_nothing_that_waited(rig: Rig):
    run, saver = await opened(rig)
    where = await saver.aput(at(run), empty_checkpoint(), {"step": 0}, {})
    assert await rig.attempts.open(run.run_id) is not None
    await saver.aput_writes(where, WRITE, "task")
    with pytest.raises(Superseded):
        await saver.aclose()
    assert await stored(rig, run) == (1, 0)


async def test_a_thread_without_checkpoints_is_not_read_by_a_first_attempt_only(rig: Rig):
    run, _ = await opened(rig)
    assert not run.has_checkpoints
    again = await rig.attempts.open(run.run_id)
    assert again is not None
    assert again.has_checkpoints
