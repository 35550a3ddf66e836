"""Fault campaign for schedules: schedulers are killed, and the clock is moved by an hour.

    python tests/faults/crons_campaign.py --ticks 500 --seed 1

Three scheduler processes share a database whose clock runs faster and is moved forward and back by
an hour at random. Schedulers are killed and paused at random, and replaced. At the end every due
time up to the latest that the clock ever showed must have created exactly one run. The expected due
times are computed by plain arithmetic. The last line is JSON: `ticks`, `lost`, `doubled`,
`seconds`, and what was done.
"""

import argparse
import asyncio
import json
import logging
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

sys.path.insert(0, str(Path(__file__).parent))

from engine_rig import ALICE, BOB, Nursery, WorkerProcess, own_database
from moved_clock import CREATE, highest, read_moved_clock, set_clock
from tally import say

from bathysphere.core.identity import Owner
from bathysphere.engine.crons.records import CronOptions, Grant
from bathysphere.engine.crons.service import Crons
from bathysphere.engine.database.pool import Database, Pool, open_pool
from bathysphere.engine.records import Work

SCHEDULERS = 3
SPEED = 60.0
POLL_SECONDS = 0.1
STEP_SECONDS = 0.4
SETTLE_SECONDS = 60
OPTIONS = CronOptions(
    graph="steps", assistant_id=uuid4(), schedule="", work=Work(input={}), payload={}
)
GRANT = Grant(is_unlimited=True)
EVERY = (1, 1, 5, 5, 15, 60)
"""Minutes between the due times of the schedules; every other one has a thread."""


@dataclass(frozen=True)
class Expected:
    """A schedule and its period."""

    cron_id: UUID
    minutes: int
    since: datetime

    def due_times(self, until: datetime) -> list[datetime]:
        """Due times after its creation, by arithmetic on the minutes of the day."""
        moment = self.since.astimezone(UTC).replace(second=0, microsecond=0)
        found = []
        while (moment := moment + timedelta(minutes=1)) <= until:
            if (moment.hour * 60 + moment.minute) % self.minutes == 0:
                found.append(moment)
        return found


