"""A worker: executes runs from the queue, recovers runs of dead workers, drains on shutdown.

`run` returns when the worker has been drained and all its runs have ended or been requeued. Losing
PostgreSQL does not end it; it restarts when the database is back.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from langgraph.runtime import RunControl
from procrastinate.exceptions import ConnectorException
from procrastinate.job_context import AbortReason
from procrastinate.worker import Worker as QueueWorker

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.engine.database.pool import Database
from bathysphere.engine.fairness import Shares
from bathysphere.engine.runs.announcements import QUEUE
from bathysphere.engine.runs.executor import Executor
from bathysphere.engine.runs.heartbeat import Heartbeat
from bathysphere.engine.runs.queue import JobAttempt, Queue
from bathysphere.engine.threads import Threads

_log = logging.getLogger(__name__)

Companion = Callable[[], Coroutine[Any, Any, None]]
"""Work that a worker process does beside its runs, until it is cancelled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerOptions:
    """Settings of a worker. A takeover takes about `stalled_after + recovery_seconds`."""

    concurrency: int = 8
    slot_reserve: float = 0.25
    beat_seconds: float = 1.0
    stalled_after: float = 5.0
    recovery_seconds: float = 1.0
    cancel_again_seconds: float = 3.0
    """A run that goes on so long after it was cancelled is cancelled again."""
    orphan_seconds: float = 30.0
    poll_seconds: float = 1.0
    sweep_seconds: float = 5.0
    temporary_seconds: float = 10.0
    """How long a stateless run's thread may still be read after its end."""
    drain_seconds: float = 30.0
    stuck_after: float = 900.0


@dataclass(eq=False, slots=True)
class _SideTasks:
    """Tasks that run beside the queue's worker."""

    heartbeat: Heartbeat
    tasks: list[asyncio.Task[None]] = field(default_factory=list)


