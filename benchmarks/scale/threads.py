"""What listing, searching, opening, starting, claiming and deleting cost beside many threads.

Two databases, one with 1,000 threads and one with 100,000 (`--threads`), ten runs per thread on
average (see `dataset.py`), each behind an API process with API keys and Redis as in production.
Every operation is measured on both by turns: half of the requests are the heavy owner's, who has a
tenth of all threads, and a request and its counterpart concern threads of the same length. A run is
claimed with the statement and the shares of a worker of 32 slots; as many runs wait in both queues.
Last line: JSON with p50 and p99 of each operation in both, and `p99_ratio_max`.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import httpx
from dataset import HEAVY, POSITIONS, VOCABULARY, Template, fill, shares
from procrastinate.jobs import Job, Status

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.fairness import Shares
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.announcements import QUEUE
from bathysphere.engine.runs.worker import WorkerOptions
from bathysphere.server.identity.api_keys import ApiKeys
from bathysphere.server.process.database import migrate_database
from bathysphere.server.process.services import Services, open_services

sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

from rig import HELLO, graphs, own_database, own_redis, served

TURNS = {2: range(5), 10: range(5, 9), 50: range(9, 10)}
"""Runs of a template, and the positions of ten that have it: ten runs on average."""
FEW = 1000
SLOTS = 32
SHARES = shares()
WARM = 10


class Side:
    """A database of one size and its API."""

    def __init__(self, threads: int, services: Services, clients: dict[Owner, httpx.AsyncClient]):
        self.threads = threads
        self.times: dict[str, list[float]] = {}
        self.services = services
        self._clients = clients
        self._worker = 0

    async def register(self) -> None:
        """Register as a worker that claims."""
        reserve = WorkerOptions().slot_reserve
        self.services.queue.set_worker(
            shares=Shares.of(SLOTS, reserve=reserve), running=lambda: 0, poll_seconds=0
        )
        self._worker = await self.services.queue.app.job_manager.register_worker()

    async def request(self, owner: Owner, method: str, path: str, body: Any = None) -> Any:
        """Ask the API as the owner."""
        answer = await self._clients[owner].request(method, path, json=body)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    async def claim(self) -> Job:
        """Claim the next run as a worker does."""
        job = await self.services.queue.app.job_manager.fetch_job([QUEUE], self._worker)
        assert job is not None, "no run is waiting"
        return job

    async def end(self, job: Job) -> None:
        """End a claimed run, so that neither it nor its job remains active."""
        async with self.services.pool.connection() as connection:
            await connection.execute(
                "UPDATE engine.runs SET status = 'success', finished_at = now() WHERE run_id = %s",
                (job.task_kwargs["run_id"],),
            )
        manager = self.services.queue.app.job_manager
        await manager.finish_job(job, Status.SUCCEEDED, delete_job=True)


class Target(NamedTuple):
    """A thread with the same position on both sides, and its owner."""

    position: int
    part: float
    """How far into the database it is, from 0 to 1."""

    @property
    def owner(self) -> Owner:
        return next(s.owner for s in SHARES if s.low <= self.position < s.high)

    def number(self, side: Side) -> int:
        return self.position + POSITIONS * int(self.part * (side.threads // POSITIONS))

    def path(self, side: Side) -> str:
        return f"/threads/{UUID(hashlib.md5(f'thread {self.number(side)}'.encode()).hexdigest())}"


def targets(count: int, *, rng: random.Random) -> Iterator[Target]:
    """Half of them are the heavy owner's; no position comes twice before all have come."""
    heavy = next(share for share in SHARES if share.owner == HEAVY)
    pools: list[list[int]] = [[], []]
    for turn in range(count):
        pool = pools[turn % 2]
        if not pool:
            pool += range(heavy.high) if turn % 2 else range(heavy.high, POSITIONS)
            rng.shuffle(pool)
        yield Target(pool.pop(), rng.random())


class Request(NamedTuple):
    """A request to the API."""

    method: str
    path: str
    body: Any = None


def _list(**filters: Any) -> Request:
    """A list without values, as in a sidebar."""
    body = {"limit": 20, "select": ["thread_id", "metadata", "status", "updated_at"], **filters}
    return Request("POST", "/threads/search", body)


def _said(query: str) -> Request:
    return Request("POST", "/threads/messages/search", {"query": query, "limit": 20})


OPERATIONS: Mapping[str, Callable[[str, int], Request]] = {
    "list": lambda _path, _n: _list(),
    "list_with_values": lambda _path, _n: Request("POST", "/threads/search", {"limit": 10}),
    "list_third_page": lambda _path, _n: _list(offset=40),
    "search_status": lambda _path, _n: _list(status="interrupted"),
    "search_project": lambda _path, n: _list(metadata={"project": f"p{n % 50}"}),
    "search_ticket": lambda _path, n: _list(metadata={"ticket": f"t{n}"}),
    "search_title": lambda _path, n: _list(title_contains=f"w{n}"),
    "search_values": lambda _path, n: Request(
        "POST",
        "/threads/search",
        {"metadata": {"batch": f"b{n // 5}"}, "values": {"messages": [{"content": "hello"}]}},
    ),
    "search_rare_word": lambda _path, n: _said(f"w{VOCABULARY - 1 - n % 1000}"),
    "search_common_word": lambda _path, _n: _said("w0"),
    "open": lambda path, _n: Request("GET", path),
    "open_history": lambda path, _n: Request("POST", f"{path}/history", {"limit": 5}),
    "start": lambda path, _n: Request(
        "POST", f"{path}/runs", {"assistant_id": "steps", "input": HELLO}
    ),
    "delete": lambda path, _n: Request("DELETE", path),
}
"""What is asked, by the path and the number of a thread."""


