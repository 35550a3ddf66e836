"""Work beside requests: reported and begun again when it fails, raised after draining."""

import asyncio
import logging
from types import SimpleNamespace

import pytest

from bathysphere.server.process.lifecycle import _Process
from bathysphere.server.process.side_tasks import keep_running, raise_all


async def test_work_that_fails_is_reported_and_begun_again(caplog):
    began, third = [], asyncio.Event()

    async def work():
        began.append(len(began))
        if len(began) < 3:
            raise ValueError("one bad swap")
        third.set()
        await asyncio.Event().wait()

    with caplog.at_level(logging.ERROR):
        task = asyncio.create_task(keep_running("sweep", work, restart_seconds=0.001))
        await asyncio.wait_for(third.wait(), 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert caplog.text.count("one bad swap") >= 2
    assert "sweep failed, restarting" in caplog.text


async def test_work_is_ended_with_its_task():
    ended = []

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(keep_running("sweep", work))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert ended == [True]


def test_all_errors_are_raised():
    raise_all([])
    with pytest.raises(ValueError, match="one"):
        raise_all([ValueError("one")])
    with pytest.raises(BaseExceptionGroup) as raised:
        raise_all([ValueError("one"), KeyError("two")])
    assert raised.group_contains(KeyError)


class Worker:
    """A worker that has a run in hand until it is drained."""

    def __init__(self):
        self.drained = asyncio.Event()
        self.finished = False

    async def run(self):
        await self.drained.wait()
        self.finished = True

    def drain(self):
        self.drained.set()


async def test_a_process_drains_its_worker_before_it_raises_what_failed():
    settings = SimpleNamespace(stop_delay_seconds=0.01, metrics_port=None)
    health, worker = SimpleNamespace(begin_shutdown=lambda: None), Worker()
    process = _Process(settings, health, worker)
    process._worker_task = process._spawn(worker.run())

    async def dies_when_cancelled():
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("it could not be closed")

    process._side_tasks.append(process._spawn(dies_when_cancelled()))
    await asyncio.sleep(0.001)
    with pytest.raises(ValueError, match="could not be closed"):
        await process._shut_down()
    assert worker.finished
