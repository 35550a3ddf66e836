"""Cancel tasks reliably."""

import asyncio
from collections.abc import Collection
from typing import Any

_AGAIN_SECONDS = 0.5


async def cancel_all(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait until they have ended; their errors are not raised.

    A task is cancelled again while it goes on: before Python 3.12 `asyncio.wait_for`, which
    psycopg uses, swallows a cancellation that arrives together with the result.
    """
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=_AGAIN_SECONDS)
