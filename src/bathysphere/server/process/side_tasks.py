"""Background tasks: restarted when they fail, until cancelled."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from bathysphere.core.cancellation import cancel_all

_log = logging.getLogger(__name__)
RESTART_SECONDS = 10.0


async def keep_running(
    name: str,
    work: Callable[[], Coroutine[Any, Any, None]],
    *,
    restart_seconds: float = RESTART_SECONDS,
) -> None:
    """Restart the work whenever it ends. One failure must not stop the process."""
    while True:
        task = asyncio.create_task(work(), name=name)
        try:
            await asyncio.wait([task])
        finally:
            await cancel_all([task])
        error = None if task.cancelled() else task.exception()
        _log.error("%s failed, restarting: %r", name, error, exc_info=error)
        await asyncio.sleep(restart_seconds)


def raise_all(errors: list[BaseException]) -> None:
    """Raise the only error, or all of them as a group."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise BaseExceptionGroup("Several tasks failed", errors)
