"""Share one lookup among concurrent requests for the same key.

Nothing is cached: a lookup starts after all requests that share it, so each of them sees every
earlier change. Requests that arrive during a lookup share the next one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Found = TypeVar("Found")


class SharedLookups(Generic[Found]):
    """Runs at most one lookup per key, with at most one more pending."""

    def __init__(self, look_up: Callable[[str], Awaitable[Found]]) -> None:
        self._look_up = look_up
        self._running: dict[str, asyncio.Task[Found]] = {}
        self._next: dict[str, asyncio.Task[Found]] = {}

    async def get(self, key: str) -> Found:
        """Look up the key. Cancelling a caller does not cancel the shared lookup."""
        if (task := self._next.get(key)) is None:
            task = asyncio.create_task(self._run(key, after=self._running.get(key)))
            task.add_done_callback(_retrieve)
            if key in self._running:
                self._next[key] = task
            else:
                self._running[key] = task
        return await asyncio.shield(task)

    async def _run(self, key: str, *, after: asyncio.Task[Found] | None) -> Found:
        if after is not None:
            await asyncio.wait([after])
            self._running[key] = self._next.pop(key)
        try:
            return await self._look_up(key)
        finally:
            if key not in self._next:
                del self._running[key]


def _retrieve(task: asyncio.Task[Found]) -> None:
    """Mark the exception as retrieved: all callers may have been cancelled."""
    if not task.cancelled():
        task.exception()
