"""How fast a worker deletes expired threads, and what runs cost meanwhile.

One database with 100,000 expired threads (`--threads`), ten runs per thread on average (see
`dataset.py`), an API process and a worker process with the settings and the Redis of production.
Runs are created at a steady rate from beginning to end. By turns the worker deletes a slice of the
threads at its own pace, and waits for about as long. A run that was active at any moment of a slice
counts as one beside the deletion. It ends when no expired thread is found. Last line: JSON;
`per_second` counts the time of the slices only. The goal is at least 200 per second and a
`run_p99_ratio` of at most 1.2.
"""

import argparse
import asyncio
import contextlib
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import psycopg
from dataset import Template, fill
from threads import make_templates

from bathysphere.engine.database.pool import Database, Pool
from bathysphere.engine.events.log import EventLog
from bathysphere.engine.graphs import Graphs
from bathysphere.server.observability.measured import MeasuredThreads
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.assembly import service_options, worker_of
from bathysphere.server.process.database import database_of, migrate_database
from bathysphere.server.process.garbage import reduce_collections
from bathysphere.server.process.services import open_services
from bathysphere.server.process.settings import ServerSettings

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

from rig import HELLO, Client, graphs, own_database, own_redis, served

SLICES = 10
MAX_SLICE = 2000
MIN_QUIET, MAX_QUIET = 3.0, 20.0
WARM_SECONDS = 5.0
PROGRESS_SECONDS = 15.0


# ── the worker's process ──


class SlicedThreads(MeasuredThreads):
    """Deletes a slice of the expired threads whenever it is told to, and prints how many."""

    def __init__(self, pool: Pool, events: EventLog, *, metrics: Metrics, size: int) -> None:
        super().__init__(pool, events, metrics=metrics)
        self._size = size
        self.turns = asyncio.Semaphore(0)

    async def delete_expired(self, *, limit: int = 1000) -> list[UUID]:
        await self.turns.acquire()
        deleted: list[UUID] = []
        try:
            deleted = await super().delete_expired(limit=min(limit, self._size))
        finally:
            print(len(deleted), flush=True)
        return deleted


async def work(url: str, redis: str, size: int) -> None:
    """Execute runs, and delete a slice for every line read, until the input ends."""
    settings = ServerSettings(database_url=url, redis_url=redis)
    database = database_of(settings, with_worker=True)
    options = service_options(settings)
    async with open_services(database=database, graphs=Graphs(graphs()), **options) as services:
        metrics = Metrics()
        threads = SlicedThreads(services.pool, services.events, metrics=metrics, size=size)
        worker = await worker_of(replace(services, threads=threads), settings, metrics)
        working = asyncio.create_task(worker.run())
        reduce_collections()
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            threads.turns.release()
        worker.drain()
        await working


class Sweeper:
    """The worker's process, and when it has deleted."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.spans: list[tuple[float, float]] = []
        self.deleted = 0

    @property
    def seconds(self) -> float:
        return sum(end - began for began, end in self.spans)

    async def delete_slice(self) -> int:
        """Have a slice deleted; return how many threads that were."""
        began = time.perf_counter()
        self._process.stdin.write(b"delete\n")
        count = int(await self.answer())
        if count:
            self.spans.append((began, time.perf_counter()))
            self.deleted += count
        return count

    async def answer(self) -> str:
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("The worker has ended")
        return line.decode().strip()


@asynccontextmanager
async def open_sweeper(database: str, redis: str, *, size: int) -> AsyncIterator[Sweeper]:
    command = ["-W", "ignore", __file__, "--worker", database, redis, "--slice", str(size)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=PIPE, stdout=PIPE
    )
    try:
        sweeper = Sweeper(process)
        await sweeper.answer()
        yield sweeper
    finally:
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 60)
        except TimeoutError:
            process.kill()
            await process.wait()


# ── the database ──


async def fill_expired(database: str, redis: str, *, threads: int) -> None:
    await migrate_database(Database(url=database))
    templates = await make_templates(database, redis)
    began = time.perf_counter()
    async with printing_size(database):
        await asyncio.to_thread(fill, database, templates, threads=threads)
        await asyncio.to_thread(expire, database, templates)
    print(f"{threads} threads in {time.perf_counter() - began:.0f} s", flush=True)


def expire(database: str, templates: Sequence[Template]) -> None:
    """Have every thread but the templates expire at the time of its last use."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(
            "UPDATE engine.threads SET ttl_minutes = 1, expires_at = updated_at"
            " WHERE thread_id <> ALL (%s::uuid[])",
            ([template.thread_id for template in templates],),
        )
        connection.execute("VACUUM ANALYZE engine.threads")
        connection.execute("CHECKPOINT")


def count_expired(database: str) -> int:
    with psycopg.connect(database) as connection:
        query = "SELECT count(*) FROM engine.threads WHERE expires_at <= now()"
        return connection.execute(query).fetchone()[0]


