"""An operator finds runs, takes them from a worker, and replays those that were given up."""

import asyncio
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.engine.errors import RunNotFound
from bathysphere.engine.records import Run
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.operations import CannotReplay, RunOperations

pytestmark = pytest.mark.services
BATHYSPHERE = Path(sys.executable).with_name("bathysphere")


@pytest.fixture
def operations(rig: Rig) -> RunOperations:
    return RunOperations(rig.pool, rig.queue)


async def given_up(rig: Rig, thread=None, *, steps: int = 3) -> Run:
    """A run that made one step, and then lost every worker."""
    run = await rig.start(
        thread or uuid4(), "steps", input={"name": "a", "steps": steps, "delay": 0.2}
    )
    async with rig.working():
        await rig.in_journal(run.thread_id, "a:0")
    for _ in range(2):
        assert await rig.attempts.open(run.run_id) is not None  # and abandoned
    async with rig.working():
        ended = await rig.ended(run)
    assert ended.error["code"] == "worker_lost"
    return ended


async def command(rig: Rig, *arguments: str) -> tuple[int, str]:
    line = [str(BATHYSPHERE), "runs", "--database-url", rig.database.url, *arguments]
    done = await asyncio.to_thread(
        subprocess.run, line, capture_output=True, text=True, check=False, timeout=60
    )
    return done.returncode, done.stdout + done.stderr


async def test_a_run_that_was_given_up_is_listed_and_goes_on_after_its_last_step(
    rig: Rig, operations: RunOperations
):
    run = await given_up(rig)
    assert [dead.run_id for dead in await operations.list(is_dead=True)] == [run.run_id]
    before = await rig.items(run.thread_id)
    assert before
    replayed = await operations.replay(run.run_id)
    assert (replayed.status, replayed.error, replayed.strikes) == ("pending", None, 0)
    async with rig.working():
        assert (await rig.ended(run)).status == "success"
    assert await rig.items(run.thread_id) == ["a:0", "a:1", "a:2"]
    assert await operations.list(is_dead=True) == []


async def test_a_replayed_run_may_be_given_up_again(rig: Rig, operations: RunOperations):
    run = await given_up(rig)
    await operations.replay(run.run_id)
    for _ in range(2):
        assert await rig.attempts.open(run.run_id) is not None
    async with rig.working(limits=Limits(attempts=9)):
        assert (await rig.ended(run)).error["code"] == "worker_lost"


async def test_a_run_is_not_replayed_behind_newer_ones(rig: Rig, operations: RunOperations):
    run = await given_up(rig)
    await rig.start(run.thread_id, "steps", input={"name": "b", "steps": 1})
    with pytest.raises(CannotReplay, match="newer runs"):
        await operations.replay(run.run_id)


async def test_only_a_failed_run_is_replayed_and_only_an_active_one_requeued(
    rig: Rig, operations: RunOperations
):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    with pytest.raises(CannotReplay, match="pending"):
        await operations.replay(run.run_id)
    async with rig.working():
        await rig.ended(run)
    with pytest.raises(CannotReplay, match="success"):
        await operations.replay(run.run_id)
    with pytest.raises(CannotReplay, match="ended"):
        await operations.requeue(run.run_id)
    with pytest.raises(RunNotFound):
        await operations.requeue(uuid4())


async def test_a_requeued_run_is_taken_from_its_worker_and_doubles_nothing(
    rig: Rig, operations: RunOperations
):
    run = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 8, "delay": 0.2})
    async with rig.working():
        await rig.in_journal(run.thread_id, "a:1")
        await operations.requeue(run.run_id)
        ended = await rig.ended(run)
    assert (ended.status, ended.attempt) == ("success", 2)
    assert await rig.items(run.thread_id) == [f"a:{n}" for n in range(8)]


async def test_runs_are_found_by_status_and_tenant(rig: Rig, operations: RunOperations):
    first = await rig.start(uuid4(), "steps", input={"name": "a", "steps": 1})
    async with rig.working():
        await rig.ended(first)
    await rig.start(uuid4(), "steps", owner=BOB, input={"name": "b", "steps": 1})
    assert [run.owner for run in await operations.list()] == [BOB, ALICE]
    assert [run.owner for run in await operations.list(status="success")] == [ALICE]
    assert [run.owner for run in await operations.list(tenant=BOB.tenant)] == [BOB]
    assert len(await operations.list(limit=1)) == 1


async def test_the_command_lists_shows_replays_and_cancels(rig: Rig):
    run = await given_up(rig, steps=60)
    code, text = await command(rig, "dead")
    assert code == 0
    assert str(run.run_id) in text
    assert "worker_lost" in text
    code, text = await command(rig, "show", str(run.run_id))
    assert (code, "2 workers died" in text, str(run.thread_id) in text) == (0, True, True)
    assert await command(rig, "replay", "--all-dead") == (0, f"Queued {run.run_id} again.\n")
    code, text = await command(rig, "list", "--status", "pending")
    assert str(run.run_id) in text
    assert await command(rig, "cancel", str(run.run_id)) == (0, f"Run {run.run_id} is cancelled.\n")
    assert await command(rig, "replay", "--all-dead") == (0, "No run was given up.\n")


@pytest.mark.parametrize("words", [("show", "no-id"), ("requeue", str(uuid4()))])
async def test_a_run_that_does_not_exist_is_one_sentence_and_a_hint(rig: Rig, words):
    code, text = await command(rig, *words)
    assert code == 1
    assert "runs list" in text
    assert "Traceback" not in text
