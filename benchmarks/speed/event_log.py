"""What the event log of a thread costs: bytes, CPU of a reconnect, a wave of reconnects, memory.

Bytes: the logs in Redis and in memory of 100 turns of 1 kB (question and answer each), and of a
session of 3 runs of 8 steps with 4 kB each. Reconnect: CPU of an API process per stream that
resumes before the last event, of threads of 1, 40 and 100 turns. Wave: an API process with
`--clients` streams is killed; as soon as another one listens all of them reconnect to it, and each
waits for an event that it missed. They share 40 threads of 40 turns, whose events are copies of one
thread's. Serve: resident memory of `serve` without Redis before and after `--threads` threads with
a run each. Last line: JSON; `missed` names the goals that do not hold.
"""

import argparse
import asyncio
import gc
import json
import os
import signal
import statistics
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import uvloop
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from redis import Redis
from rig import (
    HELLO,
    Client,
    Served,
    allow_one_user_all_streams,
    graphs,
    own_database,
    own_redis,
    raise_open_files,
    served,
)
from streams import THREADS as INSERT_THREADS

from bathysphere.engine.events.log import Entry, Event
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.engine.runs.service import NewRun
from bathysphere.server.identity.identify import LOCAL
from bathysphere.server.langgraph_api.run_events import wait_for_end
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.assembly import service_options, worker_of
from bathysphere.server.process.database import database_of, migrate_database
from bathysphere.server.process.services import Services, open_services
from bathysphere.server.process.settings import ServerSettings
from bathysphere.server.protocol.position import Position
from bathysphere.server.protocol.wire import channel_of, starts_run

PARTS = ("bytes", "reconnect", "wave", "serve")
GOALS = {
    "redis_kb_100_turns": 1000,
    "memory_kb_100_turns": 1000,
    "redis_kb_session": 150,
    "memory_kb_session": 150,
    "reconnect_ms_1": 8,
    "reconnect_ms_40": 8,
    "reconnect_ms_100": 8,
    "next_event_p99_ms": 3000,
    "serve_mb_more": 50,
}
"""The largest figures that are accepted."""
CHANNELS = ["lifecycle", "input", "values", "updates", "checkpoints", "messages", "tools", "custom"]
LOST = (OSError, EOFError, RuntimeError)
TOKENS = "171 1000000"
QUESTION = TOKENS.rjust(1024, "0")
"""One kilobyte that `TokenModel` answers with one kilobyte, without delay."""
SESSION_STEPS = 8
RECONNECTS = 50
WAVE_THREADS = WAVE_TURNS = 40
WAVE_SECONDS = 120.0
NEEDED_BY = {1: {"reconnect"}, WAVE_TURNS: {"reconnect", "wave"}, 100: {"bytes", "reconnect"}}
WARM_THREADS = 200
SERVE_CLIENTS = 16


# ── runs ──


def session_graph() -> Any:
    """Eight steps, each of which adds a message of four kilobytes."""

    async def step(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("x" * 4096)]}

    def choose_next(state: MessagesState) -> str:
        is_done = all(message.type == "ai" for message in state["messages"][-SESSION_STEPS:])
        return END if is_done else "step"

    graph = StateGraph(MessagesState)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", choose_next, ["step", END])
    return graph.compile()


@asynccontextmanager
async def open_engine(url: str, redis: str | None) -> AsyncIterator[Services]:
    """The components of a process, with a worker that executes runs."""
    settings = ServerSettings(database_url=url, redis_url=redis)
    database = database_of(settings, with_worker=True)
    await migrate_database(database)
    known = Graphs({**graphs(), "session": session_graph})
    options = service_options(settings)
    async with open_services(database=database, graphs=known, **options) as services:
        worker = await worker_of(services, settings, Metrics())
        working = asyncio.create_task(worker.run())
        try:
            yield services
        finally:
            worker.drain()
            await working