@dataclass(kw_only=True)
class Campaign:
    """The schedulers, the clock and what was done to them."""

    nursery: Nursery
    database: Database
    pool: Pool
    dice: random.Random
    expected: list[Expected] = field(default_factory=list)
    schedulers: list[WorkerProcess] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    async def prepare(self) -> None:
        async with self.pool.connection() as connection:
            await connection.execute(CREATE)
            await set_clock(connection, speed=SPEED)
        crons = Crons(self.pool, clock=read_moved_clock)
        for number, minutes in enumerate(EVERY):
            owner: Owner = ALICE if number % 3 else BOB
            thread = await self.new_thread(owner)
            options = replace(
                OPTIONS, schedule="0 * * * *" if minutes == 60 else f"*/{minutes} * * * *"
            )
            cron = await crons.create(
                options, owner=owner, grant=GRANT, thread_id=thread if number % 2 else None
            )
            self.expected.append(Expected(cron.cron_id, minutes, cron.created_at))
        for _ in range(SCHEDULERS):
            await self.add_scheduler()

    async def new_thread(self, owner: Owner) -> UUID:
        async with self.pool.connection() as connection:
            row: Any = await (
                await connection.execute(
                    "INSERT INTO engine.threads (thread_id, tenant, owner) VALUES (%s, %s, %s)"
                    " RETURNING thread_id",
                    (uuid4(), owner.tenant, owner.user),
                )
            ).fetchone()
        thread: UUID = row["thread_id"]
        return thread

    async def add_scheduler(self) -> None:
        found = await asyncio.to_thread(
            self.nursery.schedule, self.database, poll_seconds=POLL_SECONDS
        )
        self.schedulers.append(found)

    async def play(self, ticks: int, *, moves: int) -> None:
        """Disturb the schedulers until enough due times have passed and the clock moved enough."""
        steps = 0
        while await self.count() < ticks or any(
            self.done[what] < moves for what in ("forward", "back", "killed")
        ):
            steps += 1
            await asyncio.sleep(STEP_SECONDS)
            if steps % 2:
                await self.disturb()
            if steps % 8 == 0:
                await self.move()

    async def disturb(self) -> None:
        one = self.dice.choice(self.schedulers)
        if self.dice.random() < 0.7:
            self.schedulers.remove(one)
            await asyncio.to_thread(one.kill)
            await self.add_scheduler()
            self.done["killed"] += 1
            return
        one.send(signal.SIGSTOP)
        await asyncio.sleep(self.dice.uniform(0.1, 1))
        one.send(signal.SIGCONT)
        self.done["paused"] += 1

    async def move(self) -> None:
        """Move the clock by an hour; forward, if it is behind what it has shown."""
        async with self.pool.connection() as connection:
            behind = await highest(connection) - await read_moved_clock(connection)
            is_forward = behind > timedelta(minutes=30) or self.dice.random() < 0.5
            await set_clock(connection, hours=1 if is_forward else -1, speed=SPEED)
        self.done["forward" if is_forward else "back"] += 1

    async def settle(self) -> datetime:
        """Stop the clock at the latest time it has shown; wait until nothing is due."""
        async with self.pool.connection() as connection:
            await set_clock(connection, speed=0)
            behind = await highest(connection) - await read_moved_clock(connection)
            await set_clock(connection, hours=behind.total_seconds() / 3600, speed=0)
            end = await read_moved_clock(connection)
            deadline = time.monotonic() + SETTLE_SECONDS
            while time.monotonic() < deadline:
                cursor = await connection.execute(
                    "SELECT 1 FROM engine.crons WHERE enabled AND next_run_at <= %s", (end,)
                )
                if await cursor.fetchone() is None:
                    break
                await asyncio.sleep(0.2)
        await asyncio.sleep(4 * POLL_SECONDS)  # whoever would create one twice does it now
        return end

    async def count(self) -> int:
        async with self.pool.connection() as connection:
            until = await highest(connection)
        return sum(len(one.due_times(until)) for one in self.expected)

    async def judge(self, end: datetime) -> dict[str, Any]:
        async with self.pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT run_id, work -> 'metadata' ->> 'cron_id' AS cron_id FROM engine.runs"
            )
            created = Counter((row["cron_id"], row["run_id"]) for row in await cursor.fetchall())
        due = [(one.cron_id, at) for one in self.expected for at in one.due_times(end)]
        wanted = {(str(cron), uuid5(cron, at.isoformat())) for cron, at in due}
        lost = len(wanted - set(created))
        doubled = sum(created.values()) - len(wanted & set(created))
        return {"ticks": len(due), "lost": lost, "doubled": doubled}

    def close(self) -> None:
        for one in self.schedulers:
            one.end()


async def campaign(
    nursery: Nursery, database: Database, *, ticks: int, seed: int, moves: int
) -> dict[str, Any]:
    async with open_pool(database) as pool:
        plan = Campaign(nursery=nursery, database=database, pool=pool, dice=random.Random(seed))
        try:
            await plan.prepare()
            await plan.play(ticks, moves=moves)
            result = await plan.judge(await plan.settle())
        finally:
            plan.close()
    return {**result, **plan.done}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--moves", type=int, default=5, help="moves of the clock, each way")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # skipped locks and lost connections are intended
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    nursery = Nursery()
    with own_database() as database:
        try:
            result = asyncio.run(
                campaign(
                    nursery,
                    database,
                    ticks=options.ticks,
                    seed=options.seed,
                    moves=options.moves,
                )
            )
        finally:
            nursery.close()
    say(json.dumps({**result, "seconds": round(time.monotonic() - began)}))
    return 0 if not result["lost"] and not result["doubled"] else 1


if __name__ == "__main__":
    sys.exit(main())
