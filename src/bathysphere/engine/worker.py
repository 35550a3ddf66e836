"""A worker process's engine room: takes runs from the queue, looks after dead colleagues, drains.

`run` returns when the worker has been drained and everything it had is ended or handed on. Losing
PostgreSQL does not end it; it starts over when the database is back.
"""

import asyncio
import contextlib
import logging
import random
from dataclasses import dataclass, field
from uuid import UUID

import psycopg
from langgraph.runtime import RunControl
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker as QueueWorker

from bathysphere.core.clock import Clock
from bathysphere.engine.database import Database
from bathysphere.engine.execution import Executor
from bathysphere.engine.heartbeat import Heartbeat
from bathysphere.engine.queue import QUEUE, Queue

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """How often a worker does what. Takeover takes about `stalled_after + reap_seconds`."""

    concurrency: int = 8
    beat_seconds: float = 1.0
    stalled_after: float = 5.0
    reap_seconds: float = 1.0
    adopt_seconds: float = 30.0
    poll_seconds: float = 1.0
    drain_seconds: float = 30.0
    stuck_after: float = 900.0


@dataclass(eq=False, slots=True)
class _Side:
    """What runs beside the queue's worker."""

    heartbeat: Heartbeat
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Worker:
    """Runs what is in the queue, several runs at a time."""

    def __init__(
        self,
        *,
        database: Database,
        queue: Queue,
        executor: Executor,
        clock: Clock,
        pace: Pace | None = None,
    ) -> None:
        self._database = database
        self._queue = queue
        self._executor = executor
        self._clock = clock
        self._pace = pace or Pace()
        self._controls: set[RunControl] = set()
        self._is_draining = asyncio.Event()
        self._worker: QueueWorker | None = None
        queue.serve(self._execute)

    @property
    def worker_id(self) -> int | None:
        """The number the database knows this worker by, while it is at work."""
        return self._worker.worker_id if self._worker is not None else None

    def drain(self) -> None:
        """Take nothing new; finish the steps in hand and hand the runs on. For SIGTERM."""
        self._is_draining.set()
        for control in self._controls:
            control.request_drain()
        if self._worker is not None:
            self._worker.stop()  # type: ignore[no-untyped-call]  # upstream has no types here

    async def run(self) -> None:
        """Work until drained."""
        side = self._start_side()
        try:
            while not self._is_draining.is_set():
                await self._work()
        finally:
            for task in side.tasks:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
            await asyncio.to_thread(side.heartbeat.stop)

    async def _work(self) -> None:
        self._worker = QueueWorker(
            app=self._queue.app,
            queues=[QUEUE],
            concurrency=self._pace.concurrency,
            fetch_job_polling_interval=self._pace.poll_seconds,
            abort_job_polling_interval=self._pace.poll_seconds,
            shutdown_graceful_timeout=self._pace.drain_seconds,
            install_signal_handlers=False,
            # Ours beats from a thread; Procrastinate's would stop with a blocked loop.
            update_heartbeat_interval=1e6,
            stalled_worker_timeout=max(60.0, 4 * self._pace.stalled_after),
        )
        try:
            await self._worker.run()  # type: ignore[no-untyped-call]  # upstream has no types here
        except (ConnectorException, psycopg.OperationalError) as error:
            _log.warning("the worker lost PostgreSQL and starts over: %s", error)
            await asyncio.sleep(0.5)

    async def _execute(self, run_id: UUID) -> None:
        control = RunControl()
        self._controls.add(control)
        if self._is_draining.is_set():
            control.request_drain()
        try:
            await self._executor.execute(run_id, control)
        finally:
            self._controls.discard(control)

    def _start_side(self) -> _Side:
        heartbeat = Heartbeat(
            self._database.listen_url or self._database.url,
            clock=self._clock,
            worker_id=lambda: self.worker_id,
            interval=self._pace.beat_seconds,
            stuck_after=self._pace.stuck_after,
        )
        heartbeat.start()
        tasks = [
            asyncio.create_task(self._show_life(heartbeat)),
            asyncio.create_task(self._take_over()),
        ]
        return _Side(heartbeat, tasks)

    async def _show_life(self, heartbeat: Heartbeat) -> None:
        while True:
            heartbeat.loop_is_alive()
            await asyncio.sleep(1)

    async def _take_over(self) -> None:
        """Put the runs of dead workers back into the queue."""
        adopted_at = self._clock.monotonic()
        while True:
            jitter = random.uniform(0.8, 1.2)  # noqa: S311  # spreads the workers' queries
            await asyncio.sleep(self._pace.reap_seconds * jitter)
            try:
                for run_id in await self._queue.reap(self._pace.stalled_after):
                    _log.warning("run %s was left by a dead worker: queued again", run_id)
                if self._clock.monotonic() - adopted_at > self._pace.adopt_seconds:
                    adopted_at = self._clock.monotonic()
                    for run_id in await self._queue.adopt():
                        _log.error("run %s had no job: queued again", run_id)
            except psycopg.Error as error:
                _log.warning("cannot look for dead workers: %s", error)
