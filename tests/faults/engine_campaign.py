"""A campaign against the engine: seeded schedules of everything that can go away going away.

    python tests/faults/engine_campaign.py --schedules 300 --seed 1

Each schedule is a thread with some runs, a client that reads its stream through an API process, and
faults at chosen steps (`schedules.py` names them all). PostgreSQL, Redis, workers, APIs and the
wires between workers and PostgreSQL are the campaign's own. Half of it has two workers, half three.
The last line is JSON: `schedules`, `lost`, `doubled`, `takeover_max_s`, and what they are made of.
"""

import argparse
import asyncio
import contextlib
import logging
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).parent))

import httpx
from engine_rig import QUICK, ApiProcess, Nursery, Rig, WorkerProcess, open_rig, own_database
from link import Link
from own_services import OwnPostgres, OwnRedis, own_postgres, own_redis
from redis.asyncio import Redis
from schedules import Fault, Schedule, draw
from stream_client import StreamClient, open_http
from tally import Tally, judge_effects, judge_items, judge_stream, say
from watch import Watch, steady

from bathysphere.core.clock import SystemClock
from bathysphere.engine.database import Database
from bathysphere.engine.events_redis import RedisEventLog
from bathysphere.engine.records import Run

APIS = 2
AT_ONCE = 8
# One worker can hold every schedule: a run must not wait for a place when takeover is measured.
PACE = replace(QUICK, concurrency=AT_ONCE + 2)
PATIENCE = 60  # seconds a schedule may take


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the campaign stands on."""

    nursery: Nursery
    database: Database
    postgres: OwnPostgres
    redis: OwnRedis


@dataclass(eq=False, slots=True)
class Hand:
    """A worker, and its wire."""

    process: WorkerProcess
    link: Link


@dataclass(kw_only=True)
class Troupe:
    """The processes that are there to be killed; whoever dies is replaced."""

    ground: Ground
    workers: dict[int, Hand] = field(default_factory=dict)
    apis: list[ApiProcess] = field(default_factory=list)
    gone: list[WorkerProcess] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    _asking: asyncio.Lock = field(default_factory=asyncio.Lock)

    def addresses(self) -> list[str]:
        return [api.address for api in self.apis]

    async def add_worker(self) -> None:
        link = await Link(self.ground.postgres.port).open()
        self.links.append(link)
        url = self.ground.database.url
        through = replace(
            self.ground.database,
            url=url.replace(f":{self.ground.postgres.port}/", f":{link.port}/"),
        )
        worker = await self._ask(
            lambda: self.ground.nursery.start(
                through, pace=PACE, redis=self.ground.redis.url, world=url
            )
        )
        self.workers[worker.pid] = Hand(worker, link)

    async def add_api(self) -> None:
        api = await self._ask(
            lambda: self.ground.nursery.serve(self.ground.database, redis=self.ground.redis.url)
        )
        self.apis.append(api)

    async def _ask(self, start: Callable[[], "WorkerProcess"]) -> "WorkerProcess":
        async with self._asking, asyncio.timeout(60):
            while True:
                with contextlib.suppress(AssertionError):  # PostgreSQL was away
                    return await asyncio.to_thread(start)

    def take(self, pid: int) -> Hand | None:
        """The worker, out of everybody else's reach; None when it is already gone."""
        hand = self.workers.pop(pid, None)
        if hand is not None:
            self.gone.append(hand.process)
        return hand

    async def close(self) -> None:
        for hand in self.workers.values():
            hand.process.end()
        for process in (*self.apis, *self.gone):
            process.end()
        for link in self.links:
            await link.close()


