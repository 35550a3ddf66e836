"""An engine on real PostgreSQL and Redis, with workers in this process or in their own."""

import asyncio
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from engine_graphs import graphs
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

from bathysphere.core.clock import SystemClock
from bathysphere.engine.attempts import Attempts
from bathysphere.engine.database import Database, Pool, open_pool
from bathysphere.engine.events import Entry, EventLog, MemoryEventLog
from bathysphere.engine.execution import Executor, Limits
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.queue import Queue
from bathysphere.engine.records import Owner, Run, Work
from bathysphere.engine.runs import NewRun, Runs
from bathysphere.engine.schema import migrate
from bathysphere.engine.worker import Pace, Worker

SERVER = "postgresql://root@127.0.0.1:5432"
REDIS = "redis://127.0.0.1:6379/0"
ALICE = Owner(tenant="alice", user="alice@a")
BOB = Owner(tenant="bob", user="bob@b")
QUICK = Pace(
    concurrency=4,
    beat_seconds=0.5,
    stalled_after=3.0,
    reap_seconds=0.5,
    adopt_seconds=1.0,
    poll_seconds=0.5,
    drain_seconds=10,
)
WORKER = "engine_worker"
END_EVENTS = ("completed", "failed", "interrupted", "cancelled")


@contextmanager
def own_database(server: str = SERVER) -> Iterator[Database]:
    """A migrated database of a name of its own, dropped at the end."""
    name = f"engine_test_{secrets.token_hex(6)}"
    with psycopg.connect(f"{server}/test", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    database = Database(url=f"{server}/{name}", max_size=8)
    try:
        asyncio.run(migrate(database))
        with psycopg.connect(database.url, autocommit=True) as connection:
            connection.execute(
                "CREATE TABLE journal (id bigserial, thread text, what text, pid int,"
                " at timestamptz DEFAULT clock_timestamp())"
            )
        yield database
    finally:
        with psycopg.connect(f"{server}/test", autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def clean(database: Database) -> None:
    """Leave the tables empty for the next test."""
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(
            "TRUNCATE engine.threads, procrastinate_jobs, procrastinate_workers, journal,"
            " checkpoints, checkpoint_blobs, checkpoint_writes CASCADE"
        )


class Rig:
    """What an API process has, plus ways to start workers and to look behind the curtain."""

    def __init__(self, database: Database, pool: Pool, log: EventLog) -> None:
        self.database = database
        self.pool = pool
        self.log = log
        self.clock = SystemClock()
        self.queue = Queue(pool, database=database, clock=self.clock)
        self.runs = Runs(pool, self.queue, log=log, clock=self.clock)
        self.attempts = Attempts(pool)
        self.graphs = Graphs(graphs(database.url))

    def worker(self, *, pace: Pace = QUICK, limits: Limits | None = None, **options: Any) -> Worker:
        queue = Queue(self.pool, database=self.database, clock=self.clock)
        executor = Executor(
            pool=self.pool,
            graphs=options.pop("graphs", self.graphs),
            log=self.log,
            clock=self.clock,
            limits=limits or Limits(retry_seconds=0.05),
            **options,
        )
        return Worker(
            database=self.database, queue=queue, executor=executor, clock=self.clock, pace=pace
        )

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[Worker]:
        """A worker in this process, drained at the end."""
        worker = self.worker(**options)
        await worker._queue.open()
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
        """The run, when it is over."""
        async with asyncio.timeout(seconds):
            while not (now := await self.runs.get(run.run_id, owner=run.owner)).is_over:  # noqa: ASYNC110  # another process changes it
                await asyncio.sleep(0.02)
        return now

    async def running(self, run: Run, *, seconds: float = 20) -> Run:
        """The run, when a worker has it."""
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
        """What was executed, in order, each time it was."""
        async with self.pool.connection() as connection:
            rows = await (
                await connection.execute(
                    "SELECT what FROM journal WHERE thread = %s ORDER BY id", (str(thread_id),)
                )
            ).fetchall()
        return [row["what"] for row in rows]

    async def executed_by(self, pid: int, thread_id: UUID) -> list[str]:
        """What one process executed."""
        async with self.pool.connection() as connection:
            rows = await (
                await connection.execute(
                    "SELECT what FROM journal WHERE thread = %s AND pid = %s ORDER BY id",
                    (str(thread_id), pid),
                )
            ).fetchall()
        return [row["what"] for row in rows]

    async def cut_workers_off(self) -> None:
        """End every connection of every worker process, as a restarting PostgreSQL does."""
        async with self.pool.connection() as connection:
            await connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = %s",
                (WORKER,),
            )

    async def in_journal(self, thread_id: UUID, what: str, *, seconds: float = 20) -> int:
        """Wait until something was executed; return the process that did it."""
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
            async for entry in self.log.read(run.thread_id):
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
async def open_rig(database: Database, log: EventLog | None = None) -> AsyncIterator[Rig]:
    async with open_pool(database) as pool:
        rig = Rig(database, pool, log or MemoryEventLog(clock=SystemClock()))
        await rig.queue.open()
        yield rig


class Nursery:
    """Where worker processes come from."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("worker_process.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)

    def start(
        self,
        database: Database,
        *,
        pace: Pace = QUICK,
        redis: str = REDIS,
        world: str | None = None,
    ) -> "WorkerProcess":
        """A worker; `world` is where its graphs leave their traces, if not through the database."""
        url = f"{database.url}?application_name={WORKER}"
        options = {
            "database_url": url,
            "world_url": world or url,
            "redis_url": redis,
            "pace": asdict(pace),
        }
        answer = self._ask({"start": options})
        assert answer.startswith("ready "), f"the worker did not start: {answer!r}"
        return WorkerProcess(self, int(answer.split()[1]))

    def serve(self, database: Database, *, redis: str = REDIS) -> "ApiProcess":
        """An API process."""
        options = {"database_url": f"{database.url}?application_name=api", "redis_url": redis}
        answer = self._ask({"serve": options})
        assert answer.startswith("ready "), f"the API did not start: {answer!r}"
        _, pid, port = answer.split()
        return ApiProcess(self, int(pid), int(port))

    def wait(self, pid: int) -> int:
        return int(self._ask({"wait": pid}))

    def _ask(self, request: dict[str, Any]) -> str:
        self._process.stdin.write(json.dumps(request) + "\n")
        return self._process.stdout.readline().strip()

    @contextmanager
    def workers(
        self, database: Database, count: int, **options: Any
    ) -> Iterator[list["WorkerProcess"]]:
        """Several workers, none left at the end."""
        processes: list[WorkerProcess] = []
        try:
            processes += [self.start(database, **options) for _ in range(count)]
            yield processes
        finally:
            for process in processes:
                process.end()


class WorkerProcess:
    """A worker in a process of its own, to be killed."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid
        self.is_over = False

    def send(self, which: signal.Signals) -> None:
        os.kill(self.pid, which)

    def kill(self) -> int:
        self.send(signal.SIGKILL)
        return self._reap()

    def drain(self) -> int:
        self.send(signal.SIGTERM)
        return self._reap()

    def end(self) -> None:
        """Whatever state it is in."""
        if not self.is_over:
            self.kill()

    def _reap(self) -> int:
        self.is_over = True
        return self._nursery.wait(self.pid)


class ApiProcess(WorkerProcess):
    """An API in a process of its own, to be killed."""

    def __init__(self, nursery: Nursery, pid: int, port: int) -> None:
        super().__init__(nursery, pid)
        self.address = f"http://127.0.0.1:{port}"
