"""What happens to a service in operation: upgrades, and processes that hang, die or come back.

Each scenario runs the same load on an API process and two workers: threads are made, runs are
started, states are read. Counted are acknowledged runs that did not end well (`lost`), steps that a
thread has twice (`doubled`), and refusals by the server (`http_5xx`). The last line is JSON.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID, uuid4

import httpx
import psycopg
from engine_rig import ALICE, QUICK, ApiProcess, Nursery, Rig, WorkerProcess, open_rig, own_database
from own_services import OwnRedis, own_redis
from tally import say

from bathysphere.engine.database.pool import Database
from bathysphere.engine.runs.executor import Limits

STEPS = 3
RUNS_A_SECOND = 10
END_SECONDS = 60
KILLS_A_SECOND = 100 / 60
RUN = {
    "assistant_id": "steps",
    "input": {"name": "a", "steps": STEPS, "delay": 0.05},
    "if_not_exists": "create",
}


@dataclass(kw_only=True)
class Load:
    """The requests of a scenario, and their outcomes."""

    address: str
    codes: list[int] = field(default_factory=list)
    start_seconds: list[float] = field(default_factory=list)
    wrong_results: int = 0
    runs: dict[UUID, UUID] = field(default_factory=dict)
    """Acknowledged runs, by thread."""

    async def go_on_for(self, seconds: float) -> None:
        """Start runs at an even rate."""
        client = httpx.AsyncClient(base_url=self.address, timeout=30)
        async with client, asyncio.TaskGroup() as group:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                group.create_task(self._one(client))
                await asyncio.sleep(1 / RUNS_A_SECOND)

    async def _one(self, client: httpx.AsyncClient) -> None:
        thread = uuid4()
        began = time.monotonic()
        started = await self._call(client, "POST", f"/threads/{thread}/runs", RUN)
        self.start_seconds.append(time.monotonic() - began)
        if started is None:
            return
        run = started["run_id"]
        self.runs[thread] = UUID(run)
        await self._call(client, "GET", f"/threads/{thread}/runs/{run}")
        await self._call(client, "GET", f"/threads/{thread}/state")
        await self._call(client, "POST", "/threads/search", {"limit": 3})
        await self._wait(client)

    async def _wait(self, client: httpx.AsyncClient) -> None:
        """Wait for a run whose thread is deleted with it."""
        body = {"assistant_id": "steps", "input": {"name": "w", "steps": 1, "delay": 0}}
        ended = await self._call(client, "POST", "/runs/wait", body)
        if ended is not None and ended.get("items") != ["w:0"]:
            say(f"waited for nothing: {ended}")
            self.wrong_results += 1

    async def _call(
        self, client: httpx.AsyncClient, method: str, path: str, body: object = None
    ) -> dict | None:
        try:
            answer = await client.request(method, path, json=body)
        except httpx.HTTPError as error:
            say(f"{method} {path}: {error!r}")
            self.codes.append(599)
            return None
        self.codes.append(answer.status_code)
        if answer.status_code >= 500:
            say(f"{method} {path}: {answer.status_code} {answer.text[:300]}")
        return answer.json() if answer.status_code < 300 else None

    @property
    def start_p99(self) -> float:
        """Seconds in which 99 of 100 runs were started."""
        ordered = sorted(self.start_seconds)
        return ordered[int(len(ordered) * 0.99) - 1] if ordered else 0.0


@dataclass(kw_only=True)
class World:
    """The processes of a scenario."""

    nursery: Nursery
    database: Database
    redis: OwnRedis
    workers: list[WorkerProcess]
    load: Load
    seconds: float

    async def start_worker(self) -> WorkerProcess:
        """Start one more worker."""
        return await asyncio.to_thread(
            self.nursery.start,
            self.database,
            redis=self.redis.url,
            worker=QUICK,
            limits=Limits(),
        )


@dataclass(kw_only=True)
class Outcome:
    """What a scenario showed."""

    lost: int
    doubled: int
    http_5xx: int
    runs: int
    start_p99: float
    attempts_lost: int


Scenario = Callable[[World], Awaitable[None]]


async def upgrade(world: World) -> None:
    """Every table gets a column, and a newer API adds a field to the work of its runs."""
    await _under_load(
        world,
        partial(_add_columns, world.database),
        partial(_write_newer_work, world.database),
    )


async def redis_hangs(world: World) -> None:
    """Redis accepts connections and answers nothing."""
    await _under_load(world, world.redis.hang, world.redis.go_on)


async def redis_is_gone(world: World) -> None:
    """Redis ends, and comes back empty."""
    await _under_load(world, world.redis.kill, world.redis.start)


async def _under_load(world: World, *events: Callable[[], None]) -> None:
    """Let events happen at even distances while the load goes on."""
    loading = asyncio.create_task(world.load.go_on_for(world.seconds))
    for event in events:
        await asyncio.sleep(world.seconds / (len(events) + 1))
        event()
    await loading


async def workers_are_killed(world: World) -> None:
    """Both workers are killed, with runs in hand and in the queue."""
    loading = asyncio.create_task(world.load.go_on_for(world.seconds))
    await asyncio.sleep(world.seconds / 2)
    for worker in world.workers:
        worker.kill()
    world.workers[:] = [await world.start_worker() for _ in world.workers]
    await loading


async def one_run_is_poison(world: World) -> None:
    """A run kills every worker that executes it; the others must not be given up with it."""
    supervising = asyncio.create_task(_restart_workers(world))
    loading = asyncio.create_task(world.load.go_on_for(world.seconds))
    await asyncio.sleep(world.seconds / 3)
    async with httpx.AsyncClient(base_url=world.load.address, timeout=30) as client:
        body = {"assistant_id": "poison", "input": {"name": "p"}, "if_not_exists": "create"}
        poison = (await client.post(f"/threads/{uuid4()}/runs", json=body)).json()
        await loading
        path = f"/threads/{poison['thread_id']}/runs/{poison['run_id']}"
        async with asyncio.timeout(END_SECONDS):
            while (await client.get(path)).json()["status"] in ("pending", "running"):  # noqa: ASYNC110  # another process changes it
                await asyncio.sleep(0.2)
    supervising.cancel()


async def _restart_workers(world: World) -> None:
    """Start a worker for each that has died, as a supervisor does."""
    while True:
        await asyncio.sleep(0.1)
        for place, worker in enumerate(world.workers):
            if worker.is_dead():
                worker.reap()
                world.workers[place] = await world.start_worker()


async def api_is_killed(world: World) -> None:
    """An API dies again and again while requests are sent twice, each until it is answered."""
    chance = random.Random(7)
    serve = partial(world.nursery.serve, world.database, redis=world.redis.url)
    apis = [serve()]
    for _ in range(max(2, round(world.seconds * KILLS_A_SECOND))):
        sending = [
            asyncio.create_task(_submit_twice(world.load, lambda: apis[-1].address))
            for _ in range(10)
        ]
        await asyncio.sleep(chance.uniform(0.0, 0.1))
        apis[-1].kill()
        apis.append(await asyncio.to_thread(serve))
        await asyncio.gather(*sending)
    apis[-1].end()


async def _submit_twice(load: Load, address: Callable[[], str]) -> None:
    """Send a request until it was answered twice; a second run would double the thread's steps."""
    thread = uuid4()
    answered: set[str] = set()
    codes: list[int] = []
    headers = {"Idempotency-Key": str(thread)}
    # One client: each new one reads all certificates, and ten of them would slow the API's start.
    async with httpx.AsyncClient(timeout=10, headers=headers) as client:
        while len(codes) < 2:
            try:
                answer = await client.post(f"{address()}/threads/{thread}/runs", json=RUN)
            except httpx.HTTPError:
                await asyncio.sleep(0.05)
                continue
            codes.append(answer.status_code)
            answered.add(answer.json()["run_id"])
    load.codes += codes
    load.runs[thread] = UUID(answered.pop())
    load.wrong_results += len(answered)