async def make_thread(services: Services, *, turns: int, graph: str, text: str) -> UUID:
    """Execute runs on a new thread."""
    thread = uuid4()
    work = Work(input={"messages": [{"role": "user", "content": text}]})
    for number in range(1, turns + 1):
        new = NewRun(thread_id=thread, graph=graph, work=work)
        created = await services.runs.create(new, owner=LOCAL)
        run = await wait_for_end(services, created.run, owner=LOCAL)
        if run.status != "success":
            raise RuntimeError(f"Run ended as {run.status}: {run.error}")
        if number % 20 == 0:
            print(f"{number} of {turns} turns", flush=True)
    return thread


def talk(services: Services, turns: int) -> Awaitable[UUID]:
    """Make a thread of turns of one kilobyte."""
    return make_thread(services, turns=turns, graph="tokens", text=QUESTION)


# ── bytes ──

MeasureThread = Callable[[UUID], Awaitable[int]]


async def entries_of(services: Services, thread: UUID) -> list[Entry]:
    """The events of a thread, oldest first."""
    newest = await services.events.newest(thread, owner=LOCAL, count=1_000_000)
    return newest[::-1]


async def measure_bytes(
    services: Services, place: str, *, long: UUID, size_of: MeasureThread
) -> dict[str, float]:
    """Measure the logs of the long thread, of a session and of a small run."""
    session = await make_thread(services, turns=3, graph="session", text="go on")
    small = await make_thread(services, turns=1, graph="steps", text="hello")
    found: dict[str, float] = {}
    found[f"{place}_kept_turns"] = sum(map(starts_run, await entries_of(services, long)))
    for name, thread in (("100_turns", long), ("session", session), ("small_run", small)):
        print(f"{place}, {name}: {await describe(services, thread)}", flush=True)
        found[f"{place}_kb_{name}"] = round(await size_of(thread) / 1000, 1)
    return found


async def describe(services: Services, thread: UUID) -> str:
    """The number of events, and their bytes by channel."""
    sizes: Counter[str] = Counter()
    entries = await entries_of(services, thread)
    for entry in entries:
        sizes[channel_of(entry)] += len(entry.body)
    parts = ", ".join(f"{channel} {size / 1000:.1f}" for channel, size in sizes.most_common())
    return f"{len(entries)} events of {sizes.total() / 1000:.1f} kB: {parts}"


def redis_size(url: str) -> MeasureThread:
    async def size_of(thread: UUID) -> int:
        with Redis.from_url(url) as redis:
            keys = redis.scan_iter(match=f"*{thread}*", count=1000)
            return sum(redis.memory_usage(key, samples=0) or 0 for key in keys)

    return size_of


def memory_size(services: Services) -> MeasureThread:
    """What is freed when the log is deleted, because a body may hold more than its length."""

    async def size_of(thread: UUID) -> int:
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        await services.events.delete(thread)
        return before - tracemalloc.get_traced_memory()[0]

    return size_of


# ── reconnects ──


async def stream(port: int, thread: UUID, since: int) -> AsyncGenerator[bytes, None]:
    """Open the event stream of a thread on a new connection."""
    path = f"/threads/{thread}/stream/events"
    body = {"channels": CHANNELS, "since": since}
    async with Client(port) as client, aclosing(client.stream(path, body)) as chunks:
        async for chunk in chunks:
            yield chunk


async def first_event(port: int, thread: UUID, since: int) -> bytes:
    async with aclosing(stream(port, thread, since)) as chunks:
        async for chunk in chunks:
            if b"data: " in chunk:
                return chunk
    raise EOFError


async def reconnect_ms(server: Served, services: Services, thread: UUID) -> float:
    """CPU of the API process per reconnect that misses the last event."""
    since = Position.end_of(await services.events.last_id(thread) - 1).seq
    for _ in range(5):
        await first_event(server.port, thread, since)
    cpu = server.cpu()
    await asyncio.sleep(2)
    idle_per_second = (server.cpu() - cpu) / 2
    cpu, began = server.cpu(), time.perf_counter()
    for _ in range(RECONNECTS):
        await first_event(server.port, thread, since)
    await asyncio.sleep(0.5)
    idle = idle_per_second * (time.perf_counter() - began)
    return round((server.cpu() - cpu - idle) / RECONNECTS * 1000, 1)


