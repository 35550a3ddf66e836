"""Tasks are cancelled even if they swallow a cancellation."""

import asyncio

from bathysphere.core.cancellation import cancel_all
from bathysphere.server.process.side_tasks import keep_running


async def swallow_one(began: asyncio.Event) -> None:
    began.set()
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(60)


async def test_a_task_that_swallows_a_cancellation_is_cancelled_again():
    began = asyncio.Event()
    tasks = [asyncio.create_task(swallow_one(began)), asyncio.create_task(asyncio.sleep(0))]
    await began.wait()
    async with asyncio.timeout(5):
        await cancel_all(tasks)
    assert [task.done() for task in tasks] == [True, True]


async def test_a_background_task_that_swallows_a_cancellation_does_not_hold_up_the_end():
    began = asyncio.Event()
    task = asyncio.create_task(keep_running("x", lambda: swallow_one(began)))
    await began.wait()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)
    assert done == {task}


async def test_nothing_to_cancel_is_no_error():
    await cancel_all([])
