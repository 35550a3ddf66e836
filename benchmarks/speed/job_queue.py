"""What the queue costs per served run: claims, statements, commits, rows, PostgreSQL's CPU.

Three-step runs (those of `engine.py`) arrive over HTTP at an even rate, at 1, 8 and 32 workers
with the settings and the Redis of production. The API has its own process; the workers share this
one, each with its own pool, queue and listener. PostgreSQL is one of its own, which counts
statements (`pg_stat_statements`); those inside a function are not counted.

A fetch is one execution of the claim statement, as PostgreSQL counts it. The workers tell what
caused it:

- `next`: the worker has just claimed a run and looks for another;
- `notify`: PostgreSQL notified the worker;
- `nudge`: all workers are told, by one that could not take a job or that ends;
- `poll`: it is the worker's turn to look, although it has heard nothing.

All of them are in `fetches_per_run`, so it depends on the rate: polls are per second, not per run.
The same workers without runs are measured after each round. The `idle` figures are that rate over
the time of the round: how much of a figure the processes would have used anyway. On a machine that
is too busy the workers are slow to fetch and join notifications: then a lower `--rate` shows more
fetches. Last line: JSON; what is not told by number of workers is of the first of them.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import uvloop
from engine import run_served
from rig import Client, backends_cpu, graphs, own_redis, raise_open_files, served, stop_cleanly

from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.worker import Worker
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.assembly import service_options, worker_of
from bathysphere.server.process.database import database_of
from bathysphere.server.process.services import open_services
from bathysphere.server.process.settings import ServerSettings

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "faults"))

from own_services import own_postgres

CLAIM = "engine.claim_job"
CAUSES = ("next", "notify", "nudge", "poll")
CLIENTS = 32
SETTLE_SECONDS = 11.0  # idle backends report their statistics after ten seconds
NUDGE_SECONDS = 0.5  # the nudges after the last run belong to it
EXTENSION = "create extension pg_stat_statements"
CALLS = """
select query, sum(calls)::bigint
  from pg_stat_statements(true) s join pg_database d on d.oid = s.dbid
 where d.datname = 'test' group by query
"""
COMMITS = "select xact_commit from pg_stat_database where datname = 'test'"
EVENTS = "select n_tup_ins from pg_stat_user_tables where relname = 'procrastinate_events'"


# ── what causes a fetch ──


class Fetches:
    """Counts the claims of all workers by their causes."""

    def __init__(self) -> None:
        self.by_cause: Counter[str] = Counter()
        self.empty = 0

    def watch(self, worker: Worker) -> None:
        """Count a worker's claims; call this before it runs."""
        jobs = worker._queue.app.job_manager
        connector = worker._queue.app.connector
        execute, fetch, listen = (
            connector.execute_query_one_async,
            jobs.fetch_job,
            jobs.listen_for_jobs,
        )
        has_claimed, woken_by = False, None

        async def count(query: str, **arguments: Any) -> Any:
            row = await execute(query, **arguments)
            if CLAIM in query:
                self.by_cause["next" if has_claimed else woken_by or "poll"] += 1
                self.empty += row["id"] is None
            return row

        async def claim(**arguments: Any) -> Any:
            nonlocal has_claimed, woken_by
            job = await fetch(**arguments)
            # Procrastinate drops notifications that arrive while it is fetching.
            has_claimed, woken_by = job is not None, None
            return job

        async def hear(*, on_notification: Any, **arguments: Any) -> None:
            async def note(*, channel: str, notification: Any) -> None:
                nonlocal woken_by
                if notification["type"] == "job_inserted":
                    woken_by = woken_by or ("notify" if notification["job_id"] else "nudge")
                await on_notification(channel=channel, notification=notification)

            await listen(on_notification=note, **arguments)

        connector.execute_query_one_async = count
        jobs.fetch_job, jobs.listen_for_jobs = claim, hear


# ── workers ──


