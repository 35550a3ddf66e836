"""Engine components with metrics; the engine itself does not depend on metrics."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from typing_extensions import override

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database, Pool
from bathysphere.engine.events.log import Batch, Entry, Event, EventLog
from bathysphere.engine.runs.operations import DEAD_CODES
from bathysphere.engine.runs.queue import JobAttempt, Queue
from bathysphere.engine.threads import Threads
from bathysphere.server.observability.metrics import Metrics

_LIFECYCLE = b'{"channel":"lifecycle"'
_START_EVENTS = ("started", "running")
_MAX_RUNS = 10_000


class MeasuredLog(EventLog):
    """An event log that counts runs as they end."""

    def __init__(self, log: EventLog, metrics: Metrics, *, clock: Clock) -> None:
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._began: OrderedDict[str, float] = OrderedDict()

    async def append(
        self,
        thread_id: UUID,
        bodies: Sequence[bytes],
        *,
        owner: Owner,
        token: int = 0,
        after_loss: bool = False,
    ) -> int:
        """Append an owner's events; return the last id."""
        for body in bodies:
            if body.startswith(_LIFECYCLE):
                self._count(Event.decode(body))
        try:
            return await self._log.append(
                thread_id, bodies, owner=owner, token=token, after_loss=after_loss
            )
        except UpstreamError:
            self._metrics.events_dropped.inc(len(bodies))
            raise

    async def last_id(self, thread_id: UUID) -> int:
        """The id of the newest event; 0 if the log is empty."""
        return await self._log.last_id(thread_id)

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """The owner's events among the last `count`, newest first."""
        return await self._log.newest(thread_id, owner=owner, count=count, up_to=up_to)

    def batches(
        self, thread_id: UUID, *, owner: Owner, after: int = 0
    ) -> AsyncGenerator[Batch, None]:
        """The owner's events after an id, then new ones as they arrive, without end."""
        return self._log.batches(thread_id, owner=owner, after=after)

    async def delete(self, *thread_ids: UUID) -> None:
        """Delete the events of threads."""
        await self._log.delete(*thread_ids)

    def _count(self, event: Event) -> None:
        data: dict[str, Any] = event.data
        if data.get("event") in _START_EVENTS:
            self._began[event.run_id] = self._clock.monotonic()
            if len(self._began) > _MAX_RUNS:  # runs that ended on another worker
                self._began.popitem(last=False)
        if (status := data.get("status")) is None:
            return
        graph = str(data.get("graph", ""))
        self._metrics.runs_ended.labels(graph, status).inc()
        if (data.get("error") or {}).get("code") in DEAD_CODES:
            self._metrics.dead_letters.inc()
        if (began := self._began.pop(event.run_id, None)) is not None:
            self._metrics.run_seconds.labels(graph).observe(self._clock.monotonic() - began)


class MeasuredQueue(Queue):
    """A queue that counts recovered runs."""

    def __init__(self, pool: Pool, *, database: Database, metrics: Metrics) -> None:
        super().__init__(pool, database=database)
        self._metrics = metrics

    @override
    async def requeue_stalled(self, stalled_after: float) -> list[UUID]:
        """Requeue the jobs of workers without a heartbeat for `stalled_after` seconds."""
        run_ids = await super().requeue_stalled(stalled_after)
        self._metrics.takeovers.inc(len(run_ids))
        return run_ids

    @override
    async def requeue_missing(self, worker_id: int, lost: Iterable[JobAttempt]) -> list[UUID]:
        """Requeue jobs that a live worker holds in the database but does not run."""
        run_ids = await super().requeue_missing(worker_id, lost)
        self._metrics.taken_back.inc(len(run_ids))
        return run_ids

    @override
    async def requeue_orphans(self) -> list[UUID]:
        """Queue unfinished runs that have no job: a safety net."""
        run_ids = await super().requeue_orphans()
        self._metrics.adoptions.inc(len(run_ids))
        return run_ids


class MeasuredThreads(Threads):
    """Threads that are counted when they expire."""

    def __init__(self, pool: Pool, events: EventLog, *, metrics: Metrics) -> None:
        super().__init__(pool, events)
        self._metrics = metrics

    @override
    async def delete_temporary(self, *, after_seconds: float, limit: int = 1000) -> list[UUID]:
        """Delete threads of stateless runs that ended `after_seconds` ago."""
        deleted = await super().delete_temporary(after_seconds=after_seconds, limit=limit)
        self._metrics.threads_expired.labels("stateless").inc(len(deleted))
        return deleted

    @override
    async def delete_unused(
        self,
        *,
        after_minutes: float | None,
        by_tenant: Mapping[str, float | None] | None = None,
        limit: int = 1000,
    ) -> list[UUID]:
        """Delete threads whose last use was `after_minutes` ago."""
        deleted = await super().delete_unused(
            after_minutes=after_minutes, by_tenant=by_tenant, limit=limit
        )
        self._metrics.threads_expired.labels("unused").inc(len(deleted))
        return deleted

    @override
    async def delete_expired(self, *, limit: int = 1000) -> list[UUID]:
        """Delete threads whose own time to live is over."""
        deleted = await super().delete_expired(limit=limit)
        self._metrics.threads_expired.labels("ttl").inc(len(deleted))
        return deleted
