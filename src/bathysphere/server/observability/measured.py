"""The engine's parts with a meter on them: the engine itself knows no metrics."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

from typing_extensions import override

from bathysphere.core.clock import Clock
from bathysphere.engine.events import Batch, Entry, Event, EventLog
from bathysphere.engine.queue import Queue
from bathysphere.server.observability.metrics import Metrics

_LIFECYCLE = b'{"channel":"lifecycle"'
_BEGINS = ("started", "running")
_MOST = 10_000


class MeasuredLog(EventLog):
    """An event log that counts the ends of runs as they pass."""

    def __init__(self, log: EventLog, metrics: Metrics, *, clock: Clock) -> None:
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._began: OrderedDict[str, float] = OrderedDict()

    async def append(
        self, thread_id: UUID, bodies: Sequence[bytes], *, token: int = 0, after_loss: bool = False
    ) -> int:
        """Add events; return the last id given."""
        for body in bodies:
            if body.startswith(_LIFECYCLE):
                self._count(Event.decode(body))
        return await self._log.append(thread_id, bodies, token=token, after_loss=after_loss)

    async def last_id(self, thread_id: UUID) -> int:
        """The id of the newest event, 0 when the log is empty."""
        return await self._log.last_id(thread_id)

    async def newest(self, thread_id: UUID, *, count: int) -> list[Entry]:
        """The last events, the newest first."""
        return await self._log.newest(thread_id, count=count)

    def batches(self, thread_id: UUID, *, after: int = 0) -> AsyncGenerator[Batch, None]:
        """All that is held after an id, then what comes, without end, as it came."""
        return self._log.batches(thread_id, after=after)

    async def delete(self, thread_id: UUID) -> None:
        """Forget the thread."""
        await self._log.delete(thread_id)

    def _count(self, event: Event) -> None:
        data: dict[str, Any] = event.data
        if data.get("event") in _BEGINS:
            self._began[event.run_id] = self._clock.monotonic()
            if len(self._began) > _MOST:  # those whose end another worker saw
                self._began.popitem(last=False)
        if (status := data.get("status")) is None:
            return
        graph = str(data.get("graph", ""))
        self._metrics.runs_ended.labels(graph, status).inc()
        if (began := self._began.pop(event.run_id, None)) is not None:
            self._metrics.run_seconds.labels(graph).observe(self._clock.monotonic() - began)


class MeasuredQueue(Queue):
    """A queue that counts the runs it takes back from dead workers."""

    metrics: Metrics | None = None

    @override
    async def reap(self, stalled_after: float) -> list[UUID]:
        """Queue again the jobs of workers that have not been heard of for `stalled_after` s."""
        found = await super().reap(stalled_after)
        if self.metrics is not None:
            self.metrics.takeovers.inc(len(found))
        return found