SCENARIOS: dict[str, Scenario] = {
    "upgrade": upgrade,
    "redis_hangs": redis_hangs,
    "redis_is_gone": redis_is_gone,
    "workers_are_killed": workers_are_killed,
    "one_run_is_poison": one_run_is_poison,
    "api_is_killed": api_is_killed,
}
LOSES_WORKERS = ("workers_are_killed", "one_run_is_poison")


def _add_columns(database: Database) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for (table,) in tables:
            connection.execute(f"ALTER TABLE {table} ADD COLUMN added_later text".encode())


def _write_newer_work(database: Database) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION newer() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            """ NEW.work = NEW.work || '{"added_later": true}'; RETURN NEW; END $$;"""
            "CREATE TRIGGER newer BEFORE INSERT ON engine.runs"
            " FOR EACH ROW EXECUTE FUNCTION newer()"
        )


async def _judge(world: World, rig: Rig) -> Outcome:
    """Wait for the runs to end, and compare their threads with what they must have."""
    expected = [f"a:{n}" for n in range(STEPS)]
    lost, doubled, attempts_lost = world.load.wrong_results, 0, 0
    until = time.monotonic() + END_SECONDS
    for thread, run_id in world.load.runs.items():
        run = await rig.runs.get(run_id, owner=ALICE)
        while not run.is_over and time.monotonic() < until:
            await asyncio.sleep(0.05)
            run = await rig.runs.get(run_id, owner=ALICE)
        items = await rig.items(thread)
        lost += run.status != "success" or not set(expected) <= set(items)
        doubled += len(items) != len(set(items))
        attempts_lost += run.attempt - 1
    return Outcome(
        lost=lost,
        doubled=doubled,
        http_5xx=sum(code >= 500 for code in world.load.codes),
        runs=len(world.load.runs),
        start_p99=round(world.load.start_p99, 3),
        attempts_lost=attempts_lost,
    )


