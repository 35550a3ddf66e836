"""An engine on real PostgreSQL and Redis, with workers in this process or in separate ones."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from engine_graphs import GraphSet, known_graphs
from engine_graphs import graphs as own_graphs
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from own_services import RigLost

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.events.log import Entry
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Run, Work
from bathysphere.engine.runs.attempts import Attempts
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.service import NewRun
from bathysphere.engine.runs.worker import Worker, WorkerOptions
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.database import migrate_database
from bathysphere.server.process.deliveries import PushOptions, WebhookOptions
from bathysphere.server.process.services import (
    Services,
    open_services,
    open_worker,
)
from bathysphere.testing.postgres import SERVER, temporary_database

REDIS = "redis://127.0.0.1:6379/0"
ALICE = Owner(tenant="alice", user="alice@a")
BOB = Owner(tenant="bob", user="bob@b")
QUICK = WorkerOptions(
    concurrency=4,
    beat_seconds=0.5,
    stalled_after=3.0,
    recovery_seconds=0.5,
    orphan_seconds=1.0,
    poll_seconds=0.5,
    drain_seconds=10,
)
QUICK_LIMITS = Limits(retry_seconds=0.05)
MANY_LOSSES = Limits(attempts=50, losses=50, retry_seconds=0.3)
"""For campaigns that kill more workers than a run may lose."""
WORKER = "engine_worker"
ANSWER_SECONDS = 60  # for a process to be ready or to be gone; it gives up by itself before
END_EVENTS = ("completed", "failed", "interrupted", "cancelled")


@contextmanager
def own_database(server: str = SERVER) -> Iterator[Database]:
    """Create a migrated database with a unique name, and drop it at the end."""
    with temporary_database("engine_test", server=server) as url:
        database = Database(url=url, max_size=8)
        asyncio.run(migrate_database(database))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE journal (id bigserial, thread text, what text, pid int,"
                " at timestamptz DEFAULT clock_timestamp())"
            )
        yield database


def clean(database: Database) -> None:
    """Empty the tables for the next test."""
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(
            "TRUNCATE engine.threads, procrastinate_jobs, procrastinate_workers, journal,"
            " engine.worker_slots,"
            " engine.turns, engine.assistants, engine.usage, engine.model_calls,"
            " engine.push_subscriptions, engine.cell_tenants, engine.cell_arrivals,"
            " engine.file_changes, store, engine.budgets, identity.api_keys, checkpoints,"
            " checkpoint_blobs, checkpoint_writes CASCADE"
        )


class Rig:
    """The services of an API process, plus ways to start workers and inspect internals."""

    def __init__(self, services: Services, factories: dict[str, Any]) -> None:
        self.services = services
        self.database = services.database
        self.pool = services.pool
        self.log = services.events
        self.queue = services.queue
        self.runs = services.runs
        self.answers = services.answers
        self.threads = services.threads
        self.graphs = services.graphs
        self.factories = factories
        """By name; a test may add a graph of its own."""
        self.attempts = Attempts(services.pool)

    @asynccontextmanager
    async def working(
        self, *, options: WorkerOptions = QUICK, limits: Limits = QUICK_LIMITS
    ) -> AsyncIterator[Worker]:
        """Run a worker in this process, and drain it at the end.

        Like in production, but with shorter intervals: a test must not wait 5 s per takeover.
        """
        worker = await open_worker(self.services, metrics=Metrics(), limits=limits, options=options)
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            worker.drain()
            await task

    async def start(
        self, thread_id: UUID, graph: str, *, owner: Owner = ALICE, **options: Any
    ) -> Run:
        work = options.pop("work", None) or Work(input=options.pop("input", None))
        new = NewRun(thread_id=thread_id, graph=graph, work=work, **options)
        return (await self.runs.create(new, owner=owner)).run

    async def ended(self, run: Run, *, seconds: float = 20) -> Run:
        """Wait until the run has ended, and return it."""
        async with asyncio.timeout(seconds):
            while not (now := await self.runs.get(run.run_id, owner=run.owner)).is_over:  # noqa: ASYNC110  # another process changes it
                await asyncio.sleep(0.02)
        return now

    async def running(self, run: Run, *, seconds: float = 20) -> Run:
        """Wait until a worker has the run, and return it."""
        async with asyncio.timeout(seconds):
            while (now := await self.runs.get(run.run_id, owner=run.owner)).status == "pending":  # noqa: ASYNC110  # another process changes it
                await asyncio.sleep(0.02)
        return now

    async def state(self, thread_id: UUID, graph: str = "steps") -> Any:
        """The thread's state."""
        bound = self.graphs.bind(graph, checkpointer=AsyncPostgresSaver(self.pool))
        return await bound.aget_state({"configurable": {"thread_id": str(thread_id)}})

    async def items(self, thread_id: UUID, graph: str = "steps") -> list[str]:
        return (await self.state(thread_id, graph)).values.get("items", [])

    async def journal(self, thread_id: UUID) -> list[str]:
        """Everything that was executed, in order, including repetitions."""
        async with self.pool.connection() as connection:
            rows = await (
                await connection.execute(
                    "SELECT what FROM journal WHERE thread = %s ORDER BY id", (str(thread_id),)
                )
            ).fetchall()
        return [row["what"] for row in rows]

    async def executed_by(self, pid: int, thread_id: UUID) -> list[str]:
        """Everything that one process executed."""
        async with self.pool.connection() as connection:
            rows = await (
                await connection.execute(
                    "SELECT what FROM journal WHERE thread = %s AND pid = %s ORDER BY id",
                    (str(thread_id), pid),
                )
            ).fetchall()
        return [row["what"] for row in rows]

    async def cut_workers_off(self) -> None:
        """End every connection of every worker process, like a restarting PostgreSQL."""
        async with self.pool.connection() as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = %s",
                (WORKER,),
            )

    async def in_journal(self, thread_id: UUID, what: str, *, seconds: float = 20) -> int:
        """Wait until something was executed; return the pid that did it."""
        async with asyncio.timeout(seconds), self.pool.connection() as connection:
            while True:
                row = await (
                    await connection.execute(
                        "SELECT pid FROM journal WHERE thread = %s AND what = %s ORDER BY id DESC",
                        (str(thread_id), what),
                    )
                ).fetchone()
                if row is not None:
                    return row["pid"]
                await asyncio.sleep(0.02)

    async def events(self, run: Run, *, seconds: float = 20) -> list[Entry]:
        """The run's events up to its end."""
        entries = []
        async with asyncio.timeout(seconds):
            async for entry in self.log.read(run.thread_id, owner=run.owner):
                if not isinstance(entry, Entry):
                    continue
                event = entry.event()
                if event.run_id != str(run.run_id):
                    continue
                entries.append(entry)
                if event.channel == "lifecycle" and event.data["event"] in END_EVENTS:
                    break
        return entries


