"""Fault campaign for usage: workers are killed and paused while a model keeps its own books.

    python tests/faults/usage_campaign.py --runs 1000 --seed 1

Every call that the model was asked must be in the usage once, with its tokens: `lost` and `doubled`
count calls, `counted` and `expected` are `[calls, tokens]` and must be equal. A call whose worker
was killed while it was under way has no answer; the model counts its input, and so does the journal
(`cut_off`). Nobody can know of two moments: a worker that dies after it announced a call and before
it asked (`unasked`), or after the model answered and before that was stored (`in_doubt`). These are
in the journal by their estimate, marked as such, and not part of the two sums; there are at most as
many as calls under way when a worker was killed. `books` is all that the model counted, `reported`
is all that the owner is shown. The last line is JSON.
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
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).parent))

import psycopg
from counting_model import BOOKS, CALLS, PARALLEL
from engine_rig import ALICE, QUICK, Nursery, Rig, WorkerProcess, open_rig, own_database
from tally import say

from bathysphere.engine.database.pool import Database

WORKERS = 3
WAITING = 48
"""Runs that wait or work at a time."""
KILL_SECONDS = (0.3, 1.5)
INPUT = {"messages": [{"role": "user", "content": "How deep is it here?"}]}


class Campaign:
    """The workers, the runs and what was done to them."""

    def __init__(self, rig: Rig, nursery: Nursery, dice: random.Random) -> None:
        self.rig = rig
        self.nursery = nursery
        self.dice = dice
        self.workers: list[WorkerProcess] = []
        self.done: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()

    async def play(self, runs: int) -> None:
        for _ in range(WORKERS):
            await self.add_worker()
        disturbing = asyncio.create_task(self.disturb())
        places = asyncio.Semaphore(WAITING)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(runs):
                    await places.acquire()
                    group.create_task(self.run(places))
        finally:
            disturbing.cancel()

    async def run(self, places: asyncio.Semaphore) -> None:
        try:
            run = await self.rig.start(uuid4(), "counting", input=INPUT)
            self.statuses[(await self.rig.ended(run, seconds=180)).status] += 1
            if sum(self.statuses.values()) % 100 == 0:
                say(f"{sum(self.statuses.values())} runs, {dict(self.done)}")
        finally:
            places.release()

    async def add_worker(self) -> None:
        started = await asyncio.to_thread(self.nursery.start, self.rig.database)
        self.workers.append(started)

    async def disturb(self) -> None:
        while True:
            await asyncio.sleep(self.dice.uniform(*KILL_SECONDS))
            one = self.dice.choice(self.workers)
            if self.dice.random() < 0.8:
                self.workers.remove(one)
                await asyncio.to_thread(one.kill)
                self.done["kills"] += 1
                await self.add_worker()
                continue
            one.send(signal.SIGSTOP)  # longer than a takeover takes, at times: it is superseded
            await asyncio.sleep(self.dice.uniform(0.1, 5))
            one.send(signal.SIGCONT)
            self.done["pauses"] += 1

    async def close(self) -> None:
        for one in self.workers:
            one.send(signal.SIGCONT)
            await asyncio.to_thread(one.drain)


def judge(database: Database) -> dict[str, Any]:
    """Compare the books of the model with the usage, run by run."""
    with psycopg.connect(database.url) as connection:
        asked = connection.execute("SELECT call_id, run_id, input_tokens, output_tokens FROM asked")
        books = {call: (run, used, written) for call, run, used, written in asked}
        journal = connection.execute(
            "SELECT call_id, run_id, input_tokens, output_tokens, is_ended FROM engine.model_calls"
        ).fetchall()
        usage = connection.execute(
            "SELECT run_id, sum(model_calls)::int, sum(input_tokens + output_tokens)::int"
            " FROM engine.usage GROUP BY run_id"
        ).fetchall()
    left = {call: tokens for call, _, tokens, _, is_ended in journal if not is_ended}
    ended = [(run, 1, used + written) for _, run, used, written, is_ended in journal if is_ended]
    expected, counted = Counter[UUID](), Counter[UUID]()
    tokens_expected, tokens_counted = Counter[UUID](), Counter[UUID]()
    for call, (run, used, written) in books.items():
        if call not in left:
            expected[run] += 1
            tokens_expected[run] += used + (written or 0)
    for run, calls, tokens in (*usage, *ended):
        counted[run] += calls
        tokens_counted[run] += tokens
    cut_off = [call for call in left if call in books and books[call][2] is None]
    return {
        "counted": [counted.total() + len(cut_off), _sum(tokens_counted, left, cut_off)],
        "expected": [
            expected.total() + len(cut_off),
            tokens_expected.total() + sum(books[call][1] for call in cut_off),
        ],
        "lost": (expected - counted).total(),
        "doubled": (counted - expected).total(),
        "wrong_runs": sum(tokens_counted[run] != tokens_expected[run] for run in expected),
        "books": [len(books), sum(used + (written or 0) for _, used, written in books.values())],
        "cut_off": len(cut_off),
        "unasked": sum(call not in books for call in left),
        "in_doubt": sum(call in books and books[call][2] is not None for call in left),
    }


def _sum(tokens: Counter[UUID], left: dict[UUID, int], cut_off: list[UUID]) -> int:
    return tokens.total() + sum(left[call] for call in cut_off)


def is_exact(result: dict[str, Any]) -> bool:
    under_way = result["kills"] * QUICK.concurrency * len(PARALLEL)
    return (
        result["counted"] == result["expected"]
        and result["counted"][0] >= result["runs"] * CALLS
        # The report has every call of the books, and those that were announced only.
        and result["reported"][0] == result["books"][0] + result["unasked"]
        and result["lost"] == result["doubled"] == result["wrong_runs"] == 0
        and result["unasked"] + result["in_doubt"] + result["cut_off"] <= under_way
        and result["statuses"] == {"success": result["runs"]}
    )


async def campaign(nursery: Nursery, database: Database, *, runs: int, seed: int) -> dict[str, Any]:
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(BOOKS)
    began = time.monotonic()
    async with open_rig(database) as rig:
        plan = Campaign(rig, nursery, random.Random(seed))
        try:
            await plan.play(runs)
        finally:
            await plan.close()
        reported = (await rig.services.usage.own(ALICE, by="day", **_today())).total
    tokens = reported.input_tokens + reported.output_tokens
    found = {**judge(database), "reported": [reported.model_calls, tokens]}
    done = {"kills": plan.done["kills"], "pauses": plan.done["pauses"]}
    seconds = round(time.monotonic() - began, 1)
    return {"runs": runs, **done, **found, "statuses": dict(plan.statuses), "seconds": seconds}


def _today() -> dict[str, datetime]:
    now = datetime.now(UTC)
    return {"since": now - timedelta(days=1), "until": now + timedelta(days=1)}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    nursery = Nursery()
    try:
        with own_database() as database:
            result = asyncio.run(campaign(nursery, database, runs=args.runs, seed=args.seed))
    finally:
        nursery.close()
    say(json.dumps(result))
    return 0 if is_exact(result) else 1


if __name__ == "__main__":
    sys.exit(main())
