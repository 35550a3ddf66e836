"""Time as something that is passed in, so that tests own it."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the code below the edge may know of time."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for measuring spans."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)  # noqa: TID251  # the one place that reads the clock

    def monotonic(self) -> float:
        """Seconds that only grow, for measuring spans."""
        return time.monotonic()
