"""Fault campaign for the engine: seeded schedules in which processes, networks and servers fail.

    python tests/faults/engine_campaign.py --schedules 300 --seed 1

300 schedules take eight to twelve minutes on two cores; progress is printed every 30 s. Each
schedule is a thread with some runs, a client that reads its stream through an API process, and
faults at chosen steps (`schedules.py` lists them). The campaign has its own PostgreSQL, Redis,
workers, APIs and links between workers and PostgreSQL. One half has two workers, the other three.
With `--graphs foreign` the runs are of a project that knows nothing of this engine
(`foreign_project/`): two agents, a function, a graph with a subgraph, and one built per run.

The last line is JSON: `schedules`, `lost`, `doubled`, `takeover_max_s`, and their details.
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
from cancellations import AT_PICKUP, cancel_at_pickup, cancel_queued
from engine_graphs import GraphSet
from engine_rig import QUICK, ApiProcess, Nursery, Rig, WorkerProcess, open_rig, own_database
from foreign import FOREIGN, items_of, run_input
from link import Link
from own_services import OwnPostgres, OwnRedis, RigLost, own_postgres, own_redis
from progress import Progress
from schedules import Fault, Schedule, draw
from stream_client import StreamClient, open_http
from tally import TAKEOVER, Tally, judge_effects, judge_items, judge_stream, say
from watch import Watch, steady

from bathysphere.engine.database.pool import Database
from bathysphere.engine.records import Run

APIS = 2
AT_ONCE = 8
# One worker can run every schedule: a run must not wait for a slot when takeovers are measured.
PACE = replace(QUICK, concurrency=AT_ONCE + 2)
TIMEOUT = 60  # seconds until a schedule's runs have ended and its faults have passed
BOUND = 180  # seconds for a whole schedule, from its first run to its judgement


@dataclass(frozen=True, kw_only=True)
class CampaignServers:
    """The servers and the database of the campaign."""

    nursery: Nursery
    database: Database
    postgres: OwnPostgres
    redis: OwnRedis
    graphs: GraphSet = "own"


@dataclass(eq=False, slots=True)
class LinkedWorker:
    """A worker and its link to PostgreSQL."""

    process: WorkerProcess
    link: Link


@dataclass(kw_only=True)
class Processes:
    """The processes to be killed; each that dies is replaced."""

    ground: CampaignServers
    workers: dict[int, LinkedWorker] = field(default_factory=dict)
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
                through,
                worker=PACE,
                redis=self.ground.redis.url,
                world=url,
                graphs=self.ground.graphs,
            )
        )
        self.workers[worker.pid] = LinkedWorker(worker, link)

    async def add_api(self) -> None:
        api = await self._ask(
            lambda: self.ground.nursery.serve(
                self.ground.database, redis=self.ground.redis.url, graphs=self.ground.graphs
            )
        )
        self.apis.append(api)

    async def _ask(self, start: Callable[[], "WorkerProcess"]) -> "WorkerProcess":
        async with self._asking, asyncio.timeout(60):
            while True:
                with contextlib.suppress(AssertionError):  # PostgreSQL was unavailable
                    return await asyncio.to_thread(start)

    def take(self, pid: int) -> LinkedWorker | None:
        """Remove a worker, so that no other schedule uses it; None if it is already gone."""
        worker = self.workers.pop(pid, None)
        if worker is not None:
            self.gone.append(worker.process)
        return worker

    async def close(self) -> None:
        for worker in self.workers.values():
            worker.process.end()
        for process in (*self.apis, *self.gone):
            process.end()
        for link in self.links:
            await link.close()


@dataclass(kw_only=True)
class Campaign:
    """Runs schedules against the processes."""

    rig: Rig
    processes: Processes
    watch: Watch
    http: httpx.AsyncClient
    tally: Tally = field(default_factory=Tally)
    redis_losses: int = 0
    _restarting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _outages: list[tuple[str, float, float]] = field(default_factory=list)

    async def play(self, schedule: Schedule) -> None:
        """Run a schedule and judge it."""
        losses = self.redis_losses
        runs = [await self._start(schedule, *run) for run in schedule.runs]
        client = StreamClient(
            http=self.http,
            thread=schedule.thread,
            addresses=self.processes.addresses,
            waits_for=[str(run.run_id) for run in runs],
            sends_since=schedule.sends_since,
        )
        try:
            async with asyncio.timeout(TIMEOUT), asyncio.TaskGroup() as group:
                group.create_task(client.read())
                for fault in schedule.faults:
                    group.create_task(self._inflict(fault, schedule, runs, client))
                for run in runs:
                    group.create_task(self.watch.ended(run.run_id))
        except* RigLost as errors:
            self._record_rig_failure(errors.exceptions[0])
        except* TimeoutError:
            if not self.tally.rig_lost:
                say(f"STUCK {schedule}: the stream waits for {client.waits_for}, {client.story()}")
                self.tally.streams_stuck += bool(client.waits_for)
                self.tally.schedules_stuck += not client.waits_for
        if self.tally.rig_lost:
            self.tally.unjudged += 1
            return
        await self._judge(schedule, runs, client, is_whole=losses == self.redis_losses)

    def _record_rig_failure(self, error: BaseException) -> None:
        """Record a failure of the rig itself, separate from failures of the engine."""
        self.tally.rig_lost = self.tally.rig_lost or str(error).splitlines()[0][:500]
        say(f"RIG LOST {error}")

    def record_watch_failure(self, watching: "asyncio.Task[None]") -> None:
        """Record a failure of the watch, without which every schedule would wait forever."""
        if not watching.cancelled() and (error := watching.exception()) is not None:
            self._record_rig_failure(error)

    async def _start(self, schedule: Schedule, name: str, steps: int, delay: float) -> Run:
        values = {"items": [f"said {name}"], "name": name, "steps": steps, "delay": delay}
        graph = self._graph(schedule)
        # With a fixed id: repeating the request after a lost response must not create a second run.
        run_id = uuid4()
        self.watch.track(run_id)
        return await steady(
            lambda: self.rig.start(
                schedule.thread, graph, input=run_input(graph, values), run_id=run_id
            )
        )

    def _graph(self, schedule: Schedule) -> str:
        if self.processes.ground.graphs == "foreign":
            return FOREIGN[schedule.number % len(FOREIGN)]
        return "paying"

    async def _items(self, schedule: Schedule) -> list[str]:
        graph = self._graph(schedule)
        return items_of(graph, (await self.rig.state(schedule.thread, graph)).values)

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
        elif fault.kind == "cancel_pickup":
            self.tally.faults[fault.kind] += 1
            await cancel_at_pickup(self.rig, self.watch, self.tally, fault)
        elif fault.kind == "cancel_queued":
            await self._cancel_queued(fault)
        else:
            await self._hit_servers(fault)

    async def _hit_worker(self, fault: Fault, pid: int, runs: list[Run]) -> None:
        worker = self.processes.take(pid)
        if worker is None:  # another schedule removed it
            return
        self.tally.faults[fault.kind] += 1
        before = self._attempts(runs)
        signals = {"drain": signal.SIGTERM, "kill": signal.SIGKILL, "stop": signal.SIGSTOP}
        worker.process.send(signals[fault.kind])
        began = time.monotonic()
        adding = asyncio.create_task(self.processes.add_worker())
        await self._taken_over(before, began)
        if fault.kind == "stop":
            await asyncio.sleep(0.3)
            worker.process.send(signal.SIGCONT)
            await asyncio.sleep(1.0)  # time to do damage
            worker.process.send(signal.SIGKILL)
        await adding

    async def _hit_link(self, fault: Fault, pid: int, runs: list[Run]) -> None:
        worker = self.processes.workers.get(pid)
        if worker is None:
            return
        self.tally.faults[fault.kind] += 1
        if fault.kind == "link_reset":
            worker.link.reset()
        elif fault.kind == "link_stall":
            await worker.link.stall(fault.lasts)
        else:
            await worker.link.drop(fault.lasts)

    async def _hit_api(self, fault: Fault, client: StreamClient) -> None:
        api = next((api for api in self.processes.apis if api.address == client.address), None)
        if api is None or len(self.processes.apis) < APIS:
            return
        self.tally.faults[fault.kind] += 1
        if fault.kind == "api_stop":
            api.send(signal.SIGSTOP)
            await asyncio.sleep(fault.lasts)
            if api in self.processes.apis:
                api.send(signal.SIGCONT)
            return
        self.processes.apis.remove(api)
        self.processes.gone.append(api)
        api.send(signal.SIGKILL)
        await self.processes.add_api()

    async def _hit_servers(self, fault: Fault) -> None:
        self.tally.faults[fault.kind] += 1
        ground = self.processes.ground
        async with self._restarting, self._noted(fault.kind):
            if fault.kind == "cut":
                await steady(self.rig.cut_workers_off)
            elif fault.kind == "postgres_fast":
                await asyncio.to_thread(ground.postgres.restart, "fast")
            elif fault.kind == "postgres_crash":
                await asyncio.to_thread(ground.postgres.restart, "immediate")
            else:
                await self._lose_redis(fault)
                self.redis_losses += 1

    @asynccontextmanager
    async def _noted(self, kind: str) -> AsyncIterator[None]:
        """Remember when a server failed and when it was back, to explain a slow takeover."""
        began = time.monotonic()
        yield
        self._outages.append((kind, began, time.monotonic()))

    async def _cancel_queued(self, fault: Fault) -> None:
        self.tally.faults[fault.kind] += 1
        await cancel_queued(
            self.rig,
            self.watch,
            self.tally,
            fault,
            http=self.http,
            addresses=self.processes.addresses,
            redis_losses=lambda: self.redis_losses,
        )

    async def _lose_redis(self, fault: Fault) -> None:
        self.redis_losses += 1
        server = self.processes.ground.redis
        if fault.kind == "redis_flush":
            await asyncio.to_thread(server.flush)
            return
        await asyncio.to_thread(server.kill)
        try:
            await asyncio.sleep(min(fault.lasts, 1.0))
        finally:  # also when the schedule is abandoned: the others need it
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
                took = time.monotonic() - began
                self.tally.takeovers.append(took)
                if took > TAKEOVER:
                    await self._explain(run_id, began, took)

    async def _explain(self, run_id: UUID, began: float, took: float) -> None:
        """Print what happened during a takeover that took too long."""
        say(f"SLOW takeover of {run_id}: {took:.1f} s")
        for kind, start, end in self._outages:
            if end > began - 5:
                say(f"  {kind} from {start - began:+.1f} s to {end - began:+.1f} s")
        async with self.rig.pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT thread_id FROM engine.runs WHERE run_id = %s", (run_id,)
            )
            row = await cursor.fetchone()
        if row is not None:
            await self._print_history(row["thread_id"])

    def _has_moved(self, run_id: UUID, attempt: int) -> bool:
        now = self.watch.runs[run_id]  # it may also end before the fault takes effect
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
        if not judge_items(tally, schedule, await steady(lambda: self._items(schedule))):
            await self._print_history(thread)
        judge_effects(tally, schedule, await steady(lambda: self.rig.journal(thread)))
        if is_whole and client.ids and not client.waits_for:
            await self._judge_stream(schedule, client)

    async def _print_history(self, thread: UUID) -> None:
        async with self.rig.pool.connection() as connection:
            for query in _HISTORY_QUERIES:
                rows = await (await connection.execute(query, (str(thread),))).fetchall()
                for row in rows:
                    say("  " + " ".join(str(value) for value in row.values()))

    async def _judge_stream(self, schedule: Schedule, client: StreamClient) -> None:
        """Compare what the client got over all its connections with what one connection returns."""
        losses = self.redis_losses
        last = client.ids[-1]
        while True:
            again = replace(client, seen=[], repeats=0, waits_for=["everything"], _known=set())
            again.address = self.processes.addresses()[0]
            with contextlib.suppress(httpx.HTTPError, TimeoutError):
                async with asyncio.timeout(5):
                    await again.read_once(until=lambda event: event["seq"] >= last)
                    break
            await asyncio.sleep(0.2)
            if losses != self.redis_losses:
                return
        if losses == self.redis_losses:
            judge_stream(self.tally, schedule, client, again)


_HISTORY_QUERIES = (
    "SELECT at::time, who, backend, job, what FROM job_history WHERE lock = %s ORDER BY at",
    "SELECT at::time, what, pid FROM journal WHERE thread = %s ORDER BY id",
    "SELECT run_id, status, attempt, job_id, started_at::time, finished_at::time"
    " FROM engine.runs WHERE thread_id::text = %s ORDER BY seq",
)
# History of the queue's jobs, for finding the cause of a failure later.
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
# A receiver of payments that takes each idempotency key once; our own graphs need none.
_ONE_PAYMENT = "CREATE UNIQUE INDEX ON journal (thread, what) WHERE what LIKE 'paid %'"


@asynccontextmanager
async def open_campaign(ground: CampaignServers, workers: int) -> AsyncIterator[Campaign]:
    async with AsyncExitStack() as stack:
        rig = await stack.enter_async_context(
            open_rig(ground.database, redis_url=ground.redis.url, graphs=ground.graphs)
        )
        async with rig.pool.connection() as connection:
            await connection.execute(_HISTORY)
            await connection.execute(AT_PICKUP)
            if ground.graphs == "foreign":
                await connection.execute(_ONE_PAYMENT)
        http = await stack.enter_async_context(open_http())
        processes = Processes(ground=ground)
        stack.push_async_callback(processes.close)
        for _ in range(workers):
            await processes.add_worker()
        for _ in range(APIS):
            await processes.add_api()
        watch = Watch(pool=rig.pool)
        plan = Campaign(rig=rig, processes=processes, watch=watch, http=http)
        watching = asyncio.create_task(watch.run())
        watching.add_done_callback(plan.record_watch_failure)
        stack.callback(watching.cancel)
        yield plan


async def several(*plays: Callable[[], Awaitable[None]], at_once: int) -> None:
    turn = asyncio.Semaphore(at_once)

    async def one(play: Callable[[], Awaitable[None]]) -> None:
        async with turn:
            await play()

    async with asyncio.TaskGroup() as group:
        for play in plays:
            group.create_task(one(play))


async def campaign(
    ground: CampaignServers, *, schedules: int, seed: int, at_once: int, only: set[int]
) -> Tally:
    """Run all schedules: the first half with three workers, the second with two."""
    numbers = [n for n in range(schedules) if not only or n in only]
    half = (len(numbers) + 1) // 2
    async with AsyncExitStack() as stack:
        plan = await stack.enter_async_context(open_campaign(ground, workers=3))
        progress = Progress(summary=lambda: plan.tally.summary(len(numbers)), bound=BOUND)
        await stack.enter_async_context(progress.reported())

        async def one(number: int) -> None:
            if plan.tally.rig_lost:
                plan.tally.unjudged += 1
                return
            try:
                async with progress.schedule(number):
                    await plan.play(draw(seed, number))
            except TimeoutError:
                if plan.tally.rig_lost:
                    plan.tally.unjudged += 1
                else:
                    plan.tally.schedules_stuck += 1
                    say(f"STUCK {draw(seed, number)}: abandoned after {BOUND} s")

        await several(*[lambda n=n: one(n) for n in numbers[:half]], at_once=at_once)
        spare = plan.processes.take(next(iter(plan.processes.workers)))
        assert spare is not None
        spare.process.send(signal.SIGTERM)
        await several(*[lambda n=n: one(n) for n in numbers[half:]], at_once=at_once)
        return plan.tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument(
        "--graphs", choices=("own", "foreign"), default="own", help="whose graphs are run"
    )
    parser.add_argument("--only", type=int, nargs="*", default=[], help="only these schedules")
    options = parser.parse_args()
    logging.getLogger("psycopg.pool").setLevel("CRITICAL")  # connection losses are intended
    logging.getLogger("psycopg").setLevel("CRITICAL")
    # Ending the campaign early must also end its servers and workers.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    nursery = Nursery()
    with own_postgres() as postgres, own_redis() as redis, own_database(postgres.url) as database:
        ground = CampaignServers(
            nursery=nursery,
            database=database,
            postgres=postgres,
            redis=redis,
            graphs=options.graphs,
        )
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
    if tally.rig_lost:
        return 2
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