@asynccontextmanager
async def open_rig(
    database: Database,
    *,
    redis_url: str | None = None,
    webhooks: WebhookOptions | None = None,
    push: PushOptions | None = None,
    graphs: GraphSet = "own",
) -> AsyncIterator[Rig]:
    """Open the services of an API process, with events in memory or in Redis."""
    factories = own_graphs(database.url)
    known = Graphs(factories) if graphs == "own" else known_graphs(graphs, database.url)
    async with open_services(
        database=database, graphs=known, redis_url=redis_url, webhooks=webhooks, push=push
    ) as services:
        yield Rig(services, factories)


class Nursery:
    """Forks worker and API processes, if asked with changed environment variables."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        script = Path(__file__).with_name("worker_process.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **(environment or {})},
        )

    def close(self) -> None:
        """End the nursery and all processes that it started."""
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)

    def start(
        self,
        database: Database,
        *,
        worker: WorkerOptions = QUICK,
        redis: str = REDIS,
        world: str | None = None,
        start_seconds: float = 30,
        webhooks: dict[str, Any] | None = None,
        push: dict[str, Any] | None = None,
        graphs: GraphSet = "own",
        limits: Limits = MANY_LOSSES,
    ) -> "WorkerProcess":
        """Start a worker; `world` is the database of its journal, if not the same one.

        Fails if it is not ready within `start_seconds`.
        """
        url = f"{database.url}?application_name={WORKER}"
        options = {
            "database_url": url,
            "world_url": world or url,
            "redis_url": redis,
            "worker": asdict(worker),
            "webhooks": webhooks,
            "push": push,
            "graphs": graphs,
            "limits": asdict(limits),
            "start_seconds": start_seconds,
        }
        answer = self._ask({"start": options})
        assert answer.startswith("ready "), f"the worker did not start: {answer!r}"
        return WorkerProcess(self, int(answer.split()[1]))

    def serve(
        self, database: Database, *, redis: str = REDIS, graphs: GraphSet = "own"
    ) -> "ApiProcess":
        """Start an API process."""
        options = {
            "database_url": f"{database.url}?application_name=api",
            "redis_url": redis,
            "graphs": graphs,
            "start_seconds": 30,
        }
        answer = self._ask({"serve": options})
        assert answer.startswith("ready "), f"the API did not start: {answer!r}"
        _, pid, port = answer.split()
        return ApiProcess(self, int(pid), int(port))

    def schedule(self, database: Database, *, poll_seconds: float) -> "WorkerProcess":
        """Start a scheduler, on the clock of `moved_clock.py`."""
        options = {
            "database_url": f"{database.url}?application_name=scheduler",
            "poll_seconds": poll_seconds,
            "start_seconds": 30,
        }
        answer = self._ask({"schedule": options})
        assert answer.startswith("ready "), f"the scheduler did not start: {answer!r}"
        return WorkerProcess(self, int(answer.split()[1]))

    def wait(self, pid: int) -> int:
        return int(self._ask({"wait": pid}))

    def _ask(self, request: dict[str, Any]) -> str:
        self._process.stdin.write(json.dumps(request) + "\n")
        # One request, one line: nothing is left in the buffer that `select` could not see.
        readable, _, _ = select.select([self._process.stdout], [], [], ANSWER_SECONDS)
        if not readable:
            raise RigLost(f"the nursery does not answer: {json.dumps(request)[:500]}")
        return self._process.stdout.readline().strip()

    @contextmanager
    def workers(
        self, database: Database, count: int, **options: Any
    ) -> Iterator[list["WorkerProcess"]]:
        """Start several workers, and end them all at the end."""
        processes: list[WorkerProcess] = []
        try:
            processes += [self.start(database, **options) for _ in range(count)]
            yield processes
        finally:
            for process in processes:
                process.end()


class WorkerProcess:
    """A worker in a separate process, to be killed."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid
        self.is_over = False

    def send(self, which: signal.Signals) -> None:
        os.kill(self.pid, which)

    def is_dead(self) -> bool:
        """Whether it has ended by itself, and `reap` would not wait."""
        stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8")
        return stat.rsplit(")", 1)[1].split()[0] == "Z"

    def kill(self) -> int:
        self.send(signal.SIGKILL)
        return self.reap()

    def drain(self) -> int:
        self.send(signal.SIGTERM)
        return self.reap()

    def end(self) -> None:
        """End the process, whatever state it is in."""
        if not self.is_over:
            self.kill()

    def reap(self) -> int:
        """Wait for its end; return its exit code."""
        self.is_over = True
        return self._nursery.wait(self.pid)


class ApiProcess(WorkerProcess):
    """An API in a separate process, to be killed."""

    def __init__(self, nursery: Nursery, pid: int, port: int) -> None:
        super().__init__(nursery, pid)
        self.address = f"http://127.0.0.1:{port}"
