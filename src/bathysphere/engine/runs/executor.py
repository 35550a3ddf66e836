"""Execute one attempt at a run: stream the graph, publish its events, record the outcome.

Whatever a graph does, the run ends with a readable outcome or returns to the queue. If another
attempt took over the run, nothing more is written or published.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from langgraph.store.base import BaseStore

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.core.ids import new_id
from bathysphere.core.payments import Purse
from bathysphere.core.run_context import RunContext, RunUser
from bathysphere.engine.attempt_services.effects import PostgresEffectLog
from bathysphere.engine.attempt_services.file_changes import RunChangeLog
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.attempt_services.purse import FencedPurse
from bathysphere.engine.checkpoints.fenced_saver import FencedSaver
from bathysphere.engine.checkpoints.interrupted_steps import close_step
from bathysphere.engine.checkpoints.partial_answer import PartialAnswer, save_answer
from bathysphere.engine.checkpoints.rollback import save_writes
from bathysphere.engine.conversations.message_texts import MessageText, texts_of
from bathysphere.engine.database.outages import retry_storage
from bathysphere.engine.database.pool import CONNECTION_ERRORS, Pool, storage_errors
from bathysphere.engine.database.stored_bytes import StoredBytes
from bathysphere.engine.errors import Superseded
from bathysphere.engine.events.langgraph_stream import StreamMapper
from bathysphere.engine.events.log import EventLog
from bathysphere.engine.events.publisher import Publisher
from bathysphere.engine.graphs import Graph, Graphs
from bathysphere.engine.records import Run
from bathysphere.engine.runs.attempts import Attempts, EndStatus
from bathysphere.engine.runs.graph_arguments import (
    config_of,
    factory_call_of,
    input_of,
    modes_of,
)
from bathysphere.engine.runs.pauses import is_paused, pause_options
from bathysphere.engine.runs.probation import Probation
from bathysphere.engine.runs.public_errors import (
    public_error,
    timed_out,
    too_many_attempts,
    too_many_losses,
)
from bathysphere.engine.runs.queue import Requeue
from bathysphere.engine.usage.counting import RunUsage
from bathysphere.harness.context import context_for_run

_log = logging.getLogger(__name__)

# Errors that may not recur on the next attempt.
TRANSIENT = (UpstreamError, *CONNECTION_ERRORS, ConnectionError)
_END_EVENTS: dict[EndStatus, str] = {
    "success": "completed",
    "interrupted": "interrupted",
    "error": "failed",
    "timeout": "failed",
    "cancelled": "cancelled",
}


ContextFactory = Callable[[RunContext], RunContext]
PurseFactory = Callable[[str, Owner, str], Purse]
"""Creates the purse of a run from its thread, owner and run id."""
OnAnswer = Callable[[Run, Sequence[MessageText]], None]
"""Is told what was said in the thread of a run that answered, or asked the person."""


def ignore_answer(run: Run, texts: Sequence[MessageText]) -> None:
    """Do nothing with what was said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Limits on the attempts and the duration of a run."""

    attempts: int = 5
    losses: int = 2
    """Workers that a run may lose without making progress."""
    run_seconds: float = 6 * 3600
    retry_seconds: float = 1.0


class Executor:
    """Executes attempts; one per worker process."""

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
        stored: StoredBytes | None = None,
        on_answer: OnAnswer = ignore_answer,
        usage: RunUsage | None = None,
    ) -> None:
        self._pool = pool
        self._on_answer = on_answer
        self._graphs = graphs
        self._log = log
        self._clock = clock
        self._limits = limits
        self._store = store
        self._context = context
        self._purse, self._stored = purse, stored
        self._attempts = Attempts(pool)
        self._usage = usage or RunUsage(pool, clock=clock)
        self._probation = Probation()

    async def execute(self, run_id: UUID, control: RunControl) -> None:
        """Attempt the run once.

        Raises:
            Requeue: The run has not ended and must return to the queue.
        """
        run = await self._open(run_id, if_suspect=False)
        if run is not None:
            await self._publish_attempt(run, control)
        elif await self._is_suspect(run_id):
            async with self._probation.exclusive(run_id):
                run = await self._open(run_id)
                if run is not None:
                    await self._publish_attempt(run, control)
        if run is None:
            await self._republish_end(run_id)

    async def _open(self, run_id: UUID, *, if_suspect: bool = True) -> Run | None:
        try:
            return await self._attempts.open(run_id, if_suspect=if_suspect)
        except psycopg.Error as error:
            raise Requeue(self._limits.retry_seconds) from error

    async def _is_suspect(self, run_id: UUID) -> bool:
        try:
            return await self._attempts.is_suspect(run_id)
        except psycopg.Error as error:
            raise Requeue(self._limits.retry_seconds) from error

    async def _publish_attempt(self, run: Run, control: RunControl) -> None:
        async with Publisher(self._log, run, clock=self._clock) as publisher:
            try:
                async with self._usage.counted(run):
                    await self._attempt(run, control, publisher)
            except Superseded:
                _log.info("Run %s was taken over from attempt %d", run.run_id, run.attempt)

    async def _attempt(self, run: Run, control: RunControl, publisher: Publisher) -> None:
        if run.cancel is not None:
            await self._end(run, publisher, "cancelled")
            return
        if run.strikes > self._limits.attempts:
            await self._end(run, publisher, "error", error=too_many_attempts(run.strikes - 1))
            return
        if run.losses >= self._limits.losses:
            _log.error("Run %s ended: it lost %d workers without progress", run.run_id, run.losses)
            await self._end(run, publisher, "error", error=too_many_losses(run.losses))
            return
        publisher.lifecycle("started" if run.attempt == 1 else "running")
        answer = PartialAnswer()
        deadline = asyncio.timeout(self._limits.run_seconds)
        try:
            async with deadline:
                is_interrupted = await self._stream(run, control, publisher, answer)
        except GraphDrained:
            await self._requeue(run, publisher, is_strike=False)
        except Superseded:
            raise
        except asyncio.CancelledError:
            await self._handle_cancellation(run, publisher, answer)
        except Exception as error:  # noqa: BLE001  # a graph may raise anything; the run must end
            has_timed_out = deadline.expired()
            await self._handle_failure(run, publisher, answer, error, has_timed_out=has_timed_out)
        else:
            status: EndStatus = "interrupted" if is_interrupted else "success"
            await self._end(run, publisher, status, answer=answer)

    async def _stream(
        self, run: Run, control: RunControl, publisher: Publisher, answer: PartialAnswer
    ) -> bool:
        token = _token(run)
        saver, store = self._storage(run, token, is_first=True)
        context = self._context(self._run_context(run, token))
        is_continued = run.attempt > 1 and await saver.has_begun(run.thread_id)
        config = config_of(run, is_continued=is_continued, user=RunUser(context))
        call = factory_call_of(run, config, store)
        async with (
            aclosing(saver),
            self._graphs.open(
                run.graph, call, checkpointer=saver, store=store, model=run.work.model
            ) as graph,
        ):
            schema = graph.context_schema
            options: dict[str, Any] = {
                "context": context if schema is None else context_for_run(schema, run.work.context),
                "stream_mode": modes_of(run),
                "subgraphs": True,
                "durability": "sync",
                "control": control,
                "version": "v2",
                **pause_options(run.work),
            }
            return await self._follow(
                graph, run, config, publisher, answer, options, is_continued=is_continued
            )

    async def _follow(
        self,
        graph: Graph,
        run: Run,
        config: RunnableConfig,
        publisher: Publisher,
        answer: PartialAnswer,
        options: dict[str, Any],
        *,
        is_continued: bool,
    ) -> bool:
        """Stream the graph; return whether it waits for an answer."""
        if is_continued and await is_paused(graph, run.work, config):
            return True
        mapper = StreamMapper(shows_tasks="tasks" in run.work.modes)
        if not is_continued and await self._closes_step(run):
            async for item in close_step(graph, run, config, **options):
                publisher.add(item)
        async for part in graph.astream(
            input_of(run, is_continued=is_continued), config, **options
        ):
            if part["type"] == "updates":
                self._probation.passed(run.run_id)
            answer.process(part)
            for item in mapper.map(part):
                publisher.add(item)
        return mapper.is_interrupted

    def _run_context(self, run: Run, token: int) -> RunContext:
        effects = PostgresEffectLog(self._pool, run, token=token)
        return RunContext(
            tenant=run.owner.tenant,
            user=run.owner.user,
            thread_id=str(run.thread_id),
            run_id=str(run.run_id),
            effects=effects,
            payments=self._purse_of(run, token),
            changes=RunChangeLog(self._pool, run),
        )

    def _storage(
        self, run: Run, token: int, *, is_first: bool = False
    ) -> tuple[FencedSaver, OwnedStore | None]:
        """The checkpoints and the store that this attempt may write."""
        count = partial(self._stored.reserve, run.owner) if self._stored is not None else None
        saver = FencedSaver(
            self._pool,
            run_id=run.run_id,
            token=token,
            cipher=self._pool.encryption.tenant(run.owner.tenant),
            count_bytes=count,
            has_checkpoints=run.has_checkpoints or not is_first,
            joins_writes=is_first,
        )
        store = OwnedStore(self._store, run.owner, count) if self._store is not None else None
        return saver, store

    async def _closes_step(self, run: Run) -> bool:
        """Whether the run is a new message to an interrupted thread."""
        work = run.work
        if not run.has_interrupt or work.input is None or work.checkpoint_id is not None:
            return False
        with storage_errors():
            async with self._pool.connection() as connection:
                await save_writes(connection, run_id=run.run_id, thread_id=run.thread_id)
        return True

    def _purse_of(self, run: Run, token: int) -> Purse | None:
        if self._purse is None:
            return None
        purse = self._purse(str(run.thread_id), run.owner, str(run.run_id))
        return FencedPurse(purse, self._pool, run_id=run.run_id, token=token)

    async def _handle_cancellation(
        self, run: Run, publisher: Publisher, answer: PartialAnswer
    ) -> None:
        """Handle a cancelled task: the run was cancelled, or the worker is shutting down."""
        action = await retry_storage(lambda: self._attempts.cancelled(run))
        if action is None:
            await self._requeue(run, publisher, is_strike=False)
            return
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
        try:
            if action == "interrupt":
                await self._save_partial_answer(run, answer)
        finally:  # whatever the graph does with the answer, the run ends
            await self._end(run, publisher, "cancelled", answer=answer)

    async def _save_partial_answer(self, run: Run, answer: PartialAnswer) -> None:
        message = answer.message()
        if message is None:
            return
        saver, store = self._storage(run, _token(run))
        graph = self._graphs.bind(run.graph, checkpointer=saver, store=store)
        config = config_of(run, is_continued=True)
        await retry_storage(lambda: save_answer(graph, config, message, run_id=run.run_id))
        answer.messages = [*(answer.messages or ()), message]

    async def _handle_failure(
        self,
        run: Run,
        publisher: Publisher,
        answer: PartialAnswer,
        error: Exception,
        *,
        has_timed_out: bool,
    ) -> None:
        if has_timed_out:
            late = timed_out(self._limits.run_seconds)
            await self._end(run, publisher, "timeout", error=late, answer=answer)
        elif isinstance(error, TRANSIENT) and run.strikes < self._limits.attempts:
            _log.warning("Run %s failed on attempt %d: %r", run.run_id, run.attempt, error)
            delay = self._limits.retry_seconds * 2 ** (run.strikes - 1)
            await self._requeue(run, publisher, is_strike=True, delay=delay)
        else:
            reference = new_id("err")
            _log.warning("Run %s failed, reference %s", run.run_id, reference, exc_info=error)
            known = public_error(error, reference)
            await self._end(run, publisher, "error", error=known, answer=answer)

    async def _requeue(
        self, run: Run, publisher: Publisher, *, is_strike: bool, delay: float = 0
    ) -> None:
        rest = await self._usage.settle()
        await retry_storage(lambda: self._attempts.requeue(run, is_strike=is_strike, rest=rest))
        publisher.lifecycle("handed_on")
        raise Requeue(delay)

    async def _end(
        self,
        run: Run,
        publisher: Publisher,
        status: EndStatus,
        *,
        error: dict[str, Any] | None = None,
        answer: PartialAnswer | None = None,
    ) -> None:
        messages = answer.messages if answer is not None else None
        texts = texts_of(messages) if messages is not None else None
        rest = await self._usage.settle()
        ended = await retry_storage(
            lambda: self._attempts.finish(run, status, error=error, texts=texts, rest=rest)
        )
        _publish_end(publisher, ended)
        if texts is not None and ended.status in ("success", "interrupted"):
            self._on_answer(ended, texts)

    async def _republish_end(self, run_id: UUID) -> None:
        run = await retry_storage(lambda: self._attempts.find(run_id))
        if run is None:
            return
        if not run.is_over:
            # Its last worker released it just now; without a job the next run would overtake it.
            raise Requeue(self._limits.retry_seconds)
        # A worker died after ending the run in the database, perhaps before publishing it.
        async with Publisher(self._log, run, clock=self._clock) as publisher:
            _publish_end(publisher, run)


def _publish_end(publisher: Publisher, run: Run) -> None:
    status: Any = run.status
    publisher.lifecycle(_END_EVENTS[status], status=status, error=run.error)


def _token(run: Run) -> int:
    if run.token is None:
        raise Superseded(f"Run {run.run_id} is not held by any attempt")
    return run.token


__all__ = ["ContextFactory", "Executor", "Graph", "Limits", "PurseFactory"]