@asynccontextmanager
async def working(url: str, redis: str, count: int) -> AsyncIterator[Fetches]:
    """Run workers in this process, wired like those of `bathysphere worker`."""
    fetches = Fetches()
    settings = ServerSettings(database_url=url, redis_url=redis)
    async with AsyncExitStack() as stack:
        workers = [await open_one(stack, settings) for _ in range(count)]
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                fetches.watch(worker)
                group.create_task(worker.run())
            yield fetches
            for worker in workers:
                worker.drain()


async def open_one(stack: AsyncExitStack, settings: ServerSettings) -> Worker:
    services = await stack.enter_async_context(
        open_services(
            database=database_of(settings, with_worker=True),
            graphs=Graphs(graphs()),
            **service_options(settings),
        )
    )
    return await worker_of(services, settings, Metrics())


# ── what PostgreSQL counts ──


class Counts(NamedTuple):
    """What PostgreSQL has counted so far; commits and rows are some seconds late."""

    at: float
    calls: Counter[str]
    commits: int
    event_rows: int
    cpu: float
    fetches: Counter[str]
    empty: int


def counts(server: str, fetches: Fetches) -> Counts:
    with psycopg.connect(f"{server}/postgres") as connection:
        calls = Counter(dict(connection.execute(CALLS).fetchall()))
        commits = connection.execute(COMMITS).fetchone()[0]
    with psycopg.connect(f"{server}/test") as connection:
        rows = connection.execute(EVENTS).fetchone()[0]
    return Counts(
        at=time.monotonic(),
        calls=calls,
        commits=commits,
        event_rows=rows,
        cpu=backends_cpu(f"{server}/test"),
        fetches=fetches.by_cause.copy(),
        empty=fetches.empty,
    )


# ── the measurement ──


class Round(NamedTuple):
    """Figures per run; `idle` ones are what the workers would have used without runs."""

    fetches: float
    empty: float
    by_cause: dict[str, float]
    statements: float
    idle_statements: float
    commits: float
    idle_commits: float
    event_rows: float
    cpu_ms: float
    idle_cpu_ms: float
    seconds: float
    calls: dict[str, float]


async def serve_runs(clients: list[Client], runs: int, per_second: float) -> None:
    """Start runs at an even rate, as far as there are free clients, and wait for all."""
    free: asyncio.Queue[Client] = asyncio.Queue()
    for client in clients:
        free.put_nowait(client)

    async def one(client: Client) -> None:
        await run_served(client)
        free.put_nowait(client)

    began = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(runs):
            await asyncio.sleep(began + number / per_second - time.monotonic())
            group.create_task(one(await free.get()))
    await asyncio.sleep(NUDGE_SECONDS)


