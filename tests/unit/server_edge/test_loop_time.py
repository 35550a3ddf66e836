"""The time for which work occupies the event loop."""

import asyncio
import time

import pytest

from bathysphere.server.asgi.loop_time import LoopTime


async def test_running_counts_and_waiting_does_not():
    reported: list[float] = []

    async def work() -> str:
        time.sleep(0.02)  # noqa: ASYNC251  # occupies the loop on purpose
        await asyncio.sleep(0.2)
        time.sleep(0.02)  # noqa: ASYNC251
        return "done"

    assert await LoopTime(work(), reported.append) == "done"
    assert 0.04 <= sum(reported) < 0.15


async def test_errors_and_cancellation_pass_through_in_both_directions():
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.ensure_future(LoopTime(work(), lambda _: None))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await LoopTime(fail(), lambda _: None)


async def test_work_that_is_told_to_stop_may_go_on():
    async def work() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        except TimeoutError:
            await asyncio.sleep(0)
            return "in time"
        return "late"

    assert await LoopTime(work(), lambda _: None) == "in time"
