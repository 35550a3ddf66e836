"""Server CPU per streamed token, compared with plain `astream` of the same graph.

A model streams at a steady rate in several runs at once. Bare: this process reads `astream`.
Served: `bathysphere serve` in its own process executes the runs and serves one SSE reader each
(protocol v2), with the events in Redis and, in a second server, in memory. The contenders take
turns; the figures are the whole process's CPU in the best round, because other load only adds to
them. Last line: JSON; `server_us` is with Redis.
"""

import argparse
import asyncio
import json
import time
from contextlib import AsyncExitStack
from typing import NamedTuple
from uuid import uuid4

import uvloop
from rig import MODES, Client, Served, graphs, own_database, own_redis, served

CHANNELS = ["messages", "lifecycle"]


class Load(NamedTuple):
    """Concurrent runs, tokens per run, tokens per second in each run."""

    runs: int
    tokens: int
    rate: int

    def input(self):
        return {"messages": [{"type": "human", "content": f"{self.tokens} {self.rate}"}]}


async def run_bare(load: Load) -> float:
    graph = graphs()["tokens"]()

    async def once() -> None:
        seen = 0
        async for part in graph.astream(
            load.input(), stream_mode=MODES, subgraphs=True, version="v2"
        ):
            seen += part["type"] == "messages"
        if seen < load.tokens:
            raise RuntimeError(f"{seen} of {load.tokens} tokens arrived")

    before = time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(load.runs):
            group.create_task(once())
    return (time.process_time() - before) * 1e6 / (load.runs * load.tokens)


async def run_served(server: Served, load: Load) -> float:
    before = server.cpu()
    async with asyncio.TaskGroup() as group:
        for _ in range(load.runs):
            group.create_task(read(server, load))
    return (server.cpu() - before) * 1e6 / (load.runs * load.tokens)


async def read(server: Served, load: Load) -> None:
    """Start a run and read its tokens from the thread's stream."""
    thread, seen, events = uuid4(), 0, 0
    start = {
        "id": 1,
        "method": "run.start",
        "params": {"assistant_id": "tokens", "input": load.input()},
    }
    async with Client(server.port) as stream, Client(server.port) as commands:
        await commands.post(f"/threads/{thread}/commands", start)
        async for part in stream.stream(f"/threads/{thread}/stream/events", {"channels": CHANNELS}):
            for line in part.splitlines():
                if not line.startswith(b"data: "):
                    continue
                event = json.loads(line[6:])
                data = event["params"]["data"]
                if data.get("delta"):
                    seen, events = seen + data["delta"].get("text", "").count("token "), events + 1
            if b'"completed"' in part:
                break
    if seen != load.tokens:
        raise RuntimeError(f"{seen} of {load.tokens} tokens arrived")


async def main(load: Load, rounds: int) -> None:
    async with AsyncExitStack() as stack:
        databases = [stack.enter_context(own_database()) for _ in range(2)]
        events = stack.enter_context(own_redis())
        redis = stack.enter_context(served(databases[0], events))
        memory = stack.enter_context(served(databases[1], None))
        warm = Load(load.runs, 50, load.rate)
        await run_bare(warm), await run_served(redis, warm), await run_served(memory, warm)
        found: dict[str, list[float]] = {"bare": [], "redis": [], "memory": []}
        for number in range(rounds):
            found["bare"].append(await run_bare(load))
            found["redis"].append(await run_served(redis, load))
            found["memory"].append(await run_served(memory, load))
            latest = ", ".join(f"{name} {us[-1]:.0f} µs" for name, us in found.items())
            print(f"round {number + 1} of {rounds}: {latest} per token", flush=True)
    us = {name: min(values) for name, values in found.items()}
    print(
        f"{load.rate} tokens/s in each of {load.runs} runs: Redis {us['redis'] / us['bare']:.2f} x"
        f" bare, memory {us['memory'] / us['bare']:.2f} x bare"
    )
    figures = {"bare_us": us["bare"], "server_us": us["redis"], "memory_us": us["memory"]}
    print(json.dumps({name: round(value, 1) for name, value in figures.items()}))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=8, help="concurrent runs")
    parser.add_argument("--tokens", type=int, default=1500, help="tokens per run")
    parser.add_argument("--rate", type=int, default=200, help="tokens per second in each run")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(Load(options.runs, options.tokens, options.rate), options.rounds))
