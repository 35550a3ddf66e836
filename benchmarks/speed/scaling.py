"""Runs per second with 1, 2 and 4 worker processes, and a model that waits 200 ms.

Such a run needs little CPU, so throughput should double with the workers until the machine's cores
are busy. Each worker executes `--concurrency` runs at a time. All runs are queued before the
workers start; the figure is runs over the time from the first start to the last end, as recorded in
the database. `of_linear` compares with one worker; `busy` is the share of all cores in use by any
process: on a machine that is not idle the figure says little. Last line: JSON.
"""

import argparse
import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from langgraph.graph import START, MessagesState, StateGraph

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.service import NewRun
from bathysphere.engine.runs.worker import WorkerOptions
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.services import open_services, open_worker

SERVER = os.environ.get(
    "BATHYSPHERE_TEST_DATABASE_URL", "postgresql://root@127.0.0.1:5432/postgres"
)
WAIT = 0.2
OWNER = Owner(tenant="bench", user="bench@bench")
COUNTS = (1, 2, 4)


def waiting_graph() -> Any:
    """One step: a model that waits."""

    async def model(state: MessagesState) -> dict[str, Any]:
        await asyncio.sleep(WAIT)
        return {"messages": [{"role": "ai", "content": "done"}]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_edge(START, "model")
    return graph.compile()


# ── a worker process ──


async def work(url: str, concurrency: int) -> None:
    database = Database(url=url, max_size=concurrency + 2)
    graphs = Graphs({"waiting": waiting_graph})
    async with open_services(database=database, graphs=graphs) as services:
        options = WorkerOptions(concurrency=concurrency)
        worker = await open_worker(services, metrics=Metrics(), limits=Limits(), options=options)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)  # until all are ready
        working = asyncio.create_task(worker.run())
        await asyncio.to_thread(sys.stdin.read)  # until all runs have ended
        worker.drain()
        await working


# ── the measurement ──


@contextmanager
def own_database() -> Iterator[str]:
    name = f"bathysphere_bench_{secrets.token_hex(4)}"
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        url = f"{SERVER.rsplit('/', 1)[0]}/{name}"
        asyncio.run(migrate(Database(url=url)))
        yield url
    finally:
        with psycopg.connect(SERVER, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def enqueue(url: str, count: int) -> None:
    graphs = Graphs({"waiting": waiting_graph})
    async with open_services(database=Database(url=url, max_size=8), graphs=graphs) as services:
        turn = asyncio.Semaphore(8)
        work = Work(input={"messages": [{"role": "user", "content": "hello"}]})

        async def one() -> None:
            async with turn:
                new = NewRun(thread_id=uuid4(), graph="waiting", work=work)
                await services.runs.create(new, owner=OWNER)

        await asyncio.gather(*[one() for _ in range(count)])


def start_worker(url: str, concurrency: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "ignore", __file__, "--worker", url]
    command += ["--concurrency", str(concurrency)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready", "a worker did not start"
    return process


def ticks() -> tuple[int, int]:
    """Busy and total CPU time of the machine so far."""
    values = [int(v) for v in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(values) - values[3] - values[4], sum(values)


def measure(workers: int, *, concurrency: int, rounds: int) -> dict[str, float]:
    with own_database() as url:
        count = workers * concurrency * rounds
        asyncio.run(enqueue(url, count))
        processes = [start_worker(url, concurrency) for _ in range(workers)]
        before = ticks()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        with psycopg.connect(url, autocommit=True) as connection:
            while True:
                row: Any = connection.execute(
                    "SELECT count(*) FILTER (WHERE status = 'success'),"
                    " extract(epoch FROM max(finished_at) - min(started_at)) FROM engine.runs"
                ).fetchone()
                if row[0] == count:
                    break
                time.sleep(0.1)
        after = ticks()
        for process in processes:
            process.communicate()
    busy = (after[0] - before[0]) / max(1, after[1] - before[1])
    return {"runs_per_s": count / float(row[1]), "busy": busy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--concurrency", type=int, default=4, help="concurrent runs per worker")
    parser.add_argument("--rounds", type=int, default=30, help="runs per slot of a worker")
    parser.add_argument("--worker", metavar="DATABASE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        asyncio.run(work(options.worker, options.concurrency))
        return
    results = {}
    for workers in COUNTS:
        found = measure(workers, concurrency=options.concurrency, rounds=options.rounds)
        results[workers] = found
        print(f"{workers} workers: {found['runs_per_s']:.1f} runs/s, {found['busy']:.0%} busy")
    one = results[1]["runs_per_s"]
    linear = {n: found["runs_per_s"] / (n * one) for n, found in results.items()}
    full = [n for n in COUNTS if results[n]["busy"] > 0.9]
    print(
        json.dumps(
            {
                "runs_per_s": {str(n): round(f["runs_per_s"], 1) for n, f in results.items()},
                "of_linear": {str(n): round(share, 3) for n, share in linear.items()},
                "busy": {str(n): round(f["busy"], 2) for n, f in results.items()},
                "cores": os.cpu_count(),
                "ideal_per_worker": options.concurrency / WAIT,
                "limit": f"cores full at {full[0]} workers" if full else "none reached",
            }
        )
    )


if __name__ == "__main__":
    main()
