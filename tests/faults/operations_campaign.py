"""What happens to a service in operation: upgrades, and what hangs, dies, fills up or comes back.

Each scenario runs the same load on an API process and two workers: threads are made, runs are
started, states are read. Counted are acknowledged runs that did not end well (`lost`), steps that a
thread has twice (`doubled`), and failed requests: `http_5xx`, or `refused` in the scenarios where
the database is unavailable for a while. The last line is JSON.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest.mock import patch
from uuid import UUID, uuid4

import httpx
import psycopg
from engine_rig import ALICE, QUICK, ApiProcess, Nursery, Rig, WorkerProcess, open_rig, own_database
from own_services import (
    OwnPostgres,
    OwnRedis,
    own_postgres,
    own_redis,
    own_replicated_postgres,
    postgres_programs,
)
from tally import say

from bathysphere.engine.database.dumps import back_up, restore
from bathysphere.engine.database.pool import Database
from bathysphere.engine.runs.executor import Limits

STEPS = 3
RUNS_A_SECOND = 10
END_SECONDS = 120
QUEUED = 1000
DISK_MEGABYTES = 400
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

    async def start_run(self, client: httpx.AsyncClient) -> tuple[UUID, str] | None:
        """Start a run on a thread of its own; return both ids."""
        thread = uuid4()
        began = time.monotonic()
        started = await self._call(client, "POST", f"/threads/{thread}/runs", RUN)
        self.start_seconds.append(time.monotonic() - began)
        if started is None:
            return None
        self.runs[thread] = UUID(started["run_id"])
        return thread, started["run_id"]

    async def _one(self, client: httpx.AsyncClient) -> None:
        if (started := await self.start_run(client)) is None:
            return
        thread, run = started
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
class Place:
    """Where a scenario stores its data, and the servers of its own, if it needs them."""

    database: Database
    servers: list[OwnPostgres] = field(default_factory=list)


@dataclass(kw_only=True)
class World:
    """The processes of a scenario."""

    nursery: Nursery
    place: Place
    redis: OwnRedis
    seconds: float
    nurseries: ExitStack
    load: Load = field(init=False)
    workers: list[WorkerProcess] = field(default_factory=list)
    apis: list[ApiProcess] = field(default_factory=list)

    @property
    def database(self) -> Database:
        """Where the data is stored."""
        return self.place.database

    def start(self) -> None:
        """Start an API process and two workers, and put the load on them."""
        self.load = Load(address=self._start_api(self.nursery).address)
        self.workers += [self._start_worker(self.nursery) for _ in range(2)]

    async def start_worker(self, nursery: Nursery | None = None) -> WorkerProcess:
        """Start one more worker."""
        return await asyncio.to_thread(self._start_worker, nursery or self.nursery)

    def replace_workers(self) -> None:
        """Start a worker for each that is gone."""
        self.workers[:] = [self._start_worker(self.nursery) for _ in self.workers]

    def open_nursery(self, environment: dict[str, str]) -> Nursery:
        """Open another nursery, for processes with these environment variables."""
        return self.nurseries.enter_context(closing(Nursery(environment)))

    async def start_api(self, nursery: Nursery | None = None) -> None:
        """Start one more API process, and direct the load to it."""
        api = await asyncio.to_thread(self._start_api, nursery or self.nursery)
        self.load.address = api.address

    def end(self) -> None:
        """End all processes."""
        for process in (*self.apis, *self.workers):
            process.end()

    def _start_api(self, nursery: Nursery) -> ApiProcess:
        api = nursery.serve(self.database, redis=self.redis.url)
        self.apis.append(api)
        return api

    def _start_worker(self, nursery: Nursery) -> WorkerProcess:
        return nursery.start(self.database, redis=self.redis.url, worker=QUICK, limits=Limits())


@dataclass(kw_only=True)
class Outcome:
    """What a scenario showed."""

    lost: int
    doubled: int
    http_5xx: int
    refused: int
    runs: int
    start_p99: float
    attempts_lost: int


# ── places ──


@contextmanager
def anywhere() -> Iterator[Place]:
    """A database of the machine's own PostgreSQL."""
    with own_database() as database:
        yield Place(database=database)


@contextmanager
def on_a_small_disk() -> Iterator[Place]:
    """A PostgreSQL whose disk can be filled."""
    with own_postgres(megabytes=DISK_MEGABYTES) as server, own_database(server.url) as database:
        yield Place(database=database, servers=[server])


@contextmanager
def with_a_replica() -> Iterator[Place]:
    """Two PostgreSQL servers, of which clients choose the one that may be written."""
    with own_replicated_postgres() as (primary, replica):
        both = f"postgresql://root@127.0.0.1:{primary.port},127.0.0.1:{replica.port}"
        with (
            patch.dict(os.environ, PGTARGETSESSIONATTRS="read-write"),
            own_database(both) as database,
        ):
            yield Place(database=database, servers=[primary, replica])


# ── what happens ──


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
        await asyncio.to_thread(event)
    await loading


async def workers_are_killed(world: World) -> None:
    """Both workers are killed, with runs in hand and in the queue."""
    loading = asyncio.create_task(world.load.go_on_for(world.seconds))
    await asyncio.sleep(world.seconds / 2)
    await _replace_killed_workers(world)
    await loading


