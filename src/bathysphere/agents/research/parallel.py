"""Several things at once, of which the first failure is the failure."""

import asyncio
from collections.abc import Coroutine, Hashable, Mapping
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


async def all_of(work: Mapping[K, Coroutine[Any, Any, T]]) -> dict[K, T]:
    """What each of them gives. If one fails, the others are stopped and its own error is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {key: group.create_task(one) for key, one in work.items()}
    except BaseExceptionGroup as failed:
        # The one who waits knows what to do with an error, not with a group of them.
        raise failed.exceptions[0] from None
    return {key: task.result() for key, task in tasks.items()}