def play(scenario: Scenario, *, seconds: float) -> Outcome:
    """Play a scenario on servers and processes of its own."""
    nursery = Nursery()
    try:
        with (
            own_database() as database,
            own_redis() as redis,
            _api(nursery, database, redis) as api,
            nursery.workers(database, 2, redis=redis.url, worker=QUICK, limits=Limits()) as workers,
        ):
            world = World(
                nursery=nursery,
                database=database,
                redis=redis,
                workers=workers,
                load=Load(address=api.address),
                seconds=seconds,
            )
            return asyncio.run(_play(scenario, world))
    finally:
        nursery.close()


async def _play(scenario: Scenario, world: World) -> Outcome:
    await scenario(world)
    async with open_rig(world.database, redis_url=world.redis.url) as rig:
        return await _judge(world, rig)


@contextmanager
def _api(nursery: Nursery, database: Database, redis: OwnRedis) -> Iterator[ApiProcess]:
    api = nursery.serve(database, redis=redis.url)
    try:
        yield api
    finally:
        api.end()


def summary(outcomes: dict[str, Outcome]) -> dict[str, object]:
    """The figures of all scenarios together."""
    return {
        "scenarios": len(outcomes),
        "runs": sum(one.runs for one in outcomes.values()),
        "lost": sum(one.lost for one in outcomes.values()),
        "doubled": sum(one.doubled for one in outcomes.values()),
        "http_5xx": sum(one.http_5xx for one in outcomes.values()),
        "start_p99_s": {name: one.start_p99 for name, one in outcomes.items()},
    }


def main() -> None:
    """Play the scenarios, and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="load per scenario")
    parser.add_argument("--only", default="", help="names of scenarios, separated by commas")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(SCENARIOS)
    outcomes = {}
    for name in names:
        outcomes[name] = play(SCENARIOS[name], seconds=arguments.seconds)
        say(f"{name}: {outcomes[name]}")
    figures = summary(outcomes)
    sys.stdout.write(f"{json.dumps(figures)}\n")
    if figures["lost"] or figures["doubled"] or figures["http_5xx"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