@dataclass(kw_only=True)
class Campaign:
    """Schedules that run against the troupe."""

    rig: Rig
    troupe: Troupe
    watch: Watch
    http: httpx.AsyncClient
    tally: Tally = field(default_factory=Tally)
    redis_losses: int = 0
    _restarting: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def play(self, schedule: Schedule) -> None:
        """Run a schedule and judge it."""
        losses = self.redis_losses
        runs = [await self._start(schedule, *run) for run in schedule.runs]
        client = StreamClient(
            http=self.http,
            thread=schedule.thread,
            addresses=self.troupe.addresses,
            waits_for=[str(run.run_id) for run in runs],
            sends_since=schedule.sends_since,
        )
        try:
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                group.create_task(client.read())
                for fault in schedule.faults:
                    group.create_task(self._inflict(fault, schedule, runs, client))
                for run in runs:
                    group.create_task(self.watch.ended(run.run_id))
        except TimeoutError:
            say(f"STUCK {schedule}: the stream waits for {client.waits_for}, {client.story()}")
            self.tally.streams_stuck += bool(client.waits_for)
        await self._judge(schedule, runs, client, is_whole=losses == self.redis_losses)

    async def _start(self, schedule: Schedule, name: str, steps: int, delay: float) -> Run:
        values = {"items": [f"said {name}"], "name": name, "steps": steps, "delay": delay}
        # With an id of its own: asking again after a lost answer must not make a second run.
        run_id = uuid4()
        self.watch.track(run_id)
        return await steady(
            lambda: self.rig.start(schedule.thread, "paying", input=dict(values), run_id=run_id)
        )

    async def _inflict(
        self, fault: Fault, schedule: Schedule, runs: list[Run], client: StreamClient
    ) -> None:
        pid = await self.watch.executed(schedule.thread, fault.at)
        await asyncio.sleep(fault.later)
        if fault.kind in ("kill", "stop", "drain"):
            await self._hit_worker(fault, pid, runs)
        elif fault.kind in ("link_reset", "link_stall", "link_drop"):
            await self._hit_link(fault, pid, runs)
        elif fault.kind in ("api_kill", "api_stop"):
            await self._hit_api(fault, client)
        else:
            await self._hit_everybody(fault)

    async def _hit_worker(self, fault: Fault, pid: int, runs: list[Run]) -> None:
        hand = self.troupe.take(pid)
        if hand is None:  # another schedule took it
            return
        self.tally.faults[fault.kind] += 1
        before = self._attempts(runs)
        signals = {"drain": signal.SIGTERM, "kill": signal.SIGKILL, "stop": signal.SIGSTOP}
        hand.process.send(signals[fault.kind])
        began = time.monotonic()
        adding = asyncio.create_task(self.troupe.add_worker())
        await self._taken_over(before, began)
        if fault.kind == "stop":
            await asyncio.sleep(0.3)
            hand.process.send(signal.SIGCONT)
            await asyncio.sleep(1.0)  # to spoil what it can, then it has had its chance
            hand.process.send(signal.SIGKILL)
        await adding

    async def _hit_link(self, fault: Fault, pid: int, runs: list[Run]) -> None:
        hand = self.troupe.workers.get(pid)
        if hand is None:
            return
        self.tally.faults[fault.kind] += 1
        if fault.kind == "link_reset":
            hand.link.reset()
        elif fault.kind == "link_stall":
            await hand.link.stall(fault.lasts)
        else:
            await hand.link.drop(fault.lasts)

    async def _hit_api(self, fault: Fault, client: StreamClient) -> None:
        api = next((api for api in self.troupe.apis if api.address == client.address), None)
        if api is None or len(self.troupe.apis) < APIS:
            return
        self.tally.faults[fault.kind] += 1
        if fault.kind == "api_stop":
            api.send(signal.SIGSTOP)
            await asyncio.sleep(fault.lasts)
            if api in self.troupe.apis:
                api.send(signal.SIGCONT)
            return
        self.troupe.apis.remove(api)
        self.troupe.gone.append(api)
        api.send(signal.SIGKILL)
        await self.troupe.add_api()

    async def _hit_everybody(self, fault: Fault) -> None:
        self.tally.faults[fault.kind] += 1
        ground = self.troupe.ground
        async with self._restarting:
            if fault.kind == "cut":
                await steady(self.rig.cut_workers_off)
            elif fault.kind == "postgres_fast":
                await asyncio.to_thread(ground.postgres.restart, "fast")
            elif fault.kind == "postgres_crash":
                await asyncio.to_thread(ground.postgres.restart, "immediate")
            else:
                await self._lose_redis(fault)
                self.redis_losses += 1

    async def _lose_redis(self, fault: Fault) -> None:
        self.redis_losses += 1
        server = self.troupe.ground.redis
        if fault.kind == "redis_flush":
            await asyncio.to_thread(server.flush)
            return
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(min(fault.lasts, 1.0))
        await asyncio.to_thread(server.start)

    def _attempts(self, runs: list[Run]) -> dict[UUID, int]:
        seen = {run.run_id: self.watch.runs.get(run.run_id) for run in runs}
        return {
            run_id: now.attempt
            for run_id, now in seen.items()
            if now is not None and now.status == "running"
        }

    async def _taken_over(self, before: dict[UUID, int], began: float) -> None:
        for run_id, attempt in before.items():
            await self.watch.until(lambda r=run_id, n=attempt: self._has_moved(r, n))
            if self.watch.runs[run_id].attempt > attempt:
                self.tally.takeovers.append(time.monotonic() - began)

    def _has_moved(self, run_id: UUID, attempt: int) -> bool:
        now = self.watch.runs[run_id]  # it may also end before the fault is felt
        return now.is_over or now.attempt > attempt

    async def _judge(
        self, schedule: Schedule, runs: list[Run], client: StreamClient, *, is_whole: bool
    ) -> None:
        tally = self.tally
        tally.schedules += 1
        for run in runs:
            now = await steady(lambda run=run: self.rig.runs.get(run.run_id, owner=run.owner))
            if now.status != "success":
                tally.runs_lost += 1
                say(f"LOST {run.run_id}: {now.status} {now.error}")
        thread = schedule.thread
        if not judge_items(tally, schedule, await steady(lambda: self.rig.items(thread))):
            await self._tell_history(thread)
        judge_effects(tally, schedule, await steady(lambda: self.rig.journal(thread)))
        if is_whole and client.ids and not client.waits_for:
            await self._judge_stream(schedule, client)

    async def _tell_history(self, thread: UUID) -> None:
        async with self.rig.pool.connection() as connection:
            for query in _TOLD:
                rows = await (await connection.execute(query, (str(thread),))).fetchall()
                for row in rows:
                    say("  " + " ".join(str(value) for value in row.values()))

    async def _judge_stream(self, schedule: Schedule, client: StreamClient) -> None:
        """What the client has, through all its connections, is what one connection gives."""
        losses = self.redis_losses
        last = client.ids[-1]
        while True:
            again = replace(client, seen=[], repeats=0, waits_for=["everything"], _known=set())
            again.address = self.troupe.addresses()[0]
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(5):
                    await again.read_once(until=lambda event: event["seq"] >= last)
                    break
            await asyncio.sleep(0.2)
            if losses != self.redis_losses:
                return
        if losses == self.redis_losses:
            judge_stream(self.tally, schedule, client, again)


