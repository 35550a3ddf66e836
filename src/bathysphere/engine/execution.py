"""One attempt at a run: enter the graph, publish what happens, end readably.

Whatever a graph does, the run gets an end that can be read or goes back to the queue. A run that
another attempt took over is left alone: nothing is written, nothing published.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.store.base import BaseStore
from langgraph.types import Command

from bathysphere.core.clock import Clock
from bathysphere.core.effects import EffectLog
from bathysphere.core.errors import BathysphereError, UpstreamError
from bathysphere.core.payments import Purse
from bathysphere.engine.attempts import Attempts, EndStatus
from bathysphere.engine.closing import close_step
from bathysphere.engine.database import LOST, Pool
from bathysphere.engine.effects import PostgresEffectLog
from bathysphere.engine.errors import Superseded
from bathysphere.engine.events import EventLog
from bathysphere.engine.fence import FencedSaver
from bathysphere.engine.file_changes import RunChangeLog
from bathysphere.engine.graphs import Graph, Graphs
from bathysphere.engine.owned_store import OwnedStore
from bathysphere.engine.publish import Publisher
from bathysphere.engine.purse import FencedPurse
from bathysphere.engine.queue import HandOn
from bathysphere.engine.records import Mode, Owner, Run
from bathysphere.engine.rollback import remember_writes
from bathysphere.engine.stream import StreamMapper
from bathysphere.tenancy.changes import ChangeLog

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

# What may go better the next time.
TRANSIENT = (UpstreamError, *LOST, ConnectionError)
_END_EVENTS: dict[EndStatus, str] = {
    "success": "completed",
    "interrupted": "interrupted",
    "error": "failed",
    "timeout": "failed",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """What a graph knows of its caller: from the run's row, never from what a client sent."""

    tenant: str
    user: str
    thread_id: str
    run_id: str
    effects: EffectLog
    changes: ChangeLog
    payments: Purse | None = None
    """Who pays for the run's model calls; None: nothing is charged."""


ContextFactory = Callable[[RunContext], Any]
PurseFactory = Callable[[str, Owner, str], Purse]
"""The purse of a thread and its owner, for a run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long and how often a run is tried."""

    attempts: int = 5
    run_seconds: float = 6 * 3600
    retry_seconds: float = 1.0


class Executor:
    """Executes attempts; one for a worker process."""

    def __init__(
        self,
        *,
        pool: Pool,
        graphs: Graphs,
        log: EventLog,
        clock: Clock,
        limits: Limits,
        store: BaseStore | None = None,
        context: ContextFactory = lambda context: context,
        purse: PurseFactory | None = None,
    ) -> None:
        self._pool = pool
        self._graphs = graphs
        self._log = log
        self._clock = clock
        self._limits = limits
        self._store = store
        self._context = context
        self._purse = purse
        self._attempts = Attempts(pool)

    async def execute(self, run_id: UUID, control: RunControl) -> None:
        """Try the run once.

        Raises:
            HandOn: The run is not over and belongs back into the queue.
        """
        try:
            run = await self._attempts.open(run_id)
        except psycopg.Error as error:
            raise HandOn(self._limits.retry_seconds) from error
        if run is None:
            await self._repeat_the_end(run_id)
            return
        async with Publisher(self._log, run, clock=self._clock) as publisher:
            try:
                await self._attempt(run, control, publisher)
            except Superseded:
                _log.info("run %s attempt %d was taken over", run_id, run.attempt)

    async def _attempt(self, run: Run, control: RunControl, publisher: Publisher) -> None:
        if run.cancel is not None:
            await self._end(run, publisher, "cancelled")
            return
        if run.strikes > self._limits.attempts:
            await self._end(run, publisher, "error", error=_gave_up(run.strikes - 1))
            return
        publisher.lifecycle("started" if run.attempt == 1 else "running")
        deadline = asyncio.timeout(self._limits.run_seconds)
        try:
            async with deadline:
                is_interrupted = await self._stream(run, control, publisher)
        except GraphDrained:
            await self._hand_on(run, publisher, is_strike=False)
        except Superseded:
            raise
        except asyncio.CancelledError:
            await self._stopped(run, publisher)
        except Exception as error:  # noqa: BLE001  # a graph may raise anything; the run must end
            await self._failed(run, publisher, error, is_late=deadline.expired())
        else:
            await self._end(run, publisher, "interrupted" if is_interrupted else "success")

    async def _stream(self, run: Run, control: RunControl, publisher: Publisher) -> bool:
        token = _token(run)
        saver = FencedSaver(self._pool, run_id=run.run_id, token=token)
        store = OwnedStore(self._store, run.owner) if self._store is not None else None
        graph = self._graphs.bind(run.graph, checkpointer=saver, store=store)
        effects = PostgresEffectLog(
            self._pool, thread_id=run.thread_id, run_id=run.run_id, token=token
        )
        context = RunContext(
            tenant=run.owner.tenant,
            user=run.owner.user,
            thread_id=str(run.thread_id),
            run_id=str(run.run_id),
            effects=effects,
            payments=self._purse_of(run, token),
            changes=RunChangeLog(self._pool, run),
        )
        options: dict[str, Any] = {
            "context": self._context(context),
            "stream_mode": _modes(run),
            "subgraphs": True,
            "durability": "sync",
            "control": control,
            "version": "v2",
        }
        mapper = StreamMapper(shows_tasks="tasks" in run.work.modes)
        goes_on = run.attempt > 1 and await _has_begun(run, saver)
        config = _config(run, goes_on=goes_on)
        if not goes_on and await self._interrupts_a_step(run):
            async for item in close_step(graph, run, config, **options):
                publisher.add(item)
        async for part in graph.astream(_input(run, goes_on=goes_on), config, **options):
            for item in mapper.map(part):
                publisher.add(item)
        return mapper.is_interrupted

    async def _interrupts_a_step(self, run: Run) -> bool:
        """Whether the run is a message to a thread that stopped to ask."""
        work = run.work
        if not run.has_asked or work.input is None or work.checkpoint_id is not None:
            return False
        async with self._pool.connection() as connection:
            await remember_writes(connection, run_id=run.run_id, thread_id=run.thread_id)
        return True

    def _purse_of(self, run: Run, token: int) -> Purse | None:
        if self._purse is None:
            return None
        purse = self._purse(str(run.thread_id), run.owner, str(run.run_id))
        return FencedPurse(purse, self._pool, run_id=run.run_id, token=token)

    async def _stopped(self, run: Run, publisher: Publisher) -> None:
        """The task was cancelled: because somebody asked, or because the worker goes away."""
        if await _persist(lambda: self._attempts.cancelled(run)):
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
            await self._end(run, publisher, "cancelled")
        else:
            await self._hand_on(run, publisher, is_strike=False)

    async def _failed(
        self, run: Run, publisher: Publisher, error: Exception, *, is_late: bool
    ) -> None:
        if is_late:
            await self._end(run, publisher, "timeout", error=_too_long(self._limits.run_seconds))
        elif isinstance(error, TRANSIENT) and run.strikes < self._limits.attempts:
            _log.warning("run %s attempt %d failed: %r", run.run_id, run.attempt, error)
            delay = self._limits.retry_seconds * 2 ** (run.strikes - 1)
            await self._hand_on(run, publisher, is_strike=True, delay=delay)
        else:
            _log.warning("run %s failed", run.run_id, exc_info=error)
            await self._end(run, publisher, "error", error=_readable(error))

    async def _hand_on(
        self, run: Run, publisher: Publisher, *, is_strike: bool, delay: float = 0
    ) -> None:
        await _persist(lambda: self._attempts.hand_on(run, is_strike=is_strike))
        publisher.lifecycle("handed_on")
        raise HandOn(delay)

    async def _end(
        self,
        run: Run,
        publisher: Publisher,
        status: EndStatus,
        *,
        error: dict[str, Any] | None = None,
    ) -> None:
        ended = await _persist(lambda: self._attempts.finish(run, status, error=error))
        _publish_end(publisher, ended)

    async def _repeat_the_end(self, run_id: UUID) -> None:
        # A worker died after ending the run in the database, perhaps before telling anyone.
        run = await _persist(lambda: self._attempts.ended(run_id))
        if run is not None:
            async with Publisher(self._log, run, clock=self._clock) as publisher:
                _publish_end(publisher, run)


