"""Run coroutines concurrently and raise the first error."""

import asyncio
from collections.abc import Coroutine, Hashable, Mapping
from typing import Any, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


async def all_of(work: Mapping[K, Coroutine[Any, Any, T]]) -> dict[K, T]:
    """Collect all results; if one fails, cancel the others and raise its error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {key: group.create_task(one) for key, one in work.items()}
    except BaseExceptionGroup as failed:
        # Callers handle single errors, not groups.
        raise failed.exceptions[0] from None
    return {key: task.result() for key, task in tasks.items()}
