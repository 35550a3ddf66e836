"""Prometheus metrics of requests, streams, runs, the queue and payments.

A process has one `Metrics`. Figures of the queue are read from the database at each scrape and are
the same in every process, so aggregate them with max, not sum. Counters that alerts use exist from
the start with the value 0: Prometheus sees no increase in a series that begins at 1.
"""

import asyncio
import logging

import psycopg
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from psycopg_pool import PoolTimeout

from bathysphere.core.clock import Clock
from bathysphere.engine.crons.scheduler import TickOutcome
from bathysphere.engine.database.pool import Pool
from bathysphere.server.observability.pool_metrics import PoolCollector

CONTENT_TYPE = CONTENT_TYPE_PLAIN_1_0_0
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_QUEUE_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
_RUN_SECONDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)


_log = logging.getLogger(__name__)


class Metrics:
    """The metrics of a process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "bathysphere_http_requests",
            "HTTP requests.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "bathysphere_http_request_seconds",
            "Time from a request to the start of its response.",
            ["method", "route"],
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self.open_streams = Gauge(
            "bathysphere_open_streams", "Open event streams.", registry=self.registry
        )
        self.runs_ended = Counter(
            "bathysphere_runs_ended",
            "Runs that ended in this process, by status.",
            ["graph", "status"],
            registry=self.registry,
        )
        self.run_seconds = Histogram(
            "bathysphere_run_seconds",
            "Time from the start of a run's last attempt to its end.",
            ["graph"],
            buckets=_RUN_SECONDS,
            registry=self.registry,
        )
        self.takeovers = Counter(
            "bathysphere_takeovers",
            "Runs of dead workers that this process requeued.",
            registry=self.registry,
        )
        self.taken_back = Counter(
            "bathysphere_taken_back",
            "Runs that this worker lost while fetching them, and requeued.",
            registry=self.registry,
        )
        self.adoptions = Counter(
            "bathysphere_adoptions",
            "Runs without a job that this process requeued; more than 0 is a bug.",
            registry=self.registry,
        )
        self.due_times = Counter(
            "bathysphere_cron_due_times",
            "Due times of schedules that this process handled, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.webhooks = Counter(
            "bathysphere_webhooks",
            "Attempts to send a webhook, by outcome; dead ones were given up.",
            ["outcome"],
            registry=self.registry,
        )
        self.push_notices = Counter(
            "bathysphere_push_notices",
            "Push notices by outcome; dropped ones were not needed any more.",
            ["outcome"],
            registry=self.registry,
        )
        self.titles = Counter(
            "bathysphere_titles",
            "Titles of conversations that a model was asked for, by outcome.",
            ["outcome"],
            registry=self.registry,
        )
        self.title_tokens = Counter(
            "bathysphere_title_tokens",
            "Tokens of the model calls for titles, as far as the provider reports them.",
            registry=self.registry,
        )
        self.events_dropped = Counter(
            "bathysphere_events_dropped",
            "Live events that the event log did not accept.",
            registry=self.registry,
        )
        self.dead_letters = Counter(
            "bathysphere_dead_letters",
            "Runs given up because their workers kept dying; `bathysphere runs dead` lists them.",
            registry=self.registry,
        )
        self.threads_expired = Counter(
            "bathysphere_threads_expired",
            "Threads that this process deleted: unused ones, and those of stateless runs.",
            ["kind"],
            registry=self.registry,
        )
        self.queue_wait = Histogram(
            "bathysphere_queue_wait_seconds",
            "Time from the due time of a run to its first start.",
            buckets=_QUEUE_SECONDS,
            registry=self.registry,
        )
        self.loop_lag = Histogram(
            "bathysphere_loop_lag_seconds",
            "How late the event loop was; its rate is the share of time in which it was blocked.",
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self.database_up = Gauge(
            "bathysphere_database_up",
            "Whether PostgreSQL answered at this scrape.",
            registry=self.registry,
        )
        self.runs = Gauge(
            "bathysphere_runs", "Unfinished runs, by status.", ["status"], registry=self.registry
        )
        self.oldest_waiting = Gauge(
            "bathysphere_queue_oldest_seconds",
            "Time since the oldest run that no worker has started could have been started.",
            registry=self.registry,
        )
        self.workers = Gauge(
            "bathysphere_workers",
            "Workers with a heartbeat in the last minute.",
            registry=self.registry,
        )

        self.payment_sessions = Gauge(
            "bathysphere_payments_sessions",
            "Payment sessions that are open or closing.",
            ["status"],
            registry=self.registry,
        )
        self.payment_sats = Gauge(
            "bathysphere_payments_sats",
            "Sats by ledger account, such as held for users, vault, stuck or lost.",
            ["account"],
            registry=self.registry,
        )
        self.payment_refunds = Gauge(
            "bathysphere_payments_refunds_unclaimed",
            "Refunds not yet known to be claimed.",
            registry=self.registry,
        )
        self.payment_imbalance = Gauge(
            "bathysphere_payments_imbalance_sats",
            "Imbalance found by the last audit; alert on any value other than 0.",
            registry=self.registry,
        )
        self.payment_imbalance.set(float("nan"))
        self.payment_audited = Gauge(
            "bathysphere_payments_audit_timestamp_seconds",
            "Time of the last audit; 0 before the first. Alert if it is old.",
            registry=self.registry,
        )
        for kind in ("unused", "stateless", "ttl"):
            self.threads_expired.labels(kind)
        for tick in TickOutcome:
            self.due_times.labels(tick)
        for outcome in ("delivered", "retried", "dead"):
            self.webhooks.labels(outcome)
        for outcome in ("delivered", "retried", "dead", "dropped"):
            self.push_notices.labels(outcome)

    def count_due_time(self, outcome: str) -> None:
        """Count a due time of a schedule."""
        self.due_times.labels(outcome).inc()

    def count_webhook(self, outcome: str) -> None:
        """Count an attempt to send a webhook."""
        self.webhooks.labels(outcome).inc()

    def count_push_notice(self, outcome: str) -> None:
        """Count what became of a push notice."""
        self.push_notices.labels(outcome).inc()

    def count_title(self, outcome: str, tokens: int) -> None:
        """Count a model call for the title of a conversation."""
        self.titles.labels(outcome).inc()
        self.title_tokens.inc(tokens)

    def render(self) -> bytes:
        """Render all metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    def watch_pool(self, pool: Pool) -> None:
        """Show the waits of a connection pool at each scrape."""
        self.registry.register(PoolCollector(pool))

    async def update_queue(self, pool: Pool, *, seconds: float = 2) -> None:
        """Update the metrics of the queue; NaN while the database is unavailable."""
        try:
            async with asyncio.timeout(seconds), pool.connection() as connection:
                rows = await (await connection.execute(_RUNS)).fetchall()
                workers = await (await connection.execute(_WORKERS)).fetchone()
        except (psycopg.Error, PoolTimeout, TimeoutError):
            unknown = float("nan")
            self.runs.labels("pending").set(unknown)
            self.runs.labels("running").set(unknown)
            self.oldest_waiting.set(unknown)
            self.workers.set(unknown)
            self.database_up.set(0)
            return
        self.database_up.set(1)
        found = {row["status"]: row for row in rows}
        for status in ("pending", "running"):
            self.runs.labels(status).set(found[status]["count"] if status in found else 0)
        self.oldest_waiting.set(found["pending"]["oldest"] if "pending" in found else 0)
        self.workers.set(workers["count"] if workers is not None else 0)

    async def update_payments(self, pool: Pool, *, seconds: float = 5) -> None:
        """Update the counts of sessions and refunds; the audit runs on its own schedule."""
        try:
            async with asyncio.timeout(seconds), pool.connection() as connection:
                rows = await (await connection.execute(_SESSIONS)).fetchall()
                refunds = await (await connection.execute(_UNCLAIMED)).fetchone()
        except (psycopg.Error, PoolTimeout, TimeoutError):
            return
        sessions = {row["status"]: row["count"] for row in rows}
        for status in ("open", "closing"):
            self.payment_sessions.labels(status).set(sessions.get(status, 0))
        self.payment_refunds.set(refunds["count"] if refunds is not None else 0)

    async def audit_payments(self, pool: Pool, clock: Clock) -> None:
        """Audit the ledger once and record the result; without a timeout."""
        from bathysphere.payments.ledger.audit import audit  # only if payments are enabled

        books = await audit(pool)
        for account in ("held", "vault", "stuck", "lost", "spent", "withdrawn", "shortfall"):
            self.payment_sats.labels(account).set(getattr(books, account))
        self.payment_imbalance.set(books.imbalance)
        self.payment_audited.set(clock.now().timestamp())
        if books.violations:
            _log.error("Payments audit found violations: %s", books.violations)

    async def audit_periodically(self, pool: Pool, clock: Clock, *, every: float) -> None:
        """Audit periodically, until cancelled. While PostgreSQL is unavailable, the result ages."""
        while True:
            try:
                await self.audit_payments(pool, clock)
            except (psycopg.Error, PoolTimeout) as error:
                _log.warning("Payments audit failed: %s", type(error).__name__)
            await asyncio.sleep(every)


# Runs behind another run of their thread, and runs with a later due time, do not wait for a worker.
_RUNS = """
SELECT run.status, count(*) AS count,
       coalesce(extract(epoch FROM now() - min(greatest(run.created_at, job.scheduled_at))
           FILTER (WHERE run.attempt = 0
             AND coalesce(job.scheduled_at, '-infinity') <= now()
             AND NOT EXISTS (SELECT 1 FROM engine.runs before
                              WHERE before.thread_id = run.thread_id AND before.seq < run.seq
                                AND before.status IN ('pending', 'running')))), 0)::float AS oldest
  FROM engine.runs run LEFT JOIN procrastinate_jobs job ON job.id = run.job_id
 WHERE run.status IN ('pending', 'running') GROUP BY run.status
"""
_WORKERS = """
SELECT count(*) AS count FROM procrastinate_workers
 WHERE last_heartbeat > now() - interval '1 minute'
"""
_SESSIONS = """
SELECT status, count(*) AS count FROM payments.sessions WHERE status <> 'closed' GROUP BY status
"""
_UNCLAIMED = "SELECT count(*) AS count FROM payments.refunds WHERE status <> 'claimed'"
