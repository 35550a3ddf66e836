"""Workers whose clocks differ: what is stored last is a thread's newest state."""

import time
from types import SimpleNamespace
from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, Rig
from langgraph.checkpoint.base import id as checkpoint_ids

from bathysphere.engine.records import Work

pytestmark = pytest.mark.services
OFFSETS = (600, 0, -600)


def be_a_process(monkeypatch: pytest.MonkeyPatch, *, seconds_ahead: float) -> None:
    """Make checkpoint ids like another process, on a machine with such a clock."""
    ahead = int(seconds_ahead * 1e9)
    clock = SimpleNamespace(time_ns=lambda: time.time_ns() + ahead)
    monkeypatch.setattr(checkpoint_ids, "time", clock)
    monkeypatch.setattr(checkpoint_ids, "_last_v6_timestamp", None)


async def run(rig: Rig, thread: UUID, name: str, **options) -> None:
    given = {"items": [], "name": name, "steps": 1, "delay": 0.0}
    async with rig.working():
        ended = await rig.ended(await rig.start(thread, "steps", input=given, **options))
    assert ended.status == "success"


async def test_a_worker_goes_on_where_one_whose_clock_is_ahead_stopped(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = uuid4()
    for offset in OFFSETS:
        be_a_process(monkeypatch, seconds_ahead=offset)
        await run(rig, thread, f"at{offset}")
    assert await rig.items(thread) == [f"at{offset}:0" for offset in OFFSETS]


async def forked(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> tuple[UUID, str]:
    """A thread with two runs by a worker whose clock is ahead, and the checkpoint between them.

    LangGraph reads the newest checkpoint before it goes on from an earlier one.
    """
    be_a_process(monkeypatch, seconds_ahead=600)
    await run(rig, thread := uuid4(), "first")
    between = (await rig.state(thread)).config["configurable"]["checkpoint_id"]
    await run(rig, thread, "second")
    be_a_process(monkeypatch, seconds_ahead=0)
    return thread, between


async def test_a_run_from_an_earlier_point_is_the_newest_whatever_the_clock(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, between = await forked(rig, monkeypatch)
    given = {"items": [], "name": "third", "steps": 1, "delay": 0.0}
    waiting = await rig.start(thread, "steps", work=Work(input=given, checkpoint_id=between))
    be_a_process(monkeypatch, seconds_ahead=0)
    async with rig.working():
        await rig.ended(waiting)
    assert await rig.items(thread) == ["first:0", "third:0"]


async def test_a_state_that_is_updated_at_an_earlier_point_is_the_newest_whatever_the_clock(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread, between = await forked(rig, monkeypatch)
    states = rig.services.states
    await states.update(thread, {"items": ["third"]}, owner=ALICE, checkpoint_id=between)
    assert await rig.items(thread) == ["first:0", "third"]
