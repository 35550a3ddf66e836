"""Traces across API, queue, worker, model and tool.

The API stores its trace context in the run's row; the worker that executes the run continues that
trace. Only OpenTelemetry's API is used here; without its SDK (the extra `otel`) this does nothing.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from langgraph.runtime import RunControl
from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind
from psycopg_pool import PoolTimeout
from typing_extensions import override

from bathysphere.core.errors import missing_extra
from bathysphere.core.identity import Owner
from bathysphere.core.run_context import RunContext
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.events.publisher import Publisher
from bathysphere.engine.records import Run
from bathysphere.engine.runs.executor import Executor
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.engine.runs.service import Created, Runs
from bathysphere.server.observability import attributes
from bathysphere.server.observability.calls import traced_calls
from bathysphere.server.observability.logs import bind, bound
from bathysphere.server.observability.metrics import Metrics

CARRIER = "bathysphere_trace"
"""Metadata key of the trace context in which a run was created."""
_SLOW_START = timedelta(seconds=0.25)
"""Only for slower starts is it worth a statement to learn what the run waited for."""


def set_up_tracing(*, endpoint: str, service: str, ratio: float = 1.0) -> Any:
    """Send spans to a collector; return the provider, which the caller must shut down.

    Raises:
        ConfigError: The extra `otel` is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio
    except ImportError as error:
        raise missing_extra("OpenTelemetry", "otel") from error
    resource = Resource.create({"service.name": service})
    provider = TracerProvider(resource=resource, sampler=ParentBasedTraceIdRatio(ratio))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint)))
    trace.set_tracer_provider(provider)
    return provider


class TracedRuns(Runs):
    """Runs that record the trace context in which they were created."""

    @override
    async def create(self, new: NewRun, *, owner: Owner) -> Created:
        """Create a run; its strategy applies if the thread already has one."""
        return await super().create(_with_carrier(new), owner=owner)

    @override
    async def enqueue(self, connection: Connection, new: NewRun, *, owner: Owner) -> Run:
        """Queue a run behind the thread's others, within the caller's transaction."""
        return await super().enqueue(connection, _with_carrier(new), owner=owner)


def _with_carrier(new: NewRun) -> NewRun:
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    if not carrier:
        return new
    metadata = {**new.work.metadata, CARRIER: carrier}
    return replace(new, work=replace(new.work, metadata=metadata))


class ObservedExecutor(Executor):
    """An executor whose log lines and spans carry the run, and whose queue waits are measured."""

    def __init__(
        self, *, pool: Pool, metrics: Metrics, is_traced: bool = False, **parts: Any
    ) -> None:
        super().__init__(pool=pool, context=_bind_log_fields, **parts)
        self._metrics = metrics
        self._rows = pool
        self._is_traced = is_traced
        self._tracer = trace.get_tracer("bathysphere.worker")

    @override
    async def execute(self, run_id: UUID, control: RunControl) -> None:
        """Execute one attempt of the run."""
        with bound(run_id=str(run_id)):
            row = await self._row(run_id) if self._is_traced else None
            if row is None:
                await super().execute(run_id, control)
                return
            carrier = row["carrier"] if isinstance(row["carrier"], dict) else {}
            with (
                self._tracer.start_as_current_span(
                    f"{attributes.INVOKE_AGENT} {row['graph']}",
                    context=propagate.extract(carrier),
                    kind=SpanKind.CONSUMER,
                    record_exception=False,  # its text may contain user content
                    set_status_on_exception=False,
                    attributes={
                        attributes.OPERATION: attributes.INVOKE_AGENT,
                        attributes.AGENT_NAME: row["graph"],
                        attributes.CONVERSATION_ID: str(row["thread_id"]),
                        attributes.RUN_ID: str(run_id),
                        attributes.TENANT: row["tenant"],
                    },
                ) as span,
                traced_calls(span),
            ):
                await super().execute(run_id, control)

    @override
    async def _attempt(self, run: Run, control: RunControl, publisher: Publisher) -> None:
        if run.attempt == 1 and run.started_at is not None:
            due = run.created_at + timedelta(seconds=run.work.after_seconds)
            if run.started_at - due > _SLOW_START:
                due = max(due, await self._end_before(run) or due)
            waited = (run.started_at - due).total_seconds()
            self._metrics.queue_wait.observe(max(0.0, waited))
        await super()._attempt(run, control, publisher)

    async def _end_before(self, run: Run) -> datetime | None:
        """The end of the thread's run before: only from then on did this one wait for a worker."""
        query = "SELECT max(finished_at) AS at FROM engine.runs WHERE thread_id = %s AND seq < %s"
        try:
            async with self._rows.connection() as connection:
                row = await (await connection.execute(query, (run.thread_id, run.seq))).fetchone()
        except (psycopg.Error, PoolTimeout):
            return None
        return row["at"] if row is not None else None

    async def _row(self, run_id: UUID) -> dict[str, Any] | None:
        query = (
            "SELECT thread_id, graph, tenant, work -> 'metadata' -> %s AS carrier"
            " FROM engine.runs WHERE run_id = %s"
        )
        try:
            async with self._rows.connection() as connection:
                return await (await connection.execute(query, (CARRIER, run_id))).fetchone()
        except psycopg.Error:
            return None  # the run will fail with the same error


def _bind_log_fields(context: RunContext) -> RunContext:
    """Bind the thread and tenant to the log lines of the run's task."""
    bind(thread_id=context.thread_id, tenant=context.tenant)
    return context