class Worker:
    """Executes runs from the queue, several at a time."""

    def __init__(
        self,
        *,
        database: Database,
        queue: Queue,
        executor: Executor,
        threads: Threads,
        clock: Clock,
        options: WorkerOptions | None = None,
        companions: Sequence[Companion] = (),
    ) -> None:
        self._database = database
        self._queue = queue
        self._executor = executor
        self._threads = threads
        self._clock = clock
        self._options = options or WorkerOptions()
        self._companions = companions
        self._controls: set[RunControl] = set()
        self._is_draining = asyncio.Event()
        self._worker: QueueWorker | None = None
        self._missing: set[JobAttempt] = set()
        queue.set_worker(
            shares=Shares.of(self._options.concurrency, reserve=self._options.slot_reserve),
            running=self._count_running,
            poll_seconds=self._options.poll_seconds,
        )
        queue.register(self._execute)

    @property
    def worker_id(self) -> int | None:
        """This worker's id in the database, while it runs."""
        return self._worker.worker_id if self._worker is not None else None

    def _count_running(self) -> int:
        return len(self._worker._running_jobs) if self._worker is not None else 0

    def _count_slots(self) -> int:
        """How many runs at a time may be announced to this worker."""
        takes_runs = self._queue.is_listening and not self._is_draining.is_set()
        return self._options.concurrency if takes_runs else 0

    def drain(self) -> None:
        """Stop claiming runs; finish the current steps and requeue their runs. For SIGTERM."""
        self._is_draining.set()
        for control in self._controls:
            control.request_drain()
        if self._worker is not None:
            self._worker.stop()  # type: ignore[no-untyped-call]  # upstream has no types here

    async def run(self) -> None:
        """Execute runs until drained."""
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
            concurrency=self._options.concurrency,
            fetch_job_polling_interval=self._options.poll_seconds,
            abort_job_polling_interval=self._options.poll_seconds,
            shutdown_graceful_timeout=self._options.drain_seconds,
            install_signal_handlers=False,
            # Our heartbeat runs in a thread; Procrastinate's would stop with a blocked loop.
            update_heartbeat_interval=1e6,
            stalled_worker_timeout=max(60.0, 4 * self._options.stalled_after),
        )
        try:
            await self._worker.run()  # type: ignore[no-untyped-call]  # upstream has no types here
        except (ConnectorException, psycopg.OperationalError) as error:
            _log.warning("Worker lost its PostgreSQL connection and restarts: %s", error)
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

    def _start_side(self) -> _SideTasks:
        heartbeat = Heartbeat(
            self._database.listen_url or self._database.url,
            clock=self._clock,
            worker_id=lambda: self.worker_id,
            slots=self._count_slots,
            interval=self._options.beat_seconds,
            stuck_after=self._options.stuck_after,
        )
        heartbeat.start()
        tasks = [
            asyncio.create_task(self._report_loop(heartbeat)),
            asyncio.create_task(self._recover_runs()),
            asyncio.create_task(self._cancel_again()),
            asyncio.create_task(self._sweep()),
            *(asyncio.create_task(companion()) for companion in self._companions),
        ]
        return _SideTasks(heartbeat, tasks)

    async def _report_loop(self, heartbeat: Heartbeat) -> None:
        while True:
            heartbeat.record_loop_alive()
            await asyncio.sleep(1)

    async def _recover_runs(self) -> None:
        """Requeue the runs of dead workers."""
        orphans_at = self._clock.monotonic()
        while True:
            jitter = random.uniform(0.8, 1.2)  # noqa: S311  # spreads the workers' queries
            await asyncio.sleep(self._options.recovery_seconds * jitter)
            try:
                for run_id in await self._queue.requeue_stalled(self._options.stalled_after):
                    _log.warning("Requeued run %s of a dead worker", run_id)
                await self._requeue_missing()
                if self._clock.monotonic() - orphans_at > self._options.orphan_seconds:
                    orphans_at = self._clock.monotonic()
                    for run_id in await self._queue.requeue_orphans():
                        _log.error("Requeued run %s, which had no job", run_id)
            except psycopg.Error as error:
                _log.warning("Cannot look for dead workers: %s", error)

    async def _cancel_again(self) -> None:
        """Cancel again the runs that go on after they were cancelled.

        Procrastinate cancels a job's task once, and `asyncio.wait_for`, with which libraries wait
        for connections, may swallow that before Python 3.12.
        """
        before: set[asyncio.Task[Any]] = set()
        while True:
            await asyncio.sleep(self._options.cancel_again_seconds)
            running = self._worker._running_jobs if self._worker is not None else {}
            # The executor takes a cancellation back as soon as it has noticed it.
            going_on = {
                task
                for task, context in running.items()
                if task.cancelling() and context.abort_reason() is AbortReason.USER_REQUEST
            }
            for task in going_on & before:
                run_id = running[task].job.task_kwargs["run_id"]
                _log.warning("Cancelled run %s again, which had not stopped", run_id)
                task.cancel()
            before = going_on

    async def _sweep(self) -> None:
        """Delete the threads of stateless runs that are over."""
        while True:
            await asyncio.sleep(self._options.sweep_seconds)
            try:
                gone = await self._delete_temporary()
            except (psycopg.Error, UpstreamError) as error:
                _log.warning("Cannot delete threads of stateless runs: %s", error)
                continue
            if gone:
                _log.info("Deleted %d threads of stateless runs", gone)

    async def _delete_temporary(self) -> int:
        """Delete them all, however many have ended since the last time; return how many."""
        count = 0
        seconds = self._options.temporary_seconds
        while gone := await self._threads.delete_temporary(after_seconds=seconds):
            count += len(gone)
        return count

    async def _requeue_missing(self) -> None:
        """Requeue the jobs that are assigned to this worker but not running here.

        A cancellation that arrives between the fetch of a job and the first step of its task ends
        the task before any code of ours runs: the job stays assigned to a worker that ignores it.
        """
        worker = self._worker
        if worker is None or worker.worker_id is None:
            return
        running = [context.job.id for context in worker._running_jobs.values() if context.job.id]
        missing = await self._queue.find_missing(worker.worker_id, running)
        # Missing once, a job may just be starting or ending; missing twice, it is lost.
        lost, self._missing = missing & self._missing, missing - self._missing
        if not lost:
            return
        for run_id in await self._queue.requeue_missing(worker.worker_id, lost):
            _log.warning("Requeued run %s, which was cancelled when it was claimed", run_id)