_TOLD = (
    "SELECT at::time, who, backend, job, what FROM job_history WHERE lock = %s ORDER BY at",
    "SELECT at::time, what, pid FROM journal WHERE thread = %s ORDER BY id",
    "SELECT run_id, status, attempt, job_id, started_at::time, finished_at::time"
    " FROM engine.runs WHERE thread_id::text = %s ORDER BY seq",
)
# What happened to the queue's jobs: the only way to find out later who did what to whom.
_HISTORY = """
CREATE TABLE job_history (
    at timestamptz DEFAULT clock_timestamp(), who text DEFAULT current_setting('application_name'),
    backend int DEFAULT pg_backend_pid(), lock text, job bigint, what text);
CREATE FUNCTION remember_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_history (lock, job, what) VALUES (
        COALESCE(NEW.lock, OLD.lock), COALESCE(NEW.id, OLD.id),
        TG_OP || ' ' || concat_ws(',', OLD.status, OLD.worker_id, OLD.attempts) || ' > '
              || concat_ws(',', NEW.status, NEW.worker_id, NEW.attempts));
    RETURN NULL;
END $$;
CREATE TRIGGER remember_job AFTER INSERT OR UPDATE OR DELETE ON procrastinate_jobs
    FOR EACH ROW EXECUTE FUNCTION remember_job();
"""


@asynccontextmanager
async def open_campaign(ground: Ground, workers: int) -> AsyncIterator[Campaign]:
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(Redis.from_url(ground.redis.url))
        log = await stack.enter_async_context(RedisEventLog(redis, clock=SystemClock()))
        rig = await stack.enter_async_context(open_rig(ground.database, log))
        async with rig.pool.connection() as connection:
            await connection.execute(_HISTORY)
        http = await stack.enter_async_context(open_http())
        troupe = Troupe(ground=ground)
        stack.push_async_callback(troupe.close)
        for _ in range(workers):
            await troupe.add_worker()
        for _ in range(APIS):
            await troupe.add_api()
        watch = Watch(pool=rig.pool)
        watching = asyncio.create_task(watch.run())
        stack.callback(watching.cancel)
        yield Campaign(rig=rig, troupe=troupe, watch=watch, http=http)


async def several(*plays: Callable[[], Awaitable[None]], at_once: int) -> None:
    turn = asyncio.Semaphore(at_once)

    async def one(play: Callable[[], Awaitable[None]]) -> None:
        async with turn:
            await play()

    async with asyncio.TaskGroup() as group:
        for play in plays:
            group.create_task(one(play))


async def campaign(
    ground: Ground, *, schedules: int, seed: int, at_once: int, only: set[int]
) -> Tally:
    """All schedules: the first half with three workers, then one goes and two remain."""
    numbers = [n for n in range(schedules) if not only or n in only]
    half = (len(numbers) + 1) // 2
    told = [0]
    async with open_campaign(ground, workers=3) as plan:

        async def one(number: int) -> None:
            await plan.play(draw(seed, number))
            tally = plan.tally
            if tally.schedules >= told[-1] + 20:
                told.append(tally.schedules)
                say(
                    f"{tally.schedules}/{len(numbers)}: {tally.lost} lost, {tally.doubled} doubled,"
                    f" slowest takeover {tally.takeover_max} s"
                )

        await several(*[lambda n=n: one(n) for n in numbers[:half]], at_once=at_once)
        spare = plan.troupe.take(next(iter(plan.troupe.workers)))
        assert spare is not None
        spare.process.send(signal.SIGTERM)
        await several(*[lambda n=n: one(n) for n in numbers[half:]], at_once=at_once)
        return plan.tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="these numbers only")
    options = parser.parse_args()
    logging.getLogger("psycopg.pool").setLevel("CRITICAL")  # its losses are the point
    logging.getLogger("psycopg").setLevel("CRITICAL")
    began = time.monotonic()
    nursery = Nursery()
    with own_postgres() as postgres, own_redis() as redis, own_database(postgres.url) as database:
        ground = Ground(nursery=nursery, database=database, postgres=postgres, redis=redis)
        try:
            tally = asyncio.run(
                campaign(
                    ground,
                    schedules=options.schedules,
                    seed=options.seed,
                    at_once=options.at_once,
                    only=set(options.only),
                )
            )
        finally:
            nursery.close()
    tally.seconds = round(time.monotonic() - began)
    say(tally.line())
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