def _publish_end(publisher: Publisher, run: Run) -> None:
    status: Any = run.status
    publisher.lifecycle(_END_EVENTS[status], status=status, error=run.error)


async def _persist(operation: Callable[[], Awaitable[_T]]) -> _T:
    """Try until PostgreSQL answers: an end that is not written down would be a run that is lost."""
    while True:
        try:
            return await operation()
        except LOST as error:
            _log.warning("PostgreSQL is away: %s", error)
            await asyncio.sleep(0.5)


async def _has_begun(run: Run, saver: BaseCheckpointSaver[str]) -> bool:
    """Whether the thread's newest checkpoint is already this run's."""
    config: RunnableConfig = {
        "configurable": {"thread_id": str(run.thread_id), "checkpoint_ns": ""}
    }
    newest = await saver.aget_tuple(config)
    return newest is not None and newest.metadata.get("run_id") == str(run.run_id)


def _input(run: Run, *, goes_on: bool) -> Any:
    """What the graph is entered with; answers only ever go to the question they name."""
    work = run.work
    if work.answers_first:
        return None if goes_on else work.input
    if goes_on:
        return Command(resume=dict(work.resume)) if work.resume else None
    if not work.is_command:
        return work.input
    return Command(
        resume=dict(work.resume) if work.resume else None, update=work.update, goto=work.goto
    )


def _config(run: Run, *, goes_on: bool) -> RunnableConfig:
    place: dict[str, Any] = {"thread_id": str(run.thread_id), "checkpoint_ns": ""}
    if run.work.checkpoint_id is not None and not goes_on:
        place["checkpoint_id"] = run.work.checkpoint_id
    return {
        "configurable": place,
        "metadata": {**run.work.metadata, "run_id": str(run.run_id), "graph": run.graph},
        "run_id": run.run_id,
        "recursion_limit": run.work.recursion_limit,
    }


def _modes(run: Run) -> list[Any]:
    needed: tuple[Mode, ...] = ("updates", "tasks")
    return list(dict.fromkeys((*needed, *run.work.modes)))


def _token(run: Run) -> int:
    if run.token is None:
        raise Superseded(f"run {run.run_id} is nobody's")
    return run.token


def _readable(error: Exception) -> dict[str, Any]:
    if isinstance(error, BathysphereError):
        return {"code": error.code, "message": error.message, "hint": error.hint}
    return {"code": "run_failed", "message": f"{type(error).__name__}: {error}"[:2000]}


def _gave_up(attempts: int) -> dict[str, Any]:
    return {
        "code": "too_many_attempts",
        "message": f"The run was tried {attempts} times and did not get to its end.",
        "hint": "its worker stopped each time; the thread is intact up to the last finished step",
    }


def _too_long(seconds: float) -> dict[str, Any]:
    return {"code": "run_timeout", "message": f"The run did not end within {seconds:g} seconds."}


__all__ = ["ContextFactory", "Executor", "Graph", "Limits", "PurseFactory", "RunContext"]
