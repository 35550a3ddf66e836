"""Measure how late the event loop is."""

import asyncio

from bathysphere.core.clock import Clock
from bathysphere.server.observability.metrics import Metrics


async def measure_loop_lag(metrics: Metrics, clock: Clock, *, every: float = 0.25) -> None:
    """Wake up periodically, until cancelled, and record how much too late that was.

    While the loop is blocked there are fewer records, so use their sum, not their quantiles.
    """
    while True:
        due = clock.monotonic() + every
        await asyncio.sleep(every)
        metrics.loop_lag.observe(max(0.0, clock.monotonic() - due))
