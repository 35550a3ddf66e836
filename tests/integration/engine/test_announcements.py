"""Of all workers, one is told of a job; the others hear of it only if that one cannot take it."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, QUICK, Rig

from bathysphere.core.identity import Owner
from bathysphere.engine.fairness import Shares
from bathysphere.engine.runs.announcements import CHANNEL, QUEUE
from bathysphere.engine.runs.queue import Queue

pytestmark = pytest.mark.services
AHEAD = "now() + interval '1 hour'"


class Heard:
    """The notifications that a listener gets."""

    def __init__(self, rig: Rig, connection: psycopg.AsyncConnection[Any]) -> None:
        self._pool = rig.pool
        self._connection = connection

    async def next(self) -> list[int | None]:
        """The workers of what was announced since the last call; None for all of them."""
        await asyncio.sleep(0.05)  # what is told to all is told by a task of its own
        async with self._pool.connection() as connection:
            await connection.execute("SELECT pg_notify(%s, 'until here')", (CHANNEL,))
        found = []
        async for notify in self._connection.notifies(timeout=30):
            if notify.payload == "until here":
                break
            found.append(json.loads(notify.payload).get("worker_id"))
        return found


@pytest.fixture
async def heard(rig: Rig) -> AsyncIterator[Heard]:
    async with await psycopg.AsyncConnection.connect(
        rig.database.url, autocommit=True
    ) as connection:
        await connection.execute(f'LISTEN "{CHANNEL}"'.encode())
        yield Heard(rig, connection)


async def add_worker(rig: Rig, slots: int | None, *, heartbeat: str = AHEAD) -> int:
    """A worker that offers slots. Nothing beats for it, so its last heartbeat is yet to come."""
    async with rig.pool.connection() as connection:
        cursor = await connection.execute(
            f"INSERT INTO procrastinate_workers (last_heartbeat) VALUES ({heartbeat})"
            " RETURNING id".encode()
        )
        row: Any = await cursor.fetchone()
        if slots is not None:
            await connection.execute(
                "INSERT INTO engine.worker_slots (worker_id, slots) VALUES (%s, %s)",
                (row["id"], slots),
            )
    return int(row["id"])


class Claimer:
    """A worker that only claims, and whose queue hears what is announced."""

    def __init__(self, rig: Rig, *, slots: int, running: int = 0) -> None:
        self.rig = rig
        self.running = running
        self.slots = slots
        self.woken = 0
        self.queue = Queue(rig.pool, database=rig.database)
        self.queue.set_worker(
            shares=Shares.of(slots, reserve=0), running=lambda: self.running, poll_seconds=1e6
        )
        self.jobs: Any = self.queue.app.job_manager
        self.worker_id = 0

    async def open(self) -> None:
        await self.queue.open()
        self.worker_id = await self.jobs.register_worker()
        self.jobs._notify = self._wake
        async with self.rig.pool.connection() as connection:
            await connection.execute(
                "UPDATE procrastinate_workers SET last_heartbeat = now() + interval '1 hour'"
                " WHERE id = %s",
                (self.worker_id,),
            )
            await connection.execute(
                "INSERT INTO engine.worker_slots (worker_id, slots) VALUES (%s, %s)",
                (self.worker_id, self.slots),
            )
        assert await self.fetch() is False  # as Procrastinate does when it begins

    async def _wake(self, **_: Any) -> None:
        self.woken += 1

    async def hear(self, worker_id: int | None) -> None:
        await self.jobs._hear(
            CHANNEL, {"type": "job_inserted", "job_id": 1, "worker_id": worker_id}
        )

    async def fetch(self) -> bool:
        found = await self.jobs.fetch_job([QUEUE], self.worker_id) is not None
        self.running += found
        return found


async def claimer(rig: Rig, *, slots: int = 2, running: int = 0) -> Claimer:
    opened = Claimer(rig, slots=slots, running=running)
    await opened.open()
    return opened


async def start(rig: Rig, owner: Owner = ALICE) -> None:
    await rig.start(uuid4(), "steps", input={}, owner=owner)


async def test_the_worker_with_the_largest_part_of_its_slots_free_is_told(rig: Rig, heard: Heard):
    few, many = await add_worker(rig, 2), await add_worker(rig, 8)
    async with rig.pool.connection() as connection:
        for worker, count in ((few, 1), (many, 3)):
            for _ in range(count):
                await start(rig)
                await connection.execute(
                    "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s"
                    " WHERE status = 'todo'",
                    (worker,),
                )
    await heard.next()
    await start(rig)
    assert await heard.next() == [many]


@pytest.mark.parametrize(
    ("slots", "heartbeat"),
    [(None, AHEAD), (0, AHEAD), (2, "now() - interval '4 s'")],
    ids=["older version", "draining", "silent"],
)
async def test_all_are_told_where_no_worker_is_known_to_have_a_free_slot(
    rig: Rig, heard: Heard, slots: int | None, heartbeat: str
):
    await add_worker(rig, slots, heartbeat=heartbeat)
    await start(rig)
    assert await heard.next() == [None]


async def test_all_are_told_where_every_slot_is_in_use(rig: Rig, heard: Heard):
    worker = await claimer(rig, slots=1)
    await start(rig)
    assert await heard.next() == [worker.worker_id]
    await worker.hear(worker.worker_id)
    assert await worker.fetch()
    await start(rig)
    assert await heard.next() == [None]


async def test_what_another_is_told_wakes_nobody_here(rig: Rig):
    worker = await claimer(rig)
    await start(rig)
    await worker.hear(worker.worker_id + 1)
    assert worker.woken == 0
    assert not await worker.fetch()
    await worker.hear(None)
    assert worker.woken == 1
    assert await worker.fetch()


async def test_a_worker_that_is_told_and_becomes_full_lets_the_others_look(rig: Rig, heard: Heard):
    worker = await claimer(rig, slots=1)
    for _ in range(2):
        await start(rig)
    await heard.next()
    await worker.hear(worker.worker_id)
    assert await worker.fetch()
    assert await heard.next() == [None]


async def test_a_worker_that_is_told_during_the_claim_that_fills_it_lets_the_others_look(
    rig: Rig, heard: Heard, monkeypatch: pytest.MonkeyPatch
):
    worker = await claimer(rig, slots=1)
    await start(rig)
    await worker.hear(worker.worker_id)
    execute = worker.jobs.connector.execute_query_one_async

    async def claim(**values: Any) -> Any:
        row = await execute(**values)
        await start(rig)
        await heard.next()
        await worker.hear(worker.worker_id)
        return row

    monkeypatch.setattr(worker.jobs.connector, "execute_query_one_async", claim)
    assert await worker.fetch()
    assert await heard.next() == [None]


async def test_a_full_worker_that_found_more_by_itself_lets_the_others_look(rig: Rig, heard: Heard):
    worker = await claimer(rig, slots=1)
    for _ in range(2):
        await start(rig)
    await heard.next()
    worker.jobs._look_at = 0
    assert await worker.fetch()
    assert await heard.next() == [None]
    worker.running = 0
    await start(rig)
    await heard.next()
    assert await worker.fetch()
    assert await heard.next() == []  # they know


async def test_a_job_that_becomes_due_is_looked_for_then(rig: Rig):
    worker = await claimer(rig)
    await start(rig)
    job = await _claimed(worker)
    await worker.jobs.retry_job(job, datetime(1970, 1, 1, 0, 0, 3, tzinfo=UTC))
    await worker.hear(None)
    assert not await worker.fetch()
    due = worker.jobs._look_at - asyncio.get_running_loop().time()
    assert 1 < due <= 3


async def _claimed(worker: Claimer) -> Any:
    await worker.hear(None)
    return await worker.jobs.fetch_job([QUEUE], worker.worker_id)


async def test_a_request_to_abort_is_no_reason_to_look_for_jobs(rig: Rig):
    worker = await claimer(rig)
    await start(rig)
    await worker.jobs._hear(CHANNEL, {"type": "abort_job_requested", "job_id": 1})
    assert worker.woken == 1
    assert not await worker.fetch()


async def test_the_run_behind_one_that_is_withdrawn_is_announced(rig: Rig, heard: Heard):
    thread = uuid4()
    first = await rig.start(thread, "steps", input={"name": "a", "steps": 1})
    await rig.start(thread, "steps", input={"name": "a", "steps": 1})
    await heard.next()
    await rig.runs.cancel(first.run_id, owner=ALICE)
    assert await heard.next() == [None]


async def test_a_worker_that_is_told_while_it_is_full_lets_the_others_look(rig: Rig, heard: Heard):
    worker = await claimer(rig, slots=1, running=1)
    await worker.hear(worker.worker_id)
    assert await heard.next() == [None]


async def test_a_worker_that_may_not_take_what_it_is_told_of_says_so_once(rig: Rig, heard: Heard):
    worker = await claimer(rig, slots=4)
    worker.jobs.shares = Shares(slots=4, tenant=1, user=1, reserve=3)
    other = await rig.start(uuid4(), "steps", owner=BOB, input={})  # for whom slots are kept
    await rig.runs.cancel(other.run_id, owner=BOB)
    for _ in range(2):
        await start(rig)
    await heard.next()
    await worker.hear(worker.worker_id)
    assert await worker.fetch()
    assert not await worker.fetch()
    assert await heard.next() == [None]
    await worker.hear(None)
    assert not await worker.fetch()
    assert await heard.next() == []


async def test_the_next_run_of_a_thread_is_announced_when_the_one_before_ends(
    rig: Rig, heard: Heard
):
    thread = uuid4()
    for _ in range(2):
        await rig.start(thread, "steps", input={"name": "a", "steps": 1})
    await heard.next()
    worker = await add_worker(rig, 4)
    async with rig.pool.connection() as connection:
        await connection.execute(
            "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s"
            " WHERE id = (SELECT min(id) FROM procrastinate_jobs)",
            (worker,),
        )
        await connection.execute("DELETE FROM procrastinate_jobs WHERE status = 'doing'")
    assert await heard.next() == [worker]


async def test_a_job_that_is_given_back_is_announced(rig: Rig, heard: Heard):
    worker = await claimer(rig)
    await start(rig)
    await heard.next()
    await worker.hear(worker.worker_id)
    job = await worker.jobs.fetch_job([QUEUE], worker.worker_id)
    await worker.jobs.retry_job(job)
    assert await heard.next() == [worker.worker_id]


async def test_without_news_nothing_is_asked_before_the_workers_turn(rig: Rig):
    worker = await claimer(rig)
    await start(rig)
    assert not await worker.fetch()
    worker.jobs._look_at = 0
    assert await worker.fetch()


async def test_a_worker_offers_its_slots_and_takes_the_offer_back(rig: Rig):
    async def offered() -> list[int]:
        async with rig.pool.connection() as connection:
            rows = await connection.execute("SELECT slots FROM engine.worker_slots")
            return [row["slots"] for row in await rows.fetchall()]

    async with rig.working() as worker:
        for _ in range(50):
            if await offered():
                break
            await asyncio.sleep(0.1)
        assert await offered() == [QUICK.concurrency]
        worker._is_draining.set()  # without its runs' end, which would end the worker too
        for _ in range(50):
            if await offered() == [0]:
                break
            await asyncio.sleep(0.1)
        assert await offered() == [0]