async def measure(
    server: str, fetches: Fetches, clients: list[Client], *, runs: int, per_second: float
) -> Round:
    await serve_runs(clients, max(10, runs // 2), per_second)  # prepares statements
    await asyncio.sleep(SETTLE_SECONDS)
    before = counts(server, fetches)
    await serve_runs(clients, runs, per_second)
    after = counts(server, fetches)
    await asyncio.sleep(SETTLE_SECONDS)
    settled = counts(server, fetches)
    await asyncio.sleep(SETTLE_SECONDS)
    return per_run(runs, before, after, settled, counts(server, fetches))


def per_run(runs: int, before: Counts, after: Counts, settled: Counts, end: Counts) -> Round:
    """The figures per run, from `before` to `after`; there are no runs from `after` to `end`."""
    seconds, idle_seconds = after.at - before.at, end.at - settled.at
    share = seconds / idle_seconds / runs
    idle_commits = end.commits - settled.commits
    settling = (settled.at - after.at) / idle_seconds
    commits = settled.commits - before.commits - idle_commits * settling
    causes = {cause: (after.fetches - before.fetches)[cause] / runs for cause in CAUSES}
    calls = {query: count / runs for query, count in (after.calls - before.calls).items()}
    return Round(
        fetches=sum(count for query, count in calls.items() if CLAIM in query),
        empty=(after.empty - before.empty) / runs,
        by_cause=causes,
        statements=sum(calls.values()),
        idle_statements=(end.calls - settled.calls).total() * share,
        commits=commits / runs,
        idle_commits=idle_commits * share,
        event_rows=(settled.event_rows - before.event_rows) / runs,
        cpu_ms=(after.cpu - before.cpu) * 1000 / runs,
        idle_cpu_ms=(end.cpu - settled.cpu) * 1000 * share,
        seconds=seconds,
        calls=calls,
    )


def print_round(workers: int, found: Round, runs: int) -> None:
    causes = ", ".join(f"{name} {count:.2f}" for name, count in found.by_cause.items())
    print(
        f"{workers} workers, {runs / found.seconds:.1f} runs/s: per run {found.fetches:.2f} fetches"
        f" ({causes}; {found.empty:.2f} found nothing), {found.statements:.1f} statements"
        f" (idle {found.idle_statements:.1f}), {found.commits:.1f} commits"
        f" (idle {found.idle_commits:.1f}), {found.event_rows:.1f} event rows,"
        f" PostgreSQL {found.cpu_ms:.1f} ms CPU (idle {found.idle_cpu_ms:.1f})",
        flush=True,
    )


def print_calls(calls: dict[str, float]) -> None:
    """Print the statements that are executed at least once per ten runs."""
    for query, count in sorted(calls.items(), key=lambda call: -call[1]):
        if count >= 0.1:
            print(f"  {count:5.2f}  {' '.join(query.split())[:110]}")


def figures(rounds: dict[int, Round], runs: int) -> dict[str, Any]:
    first = next(iter(rounds.values()))
    return {
        "fetches_per_run": {str(n): round(found.fetches, 2) for n, found in rounds.items()},
        "fetches_by_cause": {
            str(n): {cause: round(count, 2) for cause, count in found.by_cause.items()}
            for n, found in rounds.items()
        },
        "statements_per_run": round(first.statements, 1),
        "idle_statements_per_run": round(first.idle_statements, 1),
        "commits_per_run": round(first.commits, 1),
        "idle_commits_per_run": round(first.idle_commits, 1),
        "event_rows_per_run": round(first.event_rows, 2),
        "postgres_cpu_ms_per_run": round(first.cpu_ms, 2),
        "idle_postgres_cpu_ms_per_run": round(first.idle_cpu_ms, 2),
        "runs_per_second": {str(n): round(runs / f.seconds, 1) for n, f in rounds.items()},
        "runs": runs,
    }


@contextmanager
def counting_postgres() -> Iterator[str]:
    """Start a PostgreSQL that counts statements; yields its address without a database."""
    with own_postgres() as server:
        server.configure(
            "max_connections = 700\nshared_preload_libraries = 'pg_stat_statements'\n"
            "shared_buffers = 128MB\n"
        )
        server.restart("fast")
        with psycopg.connect(f"{server.url}/postgres", autocommit=True) as connection:
            connection.execute(EXTENSION)
        yield server.url


async def main(numbers: list[int], *, runs: int, per_second: float) -> None:
    rounds: dict[int, Round] = {}
    with (
        counting_postgres() as server,
        own_redis() as redis,
        served(f"{server}/test", redis, works=False) as api,
    ):
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(api.port)) for _ in range(CLIENTS)]
            for count in numbers:
                async with working(f"{server}/test", redis, count) as fetches:
                    found = await measure(
                        server, fetches, clients, runs=runs, per_second=per_second
                    )
                rounds[count] = found
                print_round(count, found, runs)
    print_calls(next(iter(rounds.values())).calls)
    print(json.dumps(figures(rounds, runs)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="runs per number of workers")
    parser.add_argument("--rate", type=float, default=5.0, help="runs that arrive per second")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 8, 32])
    options = parser.parse_args()
    stop_cleanly()
    raise_open_files()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(options.workers, runs=options.runs, per_second=options.rate))