async def measure(sides: list[Side], name: str, count: int, *, rng: random.Random) -> None:
    """Send each request to both sides, one after the other."""
    for turn, target in enumerate(targets(count + WARM, rng=rng)):
        for side in rng.sample(sides, len(sides)):
            request = OPERATIONS[name](target.path(side), target.number(side))
            began = time.perf_counter()
            await side.request(target.owner, *request)
            if turn >= WARM:
                side.times.setdefault(name, []).append(time.perf_counter() - began)


async def measure_claims(sides: list[Side], count: int, *, rng: random.Random) -> None:
    """Claim the runs that were started."""
    for side in sides:
        await side.register()
    for turn in range(count + WARM):
        for side in rng.sample(sides, len(sides)):
            began = time.perf_counter()
            job = await side.claim()
            if turn >= WARM:
                side.times.setdefault("claim", []).append(time.perf_counter() - began)
            await side.end(job)


async def measure_all(sides: list[Side], *, samples: int, seed: int) -> None:
    rng = random.Random(seed)
    for name in OPERATIONS:
        await measure(sides, name, samples, rng=rng)
        if name == "start":
            await measure_claims(sides, samples, rng=rng)


# ── two servers ──


async def make_templates(database: str, redis: str) -> list[Template]:
    """Serve the runs that all others are copied from."""
    found = []
    with served(database, redis, has_keys=True) as server:
        async with open_clients(database, server.port) as clients:
            for turns, positions in TURNS.items():
                thread_id = str(uuid4())
                await clients[HEAVY].post("/threads", json={"thread_id": thread_id})
                body = {"assistant_id": "steps", "input": HELLO}
                for _ in range(turns):
                    path = f"/threads/{thread_id}/runs/wait"
                    (await clients[HEAVY].post(path, json=body)).raise_for_status()
                found.append(Template(thread_id, positions))
    return found


@asynccontextmanager
async def open_clients(database: str, port: int) -> AsyncIterator[dict[Owner, httpx.AsyncClient]]:
    """A client with a key for each owner."""
    async with AsyncExitStack() as stack:
        services = await stack.enter_async_context(open_own(database))
        keys = ApiKeys(services.pool)
        clients = {}
        for share in SHARES:
            secret = (await keys.create(share.owner)).secret
            client = httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}",
                headers={"authorization": f"Bearer {secret}"},
                timeout=60,
            )
            clients[share.owner] = await stack.enter_async_context(client)
        yield clients


def open_own(database: str) -> Any:
    return open_services(database=Database(url=database, max_size=2), graphs=Graphs(graphs()))


@asynccontextmanager
async def open_side(threads: int, redis: str) -> AsyncIterator[Side]:
    """Fill a database and serve it."""
    async with AsyncExitStack() as stack:
        database = stack.enter_context(own_database())
        await migrate_database(Database(url=database))
        templates = await make_templates(database, redis)
        began = time.perf_counter()
        fill(database, templates, threads=threads)
        print(f"{threads} threads in {time.perf_counter() - began:.0f} s", flush=True)
        server = stack.enter_context(served(database, redis, works=False, has_keys=True))
        services = await stack.enter_async_context(open_own(database))
        clients = await stack.enter_async_context(open_clients(database, server.port))
        yield Side(threads, services, clients)


# ── figures ──


def report(few: Side, many: Side) -> dict[str, Any]:
    """Print a table and return the figures."""
    found: dict[str, Any] = {}
    for name in few.times:
        pair = [(_p50(side.times[name]), _p99(side.times[name])) for side in (few, many)]
        (few_p50, few_p99), (many_p50, many_p99) = pair
        found[name] = {
            "few_p50_ms": few_p50,
            "few_p99_ms": few_p99,
            "many_p50_ms": many_p50,
            "many_p99_ms": many_p99,
            "p99_ratio": round(many_p99 / few_p99, 2),
        }
        print(
            f"{name:20} p50 {few_p50:7.1f} → {many_p50:7.1f} ms   "
            f"p99 {few_p99:7.1f} → {many_p99:7.1f} ms   {many_p99 / few_p99:5.2f} ×"
        )
    return found


def _p50(times: list[float]) -> float:
    return round(statistics.median(times) * 1000, 2)


def _p99(times: list[float]) -> float:
    return round(sorted(times)[int(0.99 * (len(times) - 1))] * 1000, 2)


async def run(options: argparse.Namespace) -> dict[str, Any]:
    with own_redis() as redis:
        async with open_side(FEW, redis) as few, open_side(options.threads, redis) as many:
            await measure_all([few, many], samples=options.samples, seed=options.seed)
            return report(few, many)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=100_000)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    operations = asyncio.run(run(options))
    worst = max(operations, key=lambda name: operations[name]["p99_ratio"])
    figures = {
        "threads": [FEW, options.threads],
        "p99_ratio_max": operations[worst]["p99_ratio"],
        "worst": worst,
        "load": round(os.getloadavg()[0], 1),
        "operations": operations,
    }
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
