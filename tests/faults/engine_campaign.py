"""A campaign against the engine: seeded schedules of workers that are killed, stopped and cut off.

    python tests/faults/engine_campaign.py --schedules 300 --seed 1

Each schedule is a thread with some runs, and faults at chosen steps: SIGKILL, SIGSTOP and SIGCONT,
SIGTERM of the worker that has the run, loss of every worker's connections, a flushed Redis. The
last line is JSON: `schedules`, `lost`, `doubled`, `takeover_max_s`, and what `lost` is made of.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from uuid import UUID

sys.path.insert(0, str(Path(__file__).parent))

from engine_rig import END_EVENTS, QUICK, Nursery, Rig, WorkerProcess, open_rig, own_database
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.engine.database import Database
from bathysphere.engine.events import Gap
from bathysphere.engine.events_redis import RedisEventLog
from bathysphere.engine.records import Run

REDIS = "redis://127.0.0.1:6379/8"  # of its own: it is flushed
WORKERS = 3
AT_ONCE = 4
Kind = Literal["kill", "stop", "drain", "cut", "flush"]
KINDS: tuple[Kind, ...] = ("kill", "kill", "kill", "stop", "stop", "drain", "cut", "flush")


@dataclass(frozen=True, kw_only=True)
class Fault:
    kind: Kind
    at: str
    later: float


@dataclass(frozen=True, kw_only=True)
class Schedule:
    thread: UUID
    runs: list[tuple[str, int, float]]
    faults: list[Fault]


@dataclass(kw_only=True)
class Tally:
    schedules: int = 0
    runs_lost: int = 0
    messages_lost: int = 0
    doubled: int = 0
    effects_doubled: int = 0
    effects_lost: int = 0
    asked: int = 0
    streams_stuck: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    takeovers: list[float] = field(default_factory=list)

    def line(self) -> str:
        lost = self.runs_lost + self.messages_lost + self.effects_lost + self.streams_stuck
        return json.dumps(
            {
                "schedules": self.schedules,
                "lost": lost,
                "doubled": self.doubled + self.effects_doubled,
                "takeover_max_s": round(max(self.takeovers, default=0.0), 2),
                "takeovers": len(self.takeovers),
                "runs_lost": self.runs_lost,
                "messages_lost": self.messages_lost,
                "streams_stuck": self.streams_stuck,
                "effects_doubled": self.effects_doubled,
                "effects_lost": self.effects_lost,
                "effects_asked_about": self.asked,
                "faults": dict(self.faults),
            }
        )


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def draw(seed: int) -> Schedule:
    """The schedule of a seed; the same each time."""
    dice = random.Random(seed)
    runs = [
        (f"r{n}", dice.randint(3, 6), round(dice.uniform(0.02, 0.2), 3))
        for n in range(dice.randint(1, 3))
    ]
    faults = []
    for _ in range(dice.randint(1, 3)):
        name, steps, _ = dice.choice(runs)
        faults.append(
            Fault(
                kind=dice.choice(KINDS),
                at=f"{name}:{dice.randrange(steps)}",
                later=dice.choice((0.0, dice.uniform(0, 0.25))),
            )
        )
    return Schedule(thread=UUID(int=dice.getrandbits(128), version=4), runs=runs, faults=faults)


class Campaign:
    """Workers, and schedules that run against them."""

    def __init__(self, rig: Rig, nursery: Nursery, database: Database, redis: Redis) -> None:
        self._rig = rig
        self._nursery = nursery
        self._database = database
        self._redis = redis
        self._asking = asyncio.Lock()
        self._workers: dict[int, WorkerProcess] = {}
        self._gone: list[WorkerProcess] = []
        self.tally = Tally()

    async def open(self) -> None:
        for _ in range(WORKERS):
            await self._add_worker()

    def close(self) -> None:
        for worker in (*self._workers.values(), *self._gone):
            worker.end()

    async def _add_worker(self) -> None:
        async with self._asking:
            worker = await asyncio.to_thread(
                self._nursery.start, self._database, pace=QUICK, redis=REDIS
            )
        self._workers[worker.pid] = worker

    async def play(self, schedule: Schedule) -> None:
        """Run a schedule and judge it."""
        runs = [
            await self._rig.start(
                schedule.thread,
                "paying",
                input={"items": [f"said {name}"], "name": name, "steps": steps, "delay": delay},
            )
            for name, steps, delay in schedule.runs
        ]
        try:
            async with asyncio.timeout(90), asyncio.TaskGroup() as group:
                group.create_task(self._read(schedule.thread, runs))
                for fault in schedule.faults:
                    group.create_task(self._inflict(fault, schedule, runs))
                for run in runs:
                    group.create_task(self._rig.ended(run, seconds=90))
        except* TimeoutError:
            self.tally.streams_stuck += 1
        await self._judge(schedule, runs)

    async def _inflict(self, fault: Fault, schedule: Schedule, runs: list[Run]) -> None:
        pid = await self._rig.in_journal(schedule.thread, fault.at, seconds=90)
        await asyncio.sleep(fault.later)
        if fault.kind == "cut":
            self.tally.faults["cut"] += 1
            await self._rig.cut_workers_off()
            return
        if fault.kind == "flush":
            self.tally.faults["flush"] += 1
            await self._redis.flushdb()
            return
        worker = self._workers.pop(pid, None)
        if worker is None:  # another schedule took it
            return
        self._gone.append(worker)
        self.tally.faults[fault.kind] += 1
        mine = [await self._rig.runs.get(run.run_id, owner=run.owner) for run in runs]
        if fault.kind == "drain":
            worker.send(signal.SIGTERM)
        elif fault.kind == "kill":
            worker.send(signal.SIGKILL)
        else:
            worker.send(signal.SIGSTOP)
        began = time.monotonic()
        adding = asyncio.create_task(self._add_worker())
        for run in mine:
            if run.status == "running":
                await self._taken_over(run, began)
        if fault.kind == "stop":
            await asyncio.sleep(0.3)
            worker.send(signal.SIGCONT)
            await asyncio.sleep(1.0)  # to spoil what it can, then it has had its chance
            worker.send(signal.SIGKILL)
        await adding

    async def _taken_over(self, run: Run, began: float) -> None:
        while True:
            now = await self._rig.runs.get(run.run_id, owner=run.owner)
            if now.is_over and now.attempt == run.attempt:
                return  # it ended before the fault was felt
            if now.attempt > run.attempt:
                self.tally.takeovers.append(time.monotonic() - began)
                return
            await asyncio.sleep(0.02)

    async def _read(self, thread: UUID, runs: list[Run]) -> None:
        """A client: reads on after gaps, and asks the database what it missed."""
        open_runs = {str(run.run_id): run for run in runs}
        while open_runs:
            async for item in self._rig.log.read(thread):
                if isinstance(item, Gap):
                    for run_id, run in list(open_runs.items()):
                        if (await self._rig.runs.get(run.run_id, owner=run.owner)).is_over:
                            del open_runs[run_id]
                else:
                    event = item.event()
                    if event.channel == "lifecycle" and event.data["event"] in END_EVENTS:
                        open_runs.pop(event.run_id, None)
                if not open_runs:
                    break

    async def _judge(self, schedule: Schedule, runs: list[Run]) -> None:
        tally = self.tally
        tally.schedules += 1
        for run in runs:
            now = await self._rig.runs.get(run.run_id, owner=run.owner)
            if now.status != "success":
                tally.runs_lost += 1
                say(f"LOST {run.run_id}: {now.status} {now.error}")
        wanted = [
            item
            for name, steps, _ in schedule.runs
            for item in (f"said {name}", *(f"{name}:{n}" for n in range(steps)))
        ]
        items = await self._rig.items(schedule.thread)
        missing, extra = Counter(wanted) - Counter(items), Counter(items) - Counter(wanted)
        tally.messages_lost += missing.total()
        tally.doubled += extra.total()
        if items != wanted:
            tally.messages_lost += not (missing or extra)  # in the wrong order
            say(f"WRONG {schedule}: {items}")
        executed = await self._rig.journal(schedule.thread)
        paid = Counter(what.removeprefix("paid ") for what in executed if what.startswith("paid "))
        asked = {what.removeprefix("asked ") for what in executed if what.startswith("asked ")}
        tally.effects_doubled += sum(count - 1 for count in paid.values())
        steps = {item for item in wanted if ":" in item}
        tally.effects_lost += len(steps - set(paid) - asked)
        tally.asked += len(asked)


async def campaign(database: Database, nursery: Nursery, *, schedules: int, seed: int) -> Tally:
    async with (
        Redis.from_url(REDIS) as redis,
        RedisEventLog(redis, clock=SystemClock()) as log,
        open_rig(database, log) as rig,
    ):
        plan = Campaign(rig, nursery, database, redis)
        await plan.open()
        turn = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> None:
            async with turn:
                await plan.play(draw(seed * 1_000_003 + number))
                done = plan.tally.schedules
                if done % 10 == 0:
                    say(f"{done}/{schedules} {plan.tally.line()}")

        try:
            async with asyncio.TaskGroup() as group:
                for number in range(schedules):
                    group.create_task(one(number))
        finally:
            plan.close()
    return plan.tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    nursery = Nursery()
    with own_database() as database:
        try:
            tally = asyncio.run(
                campaign(database, nursery, schedules=arguments.schedules, seed=arguments.seed)
            )
        finally:
            nursery.close()
    say(tally.line())
    result = json.loads(tally.line())
    return 1 if result["lost"] or result["doubled"] or result["takeover_max_s"] > 10 else 0


if __name__ == "__main__":
    sys.exit(main())