@asynccontextmanager
async def printing_size(database: str) -> AsyncIterator[None]:
    """Print the size of the database now and then."""

    async def print_size() -> None:
        began = time.perf_counter()
        while True:
            await asyncio.sleep(PROGRESS_SECONDS)
            megabytes = await asyncio.to_thread(database_size, database) / 2**20
            spent = time.perf_counter() - began
            print(f"Filling: {megabytes:.0f} MB after {spent:.0f} s", flush=True)

    task = asyncio.create_task(print_size())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def database_size(database: str) -> int:
    with psycopg.connect(database) as connection:
        query = "SELECT pg_database_size(current_database())"
        return connection.execute(query).fetchone()[0]


# ── the runs ──


class Run(NamedTuple):
    """When a run was created, and when its end was known."""

    began: float
    end: float

    def overlaps(self, spans: Sequence[tuple[float, float]]) -> bool:
        return any(self.began < end and began < self.end for began, end in spans)


class Load:
    """Runs that are created at a steady rate, whether the ones before have ended or not."""

    def __init__(self, port: int, *, rate: float) -> None:
        self._port = port
        self._rate = rate
        self.runs: list[Run] = []
        self.is_over = False

    async def create_runs(self) -> None:
        began = time.perf_counter()
        number = 0
        async with asyncio.TaskGroup() as group:
            while not self.is_over:
                group.create_task(self._run())
                number += 1
                await asyncio.sleep(max(0, began + number / self._rate - time.perf_counter()))

    async def _run(self) -> None:
        body = {"assistant_id": "steps", "input": HELLO, "if_not_exists": "create"}
        async with Client(self._port) as client:
            began = time.perf_counter()
            values = await client.post(f"/threads/{uuid4()}/runs/wait", body)
            self.runs.append(Run(began, time.perf_counter()))
        assert values["messages"][-1]["content"] == "the sum is 3", values


@asynccontextmanager
async def running(load: Load) -> AsyncIterator[None]:
    """Create runs meanwhile, and wait for their ends; an error ends the measurement."""
    async with asyncio.TaskGroup() as group:
        group.create_task(load.create_runs())
        yield
        load.is_over = True


# ── the measurement ──


async def measure(load: Load, sweeper: Sweeper) -> None:
    """Let the worker delete and wait by turns until no thread is left."""
    async with running(load):
        await asyncio.sleep(WARM_SECONDS)
        load.runs.clear()
        quiet = MIN_QUIET
        while True:
            await asyncio.sleep(quiet)
            if not await sweeper.delete_slice():
                return
            began, end = sweeper.spans[-1]
            quiet = min(max(end - began, MIN_QUIET), MAX_QUIET)
            speed = sweeper.deleted / sweeper.seconds
            print(f"{sweeper.deleted} deleted, {speed:.0f}/s", flush=True)


def report(load: Load, sweeper: Sweeper, *, left: int) -> dict[str, Any]:
    beside = [run for run in load.runs if run.overlaps(sweeper.spans)]
    quiet = [run for run in load.runs if not run.overlaps(sweeper.spans)]
    p99_quiet, p99_deleting = percentile(quiet, 0.99), percentile(beside, 0.99)
    has_both = p99_quiet is not None and p99_deleting is not None
    return {
        "threads": sweeper.deleted,
        "seconds": round(sweeper.seconds, 1),
        "per_second": round(sweeper.deleted / sweeper.seconds) if sweeper.spans else 0,
        "runs_quiet": len(quiet),
        "runs_deleting": len(beside),
        "run_p50_ms_quiet": percentile(quiet, 0.5),
        "run_p50_ms_deleting": percentile(beside, 0.5),
        "run_p99_ms_quiet": p99_quiet,
        "run_p99_ms_deleting": p99_deleting,
        "run_p99_ratio": round(p99_deleting / p99_quiet, 2) if has_both else None,
        "left": left,
        "load": round(os.getloadavg()[0], 1),
    }


def percentile(runs: Sequence[Run], share: float) -> float | None:
    times = sorted(run.end - run.began for run in runs)
    return round(times[int(share * (len(times) - 1))] * 1000, 1) if times else None


async def run(options: argparse.Namespace) -> dict[str, Any]:
    size = min(MAX_SLICE, max(1, options.threads // SLICES))
    async with AsyncExitStack() as stack:
        redis = stack.enter_context(own_redis())
        database = stack.enter_context(own_database())
        await fill_expired(database, redis, threads=options.threads)
        server = stack.enter_context(served(database, redis, works=False))
        sweeper = await stack.enter_async_context(open_sweeper(database, redis, size=size))
        load = Load(server.port, rate=options.rate)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(options.seconds):
                await measure(load, sweeper)
        return report(load, sweeper, left=count_expired(database))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=5, help="runs per second")
    parser.add_argument("--seconds", type=float, default=5400, help="end at the latest after")
    parser.add_argument("--worker", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--slice", type=int, default=MAX_SLICE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        asyncio.run(work(*options.worker, options.slice))
        return 0
    figures = asyncio.run(run(options))
    print(json.dumps(figures))
    return 0 if figures["left"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