async def measure_reconnects(
    server: Served, services: Services, threads: dict[int, UUID]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for turns, thread in threads.items():
        found[f"reconnect_ms_{turns}"] = await reconnect_ms(server, services, thread)
        print(f"Reconnect at {turns} turns: {found[f'reconnect_ms_{turns}']} ms", flush=True)
    return found


# ── the wave ──


async def copy_thread(services: Services, database: str, source: UUID) -> dict[UUID, int]:
    """Make threads with the events of another; return the position at the end of each."""
    bodies = [entry.body for entry in await entries_of(services, source)]
    with psycopg.connect(database, autocommit=True) as connection:
        threads = [row[0] for row in connection.execute(INSERT_THREADS, (WAVE_THREADS,)).fetchall()]
    ends = {}
    for thread in threads:
        last = await services.events.append(thread, bodies, owner=LOCAL)
        ends[thread] = Position.end_of(last).seq
    return ends


async def open_streams(
    port: int, readers: list[tuple[UUID, int]]
) -> list[AsyncGenerator[bytes, None]]:
    gate = asyncio.Semaphore(16)

    async def open_one(thread: UUID, since: int) -> AsyncGenerator[bytes, None]:
        chunks = stream(port, thread, since)
        async with gate:
            await anext(chunks)  # the first heartbeat
        return chunks

    return await asyncio.gather(*(open_one(*reader) for reader in readers))


async def append_ticks(services: Services, threads: list[UUID]) -> None:
    body = Event(channel="custom", run_id="bench", data={"name": "tick"}).encode()
    for thread in threads:
        await services.events.append(thread, [body], owner=LOCAL)


class Wave:
    """Clients that reconnect at once, until each has an event."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._began = time.perf_counter()
        self.times: list[float] = []
        self.snapshots = 0
        self.retries = 0
        self.unanswered = 0

    async def run(self, readers: list[tuple[UUID, int]]) -> None:
        telling = asyncio.create_task(self._print_progress())
        await asyncio.gather(*(self._wait_for_event(*reader) for reader in readers))
        telling.cancel()

    async def _wait_for_event(self, thread: UUID, since: int) -> None:
        try:
            async with asyncio.timeout(WAVE_SECONDS):
                event = await self._next_event(thread, since)
        except TimeoutError:
            self.unanswered += 1
        else:
            self.snapshots += b'"tick"' not in event
        self.times.append(time.perf_counter() - self._began)

    async def _next_event(self, thread: UUID, since: int) -> bytes:
        while True:
            try:
                return await first_event(self._port, thread, since)
            except LOST:
                self.retries += 1
                await asyncio.sleep(0.2)

    async def _print_progress(self) -> None:
        while True:
            await asyncio.sleep(5)
            print(f"{len(self.times)} clients have their next event", flush=True)

    def figures(self) -> dict[str, float]:
        cuts = statistics.quantiles((span * 1000 for span in self.times), n=100)
        return {
            "clients": len(self.times),
            "next_event_p50_ms": round(cuts[49]),
            "next_event_p99_ms": round(cuts[98]),
            "snapshots": self.snapshots,
            "retries": self.retries,
            "unanswered": self.unanswered,
        }


async def measure_wave(
    services: Services, source: UUID, urls: tuple[str, str], *, clients: int
) -> dict[str, float]:
    database, redis = urls
    ends = list((await copy_thread(services, database, source)).items())
    readers = [ends[number % len(ends)] for number in range(clients)]
    with ExitStack() as stack:
        server = stack.enter_context(served(database, redis, works=False))
        streams = await open_streams(server.port, readers)
        print(f"{len(streams)} streams opened; the API process is killed", flush=True)
        os.kill(server.pid, signal.SIGKILL)
        killed = time.perf_counter()
        for chunks in streams:
            await chunks.aclose()
        await append_ticks(services, [thread for thread, _ in ends])
        other = served(database, redis, works=False)
        server = await asyncio.to_thread(stack.enter_context, other)
        replaced = time.perf_counter() - killed
        print(f"Replaced after {replaced:.1f} s", flush=True)
        before, cpu, wave = server.memory(), server.cpu(), Wave(server.port)
        await wave.run(readers)
        return {
            **wave.figures(),
            "replaced_s": round(replaced, 1),
            "wave_cpu_ms": round((server.cpu() - cpu) / clients * 1000, 1),
            "wave_mb_more": round((server.memory() - before) / 1e6),
        }


# ── memory of `serve` ──


async def run_threads(server: Served, count: int) -> None:
    """Execute a run on each of new threads."""
    body = {"assistant_id": "steps", "input": HELLO, "if_not_exists": "create"}
    numbers = iter(range(1, count + 1))

    async def work() -> None:
        async with Client(server.port) as client:
            for number in numbers:
                await client.post(f"/threads/{uuid4()}/runs/wait", body)
                if number % max(100, count // 20) == 0:
                    print(f"{number} threads: {server.memory() / 1e6:.0f} MB", flush=True)

    await asyncio.gather(*(work() for _ in range(SERVE_CLIENTS)))


async def measure_serve(server: Served, threads: int) -> dict[str, float]:
    await run_threads(server, WARM_THREADS)
    before = server.memory()
    began = time.perf_counter()
    await run_threads(server, threads)
    after = server.memory()
    return {
        "threads": threads,
        "serve_mb_before": round(before / 1e6, 1),
        "serve_mb_after": round(after / 1e6, 1),
        "serve_mb_more": round((after - before) / 1e6, 1),
        "serve_threads_per_s": round(threads / (time.perf_counter() - began), 1),
    }


# ── all parts ──


async def measure_redis(options: argparse.Namespace) -> dict[str, float]:
    """The parts that need Redis, on one database."""
    found: dict[str, float] = {}
    parts, turns = options.parts, (1, WAVE_TURNS, 100)
    with own_database() as database, own_redis() as redis:
        async with open_engine(database, redis) as services:
            threads = {n: await talk(services, n) for n in turns if parts & NEEDED_BY[n]}
            if "bytes" in parts:
                size_of = redis_size(redis)
                found |= await measure_bytes(services, "redis", long=threads[100], size_of=size_of)
            if "reconnect" in parts:
                with served(database, redis, works=False) as server:
                    found |= await measure_reconnects(server, services, threads)
            if "wave" in parts:
                source, urls = threads[WAVE_TURNS], (database, redis)
                found |= await measure_wave(services, source, urls, clients=options.clients)
    return found


async def measure_memory() -> dict[str, float]:
    """The bytes of logs in memory."""
    tracemalloc.start()
    with own_database() as database:
        async with open_engine(database, None) as services:
            long = await talk(services, 100)
            size_of = memory_size(services)
            found = await measure_bytes(services, "memory", long=long, size_of=size_of)
    tracemalloc.stop()
    return found


async def run(options: argparse.Namespace) -> dict[str, Any]:
    async with asyncio.timeout(options.seconds):
        return await measure(options)


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if options.parts & {"bytes", "reconnect", "wave"}:
        found |= await measure_redis(options)
    if "bytes" in options.parts:
        found |= await measure_memory()
    if "serve" in options.parts:
        with own_database() as database, served(database, None) as server:
            found |= await measure_serve(server, options.threads)
    missed = [name for name, most in GOALS.items() if name in found and found[name] > most]
    return {**found, "load": round(os.getloadavg()[0], 1), "missed": missed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=3600, help="fail after")
    parser.add_argument("--only", default="", help=f"parts to measure: {', '.join(PARTS)}")
    options = parser.parse_args()
    options.parts = set(options.only.replace(",", " ").split()) or set(PARTS)
    if unknown := options.parts - set(PARTS):
        parser.error(f"Unknown part {unknown.pop()!r}. Available: {', '.join(PARTS)}")
    if options.clients > raise_open_files() - 200:
        sys.exit("The limit of open files is too low: raise `ulimit -Hn`")
    allow_one_user_all_streams()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(run(options))))


if __name__ == "__main__":
    main()
