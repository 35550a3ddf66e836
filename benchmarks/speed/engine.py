"""CPU and latency of a served run, compared with the same graph and saver without a server.

A three-step run (model, tool, model; a zero-latency model) on its own thread, streamed. The server
is `bathysphere serve` in its own process: API and worker, PostgreSQL, Redis. The bare graph runs in
this process with `AsyncPostgresSaver` and `durability="sync"`. Both take turns, so that noise on
the machine affects both; the figures are those of the best round, because other load only adds to
them. Last line: JSON.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import NamedTuple
from uuid import uuid4

import psycopg
import uvloop
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from redis import Redis
from rig import (
    HELLO,
    MODES,
    Client,
    Served,
    backends_cpu,
    graphs,
    own_database,
    own_redis,
    served,
)

from bathysphere.engine.database.pool import Database, open_pool

REQUEST = {"assistant_id": "steps", "input": HELLO}
STREAM_MODES = ["values", "updates", "messages-tuple"]
COUNTS = """
select xact_commit, tup_inserted, tup_updated, tup_deleted, pg_database_size(datname)
  from pg_stat_database where datname = current_database()
"""
Once = Callable[[], Awaitable[None]]


class Round(NamedTuple):
    """The cost per run in one round."""

    cpu_ms: float
    p50_ms: float
    per_second: float


async def rounds_of(runs: int, workers: list[Once], cpu: Callable[[], float]) -> Round:
    spans: list[float] = []
    left = iter(range(runs))

    async def work(once: Once) -> None:
        for _ in left:
            began = time.perf_counter()
            await once()
            spans.append(time.perf_counter() - began)

    before, began = cpu(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for once in workers:
            group.create_task(work(once))
    wall, used = time.perf_counter() - began, cpu() - before
    return Round(used * 1000 / runs, statistics.median(spans) * 1000, runs / wall)


def best(rounds: list[Round]) -> Round:
    cpu, p50, rate = zip(*rounds, strict=True)
    return Round(min(cpu), min(p50), max(rate))


async def run_bare(graph) -> None:
    config = {"configurable": {"thread_id": str(uuid4())}}
    async for _ in graph.astream(
        HELLO, config, stream_mode=MODES, subgraphs=True, durability="sync", version="v2"
    ):
        pass


async def run_served(client: Client) -> None:
    thread = (await client.post("/threads", {}))["thread_id"]
    body = {**REQUEST, "stream_mode": STREAM_MODES}
    last = b""
    async for part in client.stream(f"/threads/{thread}/runs/stream", body):
        last = part
    if b"the sum is 3" not in last:
        raise RuntimeError(f"The run failed: {last[-300:]!r}")


async def measure(
    database: str, redis: Redis, server: Served, *, runs: int, rounds: int
) -> dict[int, tuple[Round, Round]]:
    results: dict[int, tuple[Round, Round]] = {}
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_pool(Database(url=database, max_size=42)))
        graph = graphs()["steps"]()
        graph.checkpointer = AsyncPostgresSaver(pool)
        clients = [await stack.enter_async_context(Client(server.port)) for _ in range(32)]
        for concurrency in (1, 8, 32):
            bares = [lambda: run_bare(graph)] * concurrency
            servers = [lambda client=client: run_served(client) for client in clients[:concurrency]]
            count = max(runs, 2 * concurrency)
            await rounds_of(2 * concurrency + 10, bares, time.process_time)
            await rounds_of(2 * concurrency + 10, servers, server.cpu)
            found: tuple[list[Round], list[Round]] = ([], [])
            for _ in range(rounds):
                found[0].append(await rounds_of(count, bares, time.process_time))
                found[1].append(await rounds_of(count, servers, server.cpu))
            ours, theirs = map(best, found)
            results[concurrency] = (ours, theirs)
            print(
                f"concurrency {concurrency}: bare {ours.cpu_ms:.1f} ms CPU, p50 {ours.p50_ms:.1f}"
                f" ms, {ours.per_second:.0f}/s; served {theirs.cpu_ms:.1f} ms CPU, p50"
                f" {theirs.p50_ms:.1f} ms, {theirs.per_second:.0f}/s;"
                f" CPU {theirs.cpu_ms / ours.cpu_ms:.2f} x",
                flush=True,
            )
        await print_storage_costs(database, redis, clients[:8], runs)
    return results


async def print_storage_costs(
    database: str, redis: Redis, clients: list[Client], runs: int
) -> None:
    """Print what a served run costs PostgreSQL and Redis."""
    await asyncio.sleep(11)  # idle backends report their statistics after ten seconds
    before, cpu = counts(database), backends_cpu(database)
    keys_before = set(redis.keys())
    await rounds_of(runs, [lambda c=c: run_served(c) for c in clients], time.process_time)
    keys = set(redis.keys()) - keys_before
    stored = sum(redis.memory_usage(key) or 0 for key in keys)
    cpu = (backends_cpu(database) - cpu) * 1000 / runs
    await asyncio.sleep(11)
    commits, added, changed, gone, size = (
        (after - b) / runs for after, b in zip(counts(database), before, strict=True)
    )
    print(
        f"per served run: PostgreSQL {cpu:.1f} ms CPU, {commits:.0f} transactions, rows"
        f" +{added:.0f} ~{changed:.0f} -{gone:.0f}, {size / 1024:.1f} kB on disk;"
        f" Redis {stored / runs / 1024:.1f} kB in {len(keys) / runs:.0f} keys"
    )


def counts(database: str) -> tuple[int, ...]:
    with psycopg.connect(database) as connection:
        return connection.execute(COUNTS).fetchone()


async def main(runs: int, rounds: int, *, is_foreign: bool) -> None:
    with (
        own_database() as database,
        own_redis() as events,
        served(database, events, is_foreign=is_foreign) as server,
        Redis.from_url(events) as redis,
    ):
        results = await measure(database, redis, server, runs=runs, rounds=rounds)
    (alone, served_alone), (eight, served_eight) = results[1], results[8]
    print(
        f"CPU at concurrency 8: {served_eight.cpu_ms / eight.cpu_ms:.2f} x bare; p50 at"
        f" concurrency 1: {served_alone.p50_ms - alone.p50_ms:.1f} ms above bare"
    )
    figures = {
        "bare_cpu_ms": eight.cpu_ms,
        "server_cpu_ms": served_eight.cpu_ms,
        "cpu_ratio": served_eight.cpu_ms / eight.cpu_ms,
        "bare_p50_ms": alone.p50_ms,
        "server_p50_ms": served_alone.p50_ms,
    }
    print(json.dumps({name: round(figure, 2) for name, figure in figures.items()}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40, help="runs per round")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument(
        "--graph",
        choices=("own", "foreign"),
        default="own",
        help="whether the server has the graph itself or loads it from a project",
    )
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(options.runs, options.rounds, is_foreign=options.graph == "foreign"))
