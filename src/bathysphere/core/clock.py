"""The clock, passed in so that tests can control time."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Source of the current time."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return monotonic seconds, for measuring durations."""
        ...


class SystemClock:
    """The system clock."""

    def now(self) -> datetime:
        """Return the current time, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock

    def monotonic(self) -> float:
        """Return monotonic seconds, for measuring durations."""
        return time.monotonic()
