"""What Prometheus asks for: requests, streams, runs and the queue.

A process has one `Metrics`. Figures about the queue are the same in every process (they come from
the database when asked), so take their maximum over processes and not their sum.
"""

import asyncio

import psycopg
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_1_0_0
from psycopg_pool import PoolTimeout

from bathysphere.engine.database import Pool

CONTENT_TYPE = CONTENT_TYPE_PLAIN_1_0_0
_REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_RUN_SECONDS = (0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600)


class Metrics:
    """The figures of a process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "bathysphere_http_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "bathysphere_http_request_seconds",
            "From a request to the start of its answer.",
            ["method", "route"],
            buckets=_REQUEST_SECONDS,
            registry=self.registry,
        )
        self.open_streams = Gauge(
            "bathysphere_open_streams", "Event streams now open.", registry=self.registry
        )
        self.runs_ended = Counter(
            "bathysphere_runs_ended",
            "Runs that this process ended, by how.",
            ["graph", "status"],
            registry=self.registry,
        )
        self.run_seconds = Histogram(
            "bathysphere_run_seconds",
            "From the start of a run's last attempt to its end.",
            ["graph"],
            buckets=_RUN_SECONDS,
            registry=self.registry,
        )
        self.takeovers = Counter(
            "bathysphere_takeovers",
            "Runs of dead workers that this process put back into the queue.",
            registry=self.registry,
        )
        self.runs = Gauge(
            "bathysphere_runs", "Runs that are not over.", ["status"], registry=self.registry
        )
        self.oldest_waiting = Gauge(
            "bathysphere_queue_oldest_seconds",
            "How long the oldest waiting run has waited.",
            registry=self.registry,
        )
        self.workers = Gauge(
            "bathysphere_workers", "Workers heard of in the last minute.", registry=self.registry
        )

        self.payment_sessions = Gauge(
            "bathysphere_payments_sessions",
            "Payment sessions that are not closed.",
            ["status"],
            registry=self.registry,
        )
        self.payment_sats = Gauge(
            "bathysphere_payments_sats",
            "Sats by account of the ledger: held for people, in the vault, stuck, lost.",
            ["account"],
            registry=self.registry,
        )
        self.payment_refunds = Gauge(
            "bathysphere_payments_refunds_unclaimed",
            "Refunds that nobody is known to have taken.",
            registry=self.registry,
        )
        self.payment_imbalance = Gauge(
            "bathysphere_payments_imbalance_sats",
            "What the last audit found to be wrong; anything but 0 is an alarm.",
            registry=self.registry,
        )

    def render(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self.registry)

    async def look_at_queue(self, pool: Pool, *, seconds: float = 2) -> None:
        """Bring the queue's figures up to date; those of a database that is away are NaN."""
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
            return
        found = {row["status"]: row for row in rows}
        for status in ("pending", "running"):
            self.runs.labels(status).set(found[status]["count"] if status in found else 0)
        self.oldest_waiting.set(found["pending"]["oldest"] if "pending" in found else 0)
        self.workers.set(workers["count"] if workers is not None else 0)

    async def look_at_payments(self, pool: Pool, *, seconds: float = 5) -> None:
        """Bring the ledger's figures up to date; those of a database that is away are NaN."""
        from bathysphere.payments.ledger.audit import audit  # only where payment is on

        try:
            async with asyncio.timeout(seconds), pool.connection() as connection:
                rows = await (await connection.execute(_SESSIONS)).fetchall()
                refunds = await (await connection.execute(_UNCLAIMED)).fetchone()
            async with asyncio.timeout(seconds):
                books = await audit(pool)
        except (psycopg.Error, PoolTimeout, TimeoutError):
            self.payment_imbalance.set(float("nan"))
            return
        sessions = {row["status"]: row["count"] for row in rows}
        for status in ("open", "closing"):
            self.payment_sessions.labels(status).set(sessions.get(status, 0))
        for account in ("held", "vault", "stuck", "lost", "spent"):
            self.payment_sats.labels(account).set(getattr(books, account))
        self.payment_refunds.set(refunds["count"] if refunds is not None else 0)
        self.payment_imbalance.set(books.imbalance)


_RUNS = """
SELECT status, count(*) AS count, extract(epoch FROM now() - min(created_at))::float AS oldest
  FROM engine.runs WHERE status IN ('pending', 'running') GROUP BY status
"""
_WORKERS = """
SELECT count(*) AS count FROM procrastinate_workers
 WHERE last_heartbeat > now() - interval '1 minute'
"""
_SESSIONS = """
SELECT status, count(*) AS count FROM payments.sessions WHERE status <> 'closed' GROUP BY status
"""
_UNCLAIMED = "SELECT count(*) AS count FROM payments.refunds WHERE status <> 'claimed'"
