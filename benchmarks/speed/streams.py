"""Open SSE streams on one API process, with an event every ten seconds on each.

Three processes: `bathysphere serve --no-worker`, a feeder that appends events directly to the log
in Redis, and this one, which holds the client ends. Measured: streams open at the end, the time
from an event's creation in the feeder to its arrival here, and the API process's memory per stream.
An event that does not arrive fails the benchmark. Last line: JSON.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from uuid import UUID

import psycopg
import uvloop
from redis.asyncio import BlockingConnectionPool, Redis
from rig import (
    Served,
    allow_one_user_all_streams,
    own_database,
    own_redis,
    raise_open_files,
    served,
)

from bathysphere.core.clock import SystemClock
from bathysphere.engine.events.log import Event
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.server.identity.identify import LOCAL

SENT = re.compile(rb'"sent":(\d+\.\d+)')
THREADS = """
insert into engine.threads (thread_id, tenant, owner)
select gen_random_uuid(), 'local', 'local' from generate_series(1, %s) returning thread_id
"""


class Stream(asyncio.Protocol):
    """The client end of one stream."""

    def __init__(self, request: bytes, spans: list[float]) -> None:
        self._request = request
        self._spans = spans
        self._rest = b""
        self.opened = asyncio.get_running_loop().create_future()
        self.is_open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.time()
        self._rest += data
        if not self._rest.endswith(b"\n\n\r\n"):
            return  # in the middle of a chunk
        if not self.is_open and b": beat" in self._rest:
            if not self._rest.startswith(b"HTTP/1.1 200"):
                self.opened.set_exception(RuntimeError(self._rest[:200].decode()))
                return
            self.is_open = True
            self.opened.set_result(None)
        self._spans.extend(now - float(sent) for sent in SENT.findall(self._rest))
        self._rest = b""

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if not self.opened.done():
            self.opened.set_exception(error or ConnectionError("closed"))


async def open_streams(server: Served, threads: list[UUID], spans: list[float]) -> list[Stream]:
    loop, body = asyncio.get_running_loop(), b'{"channels":["custom"]}'
    gate = asyncio.Semaphore(50)

    async def one(number: int, thread: UUID) -> Stream:
        head = (
            f"POST /threads/{thread}/stream/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        async with gate:
            # Several addresses: one has ports for fewer than 30,000 connections.
            _, stream = await loop.create_connection(
                lambda: Stream(head.encode() + body, spans),
                "127.0.0.1",
                server.port,
                local_addr=(f"127.0.0.{2 + number % 8}", 0),
            )
            await stream.opened
        return stream

    return await asyncio.gather(*(one(n, thread) for n, thread in enumerate(threads)))


async def feed(redis_url: str, period: float, turns: int) -> None:
    """Append an event to each thread's log, evenly over the period, `turns` times."""
    threads = [UUID(line) for line in sys.stdin.read().split()]
    random.shuffle(threads)
    # The default pool refuses the 101st connection, and a late feeder catches up in bursts.
    pool = BlockingConnectionPool.from_url(redis_url, max_connections=20)
    async with (
        Redis.from_pool(pool) as redis,
        RedisEventLog(redis, clock=SystemClock()) as log,
        asyncio.TaskGroup() as group,
    ):
        # Open connections and load the script first: the feeder's startup is not measured.
        await log.append(UUID(int=0), [b"{}"], owner=LOCAL)
        await asyncio.gather(*(redis.ping() for _ in range(20)))
        began = time.monotonic()
        for number in range(turns * len(threads)):
            due = began + number * period / len(threads)
            if (early := due - time.monotonic()) > 0:
                await asyncio.sleep(early)
            data = {"name": "tick", "sent": time.time(), "text": "x" * 100}
            body = Event(channel="custom", run_id="bench", data=data).encode()
            group.create_task(log.append(threads[number % len(threads)], [body], owner=LOCAL))


async def measure(server: Served, threads: list[UUID], events: str, options) -> dict[str, float]:
    spans: list[float] = []
    await asyncio.sleep(1)
    empty, began = server.memory(), time.perf_counter()
    streams = await open_streams(server, threads, spans)
    took = time.perf_counter() - began
    print(f"{len(streams)} streams opened in {took:.0f} s", flush=True)
    cpu, began = server.cpu(), time.perf_counter()
    feeder = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, "--feed", events),
        *("--period", str(options.period), "--turns", str(options.turns)),
        stdin=subprocess.PIPE,
    )
    await feeder.communicate("\n".join(map(str, threads)).encode())
    if feeder.returncode:
        sys.exit("The feeder failed")
    expected = options.turns * len(threads)
    for _ in range(300):  # late events count as late; only lost ones are a failure
        if len(spans) >= expected:
            break
        await asyncio.sleep(0.1)
    wall, cpu = time.perf_counter() - began, server.cpu() - cpu
    held = sum(stream.is_open for stream in streams)
    memory = (server.memory() - empty) / 1024 / len(streams)
    if len(spans) != expected:
        sys.exit(f"{len(spans)} of {expected} events arrived")
    cuts = statistics.quantiles((span * 1000 for span in spans), n=100)
    print(
        f"{held} streams held, {expected / options.turns / options.period:.0f} events/s: p50"
        f" {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, worst {max(spans) * 1000:.0f} ms; the API"
        f" process used {100 * cpu / wall:.0f} % of a core and {memory:.1f} kB per stream"
    )
    return {"streams": held, "p99_ms": round(cuts[98], 1), "kb_per_stream": round(memory, 1)}


async def main(options) -> None:
    room = raise_open_files()
    if options.streams > room - 200:
        sys.exit(f"The limit of open files is {room}: raise `ulimit -Hn`")
    allow_one_user_all_streams()
    with ExitStack() as stack:
        database = stack.enter_context(own_database())
        events = stack.enter_context(own_redis())
        server = stack.enter_context(served(database, events, works=False))
        with psycopg.connect(database, autocommit=True) as connection:
            rows = connection.execute(THREADS, (options.streams,)).fetchall()
        figures = await measure(server, [row[0] for row in rows], events, options)
    print(json.dumps(figures))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=5000)
    parser.add_argument("--period", type=float, default=10, help="seconds between events")
    parser.add_argument("--turns", type=int, default=3, help="events per stream")
    parser.add_argument("--feed", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    work = feed(chosen.feed, chosen.period, chosen.turns) if chosen.feed else main(chosen)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)