async def a_long_queue(world: World) -> None:
    """Both workers are killed with a thousand runs in the queue."""
    async with httpx.AsyncClient(base_url=world.load.address, timeout=30) as client:
        for _ in range(QUEUED // 20):
            await asyncio.gather(*(world.load.start_run(client) for _ in range(20)))
    await _replace_killed_workers(world)


async def _replace_killed_workers(world: World) -> None:
    for worker in world.workers:
        worker.kill()
    await asyncio.to_thread(world.replace_workers)


async def replica_is_promoted(world: World) -> None:
    """The primary dies, and its replica takes over."""
    primary, replica = world.place.servers

    def fail_over() -> None:
        primary.stop("immediate")
        replica.promote()

    await _under_load(world, fail_over)


async def disk_is_full(world: World) -> None:
    """PostgreSQL's disk is full until an operator makes room."""
    [server] = world.place.servers
    ballast = server.folder / "ballast"

    def fill() -> None:
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(2**20))

    def make_room() -> None:
        ballast.unlink()
        server.ensure_started()

    await _under_load(world, fill, make_room)


async def clocks_are_wrong(world: World) -> None:
    """Clocks are ten minutes off: a worker behind its API hands over its runs, one ahead dies."""
    ahead, behind = (world.open_nursery(_clock(offset)) for offset in ("+10m", "-10m"))
    await asyncio.to_thread(world.end)
    await world.start_api(ahead)
    world.workers[:] = [await world.start_worker(one) for one in (behind, ahead)]
    hands_over, dies = world.workers
    await _under_load(world, hands_over.drain, dies.kill, world.replace_workers)


def _clock(offset: str) -> dict[str, str]:
    """Variables that move a process's clock, but not how fast time goes by for it."""
    [library] = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    moved = {"FAKETIME": offset, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    return {"LD_PRELOAD": str(library), **moved}


async def database_is_restored(world: World) -> None:
    """A backup that was made under load is restored: what it has goes on as if nothing was."""
    with tempfile.TemporaryDirectory() as folder:
        backup = Path(folder, "backup")
        programs = postgres_programs()
        known: dict[UUID, UUID] = {}

        def write_backup() -> None:
            known.update(world.load.runs)
            back_up(world.database.url, backup, programs=programs)

        await _under_load(world, write_backup)
        await asyncio.to_thread(world.end)
        await asyncio.to_thread(restore, world.database.url, backup, programs=programs)
    world.load.runs = known
    await world.start_api()
    await asyncio.to_thread(world.replace_workers)
    await world.load.go_on_for(world.seconds / 2)


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


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What happens, and where."""

    happens: Callable[[World], Awaitable[None]]
    place: Callable[[], AbstractContextManager[Place]] = anywhere
    loses_attempts: bool = False
    """Whether runs are begun again: their worker or its database is lost."""
    is_away: bool = False
    """Whether the database is unavailable for a while, so that requests are refused."""


SCENARIOS: dict[str, Scenario] = {
    "upgrade": Scenario(happens=upgrade),
    "redis_hangs": Scenario(happens=redis_hangs),
    "redis_is_gone": Scenario(happens=redis_is_gone),
    "workers_are_killed": Scenario(happens=workers_are_killed, loses_attempts=True),
    "a_long_queue": Scenario(happens=a_long_queue, loses_attempts=True),
    "one_run_is_poison": Scenario(happens=one_run_is_poison, loses_attempts=True),
    "api_is_killed": Scenario(happens=api_is_killed),
    "clocks_are_wrong": Scenario(happens=clocks_are_wrong, loses_attempts=True),
    "replica_is_promoted": Scenario(
        happens=replica_is_promoted, place=with_a_replica, loses_attempts=True, is_away=True
    ),
    "disk_is_full": Scenario(
        happens=disk_is_full, place=on_a_small_disk, loses_attempts=True, is_away=True
    ),
    "database_is_restored": Scenario(happens=database_is_restored, loses_attempts=True),
}


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


async def _judge(scenario: Scenario, world: World, rig: Rig) -> Outcome:
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
        if run.status != "success" or not set(expected) <= set(items):
            say(f"lost: {run.run_id} is {run.status} after {run.attempt} attempts: {run.error}")
            lost += 1
        doubled += len(items) != len(set(items))
        attempts_lost += run.attempt - 1
    failed = sum(code >= 500 for code in world.load.codes)
    return Outcome(
        lost=lost,
        doubled=doubled,
        http_5xx=0 if scenario.is_away else failed,
        refused=failed if scenario.is_away else 0,
        runs=len(world.load.runs),
        start_p99=round(world.load.start_p99, 3),
        attempts_lost=attempts_lost,
    )


def play(scenario: Scenario, *, seconds: float) -> Outcome:
    """Play a scenario on servers and processes of its own."""
    with scenario.place() as place, own_redis() as redis, ExitStack() as nurseries:
        nursery = nurseries.enter_context(closing(Nursery()))
        world = World(
            nursery=nursery, place=place, redis=redis, seconds=seconds, nurseries=nurseries
        )
        try:
            world.start()
            return asyncio.run(_play(scenario, world))
        finally:
            world.end()


async def _play(scenario: Scenario, world: World) -> Outcome:
    await scenario.happens(world)
    async with open_rig(world.database, redis_url=world.redis.url) as rig:
        return await _judge(scenario, world, rig)


def summary(outcomes: dict[str, Outcome]) -> dict[str, object]:
    """The figures of all scenarios together."""
    return {
        "scenarios": len(outcomes),
        "runs": sum(one.runs for one in outcomes.values()),
        "lost": sum(one.lost for one in outcomes.values()),
        "doubled": sum(one.doubled for one in outcomes.values()),
        "http_5xx": sum(one.http_5xx for one in outcomes.values()),
        "refused": sum(one.refused for one in outcomes.values()),
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
