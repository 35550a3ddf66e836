"""Call a server that may hang or be gone, without hanging with it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError

T = TypeVar("T")


class CircuitBreaker:
    """Bounds the time of calls; after a failure, calls fail at once, but one a second tries.

    `on_recovery` is called when one succeeds after failures.
    """

    def __init__(
        self,
        server: str,
        *,
        errors: tuple[type[Exception], ...],
        clock: Clock,
        seconds: float = 1.0,
        on_recovery: Callable[[], None] | None = None,
    ) -> None:
        self._server = server
        self._errors = errors
        self._clock = clock
        self._seconds = seconds
        self._on_recovery = on_recovery
        self._is_open = False
        self._next_try = 0.0

    async def call(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work.

        Raises:
            UpstreamError: The server failed, did not answer in time, or has failed just before.
        """
        if self._is_open and not self._may_try():
            raise UpstreamError(f"{self._server} is unavailable")
        task = asyncio.ensure_future(work())
        if not await self._ended(task):
            self._fail()
            raise UpstreamError(f"{self._server} did not answer within {self._seconds:g} s")
        try:
            result = task.result()
        except self._errors as error:
            self._fail()
            raise UpstreamError(f"{self._server} is unavailable") from error
        self._succeed()
        return result

    async def _ended(self, task: "asyncio.Future[T]") -> bool:
        """Wait for the task; abandon it after the time, whether or not it can be cancelled."""
        try:
            # In two parts: if this process was busy for all of the first, the reply has arrived.
            for part in (0.75, 0.25):
                await asyncio.wait({task}, timeout=self._seconds * part)
                if task.done():
                    return True
        finally:
            if not task.done():
                task.cancel()
                task.add_done_callback(_ignore)
        return False

    def _may_try(self) -> bool:
        now = self._clock.monotonic()
        if now < self._next_try:
            return False
        self._next_try = now + self._seconds
        return True

    def _fail(self) -> None:
        self._is_open = True
        self._next_try = self._clock.monotonic() + self._seconds

    def _succeed(self) -> None:
        if self._is_open:
            self._is_open = False
            if self._on_recovery is not None:
                self._on_recovery()


def _ignore(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()  # otherwise asyncio logs that nobody looked at it
