"""Deadlines for slow clients, built on uvicorn's HTTP protocol.

The headers of a request must arrive within a time limit, its body at a minimum rate. A connection
that is too slow is closed without a response.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MIN_RATE = 4096
"""Minimum average rate of a body over `body_seconds`, in bytes per second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlines:
    """Time limit of the headers, and the interval in which the body's rate is measured."""

    header_seconds: float = 10.0
    body_seconds: float = 30.0


class TimedProtocol(HttpToolsProtocol):
    """A connection with deadlines for the client."""

    deadlines = Deadlines()
    _timer: asyncio.TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: Any) -> None:
        """Start the deadline of the first request."""
        super().connection_made(transport)
        self._arm(self.deadlines.header_seconds, self._close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count the bytes; the first bytes of a request start its header deadline."""
        self._received += len(data)
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self._timer is None:
            self._arm(self.deadlines.header_seconds, self._close)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """Start measuring the body."""
        super().on_headers_complete()
        self._received = 0
        self._arm(self.deadlines.body_seconds, self._check_rate)

    def on_message_complete(self) -> None:
        """Stop the timer: the request is complete."""
        self._disarm()
        super().on_message_complete()

    def _check_rate(self) -> None:
        self._timer = None
        if self.cycle.response_complete:
            return
        # Reading is paused while the app has a backlog, which is not the client's fault.
        is_enough = self._received >= MIN_RATE * self.deadlines.body_seconds
        if is_enough or self.flow.read_paused:
            self._received = 0
            self._arm(self.deadlines.body_seconds, self._check_rate)
        else:
            self._close()

    def _close(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _arm(self, seconds: float, callback: Callable[[], None]) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, callback)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def protocol_with(deadlines: Deadlines) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol class with these deadlines."""
    return type("TimedProtocol", (TimedProtocol,), {"deadlines": deadlines})
