"""Schedules: each due time creates one run, whoever looks and whatever the clock does."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from engine_rig import ALICE, BOB, Rig

from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.engine.crons.records import Cron, CronOptions, Grant
from bathysphere.engine.crons.scheduler import Scheduler, SchedulerOptions, TickOutcome
from bathysphere.engine.crons.service import CronFilter, CronLimits, Crons
from bathysphere.engine.errors import (
    CronNotFound,
    InvalidSchedule,
    ThreadNotFound,
    TooManyCrons,
)
from bathysphere.engine.fairness import WaitingLimits
from bathysphere.engine.records import Work
from bathysphere.engine.thread_lock import lock_thread
from bathysphere.server.identity.api_keys import ApiKeys

pytestmark = pytest.mark.services
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
OPEN = Grant(is_unlimited=True)
CREATED, SKIPPED = TickOutcome.CREATED, TickOutcome.SKIPPED
STEPS = uuid4()
MINUTELY = CronOptions(
    graph="steps", assistant_id=STEPS, schedule="* * * * *", work=Work(input={}), payload={}
)


class HandClock:
    """A database clock that tests move."""

    def __init__(self) -> None:
        self.now = NOON

    async def read(self, connection) -> datetime:
        return self.now

    def move(self, **amount: float) -> None:
        self.now += timedelta(**amount)


class Town:
    """The schedules of a rig, on a clock that is moved by hand."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.clock = HandClock()
        self.crons = Crons(rig.pool, clock=self.clock.read)
        self.scheduler = self.new_scheduler()

    def new_scheduler(self, **options: float) -> Scheduler:
        return Scheduler(
            self.rig.pool,
            self.rig.runs,
            clock=SystemClock(),
            database_clock=self.clock.read,
            options=SchedulerOptions(**options),
        )

    async def create(
        self, options: CronOptions = MINUTELY, *, owner: Owner = ALICE, grant: Grant = OPEN, **more
    ) -> Cron:
        return await self.crons.create(options, owner=owner, grant=grant, **more)

    async def ticks(self, scheduler: Scheduler | None = None) -> list[TickOutcome]:
        """Handle everything that is due."""
        found = []
        while (outcome := await (scheduler or self.scheduler).tick()) is not None:
            found.append(outcome)
        return found

    async def runs(self) -> list[dict]:
        async with self.rig.pool.connection() as connection:
            cursor = await connection.execute("SELECT * FROM engine.runs ORDER BY seq")
            return await cursor.fetchall()

    async def get(self, cron: Cron) -> Cron:
        return await self.crons.get(cron.cron_id, owner=cron.owner)


@pytest.fixture
async def town(rig: Rig) -> Town:
    return Town(rig)


async def thread_of(rig: Rig, owner: Owner = ALICE) -> UUID:
    return (await rig.threads.create(uuid4(), owner=owner)).thread_id


# ── due times ──


async def test_a_due_time_creates_one_run_of_the_owner_and_moves_on(town: Town):
    cron = await town.create()
    assert cron.next_run_at == NOON + timedelta(minutes=1)
    assert await town.ticks() == []
    town.clock.move(minutes=1)
    assert await town.ticks() == [CREATED]
    assert await town.ticks() == []
    (run,) = await town.runs()
    assert (run["tenant"], run["owner"]) == (ALICE.tenant, ALICE.user)
    assert run["work"]["metadata"]["cron_id"] == str(cron.cron_id)
    assert run["deletes_thread"]
    assert (await town.get(cron)).next_run_at == NOON + timedelta(minutes=2)


async def test_many_schedulers_create_each_run_once(town: Town):
    for _ in range(6):
        await town.create()
    town.clock.move(minutes=10)
    found = await asyncio.gather(*(town.ticks(town.new_scheduler()) for _ in range(4)))
    assert [outcome for outcomes in found for outcome in outcomes] == [CREATED] * 60
    assert len(await town.runs()) == 60


async def test_missed_runs_are_caught_up_within_the_window_and_skipped_before(town: Town):
    cron = await town.create()
    town.clock.move(minutes=5)
    assert await town.ticks() == [CREATED] * 5
    town.clock.move(hours=10)
    window = SchedulerOptions().catch_up_seconds
    assert await town.ticks() == [SKIPPED, *[CREATED] * int(window // 60)]
    assert (await town.get(cron)).next_run_at == town.clock.now + timedelta(minutes=1)


async def test_a_clock_that_is_set_back_repeats_nothing(town: Town):
    await town.create()
    town.clock.move(minutes=3)
    assert await town.ticks() == [CREATED] * 3
    town.clock.move(hours=-1)
    assert await town.ticks() == []
    town.clock.move(hours=1, minutes=1)
    assert await town.ticks() == [CREATED]


async def test_there_is_no_run_after_the_end(town: Town):
    options = replace(MINUTELY, end_time=NOON + timedelta(minutes=2))
    cron = await town.create(options)
    town.clock.move(minutes=30)
    assert await town.ticks() == [CREATED] * 2
    assert (await town.get(cron)).next_run_at is None
    with pytest.raises(InvalidSchedule, match="end_time"):
        await town.create(options)


async def test_a_disabled_schedule_does_not_run_and_starts_again_from_now(town: Town):
    cron = await town.create(replace(MINUTELY, is_enabled=False))
    town.clock.move(minutes=5)
    assert await town.ticks() == []
    await town.crons.replace(cron.cron_id, MINUTELY, owner=ALICE, grant=OPEN)
    assert await town.ticks() == []
    town.clock.move(minutes=1)
    assert await town.ticks() == [CREATED]


async def test_a_change_of_the_input_keeps_the_next_run(town: Town):
    cron = await town.create()
    town.clock.move(seconds=90)
    changed = replace(MINUTELY, work=Work(input={"name": "new"}))
    await town.crons.replace(cron.cron_id, changed, owner=ALICE, grant=OPEN)
    assert await town.ticks() == [CREATED]
    assert (await town.runs())[0]["work"]["input"] == {"name": "new"}


async def test_a_failed_transaction_leaves_the_due_time(town: Town, monkeypatch):
    await town.create()
    town.clock.move(minutes=1)

    async def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "_advance", die)
        with pytest.raises(KeyboardInterrupt):
            await town.scheduler.tick()
    assert await town.runs() == []
    assert await town.ticks() == [CREATED]


# ── threads and limits ──


async def test_runs_of_a_thread_wait_for_each_other_or_are_skipped(town: Town):
    thread = await thread_of(town.rig)
    await town.create(thread_id=thread)
    await town.create(replace(MINUTELY, strategy="reject"), thread_id=thread)
    town.clock.move(minutes=2)
    assert sorted(await town.ticks()) == [CREATED] * 2 + [SKIPPED] * 2
    assert {run["thread_id"] for run in await town.runs()} == {thread}


async def test_a_replaced_run_is_announced(town: Town):
    thread = await thread_of(town.rig)
    first = await town.rig.start(thread, "steps", input={})
    await town.create(replace(MINUTELY, strategy="interrupt"), thread_id=thread)
    town.clock.move(minutes=1)
    assert await town.ticks() == [CREATED]
    (event,) = await town.rig.events(first)
    assert event.event().data["error"]["code"] == "replaced"


async def test_a_run_that_a_limit_refuses_is_created_later(town: Town, monkeypatch):
    rig = town.rig
    limits = WaitingLimits(per_thread=None, per_user=1, per_tenant=None)
    storing = rig.runs._storing._replace(waiting=limits)
    monkeypatch.setattr(rig.runs, "_storing", storing)
    scheduler = town.new_scheduler(retry_seconds=0.05)
    await town.create()
    town.clock.move(minutes=2)
    assert await town.ticks(scheduler) == [CREATED, TickOutcome.DEFERRED]
    (run,) = await town.runs()
    await rig.runs.cancel(run["run_id"], owner=ALICE)
    await asyncio.sleep(0.06)
    assert await town.ticks(scheduler) == [CREATED]


async def test_a_locked_thread_holds_up_nobody_else(town: Town):
    thread = await thread_of(town.rig)
    await town.create(thread_id=thread)
    await town.create(owner=BOB)
    town.clock.move(minutes=1)
    async with town.rig.pool.connection() as connection, connection.transaction():
        await lock_thread(connection, thread, owner=ALICE)
        assert sorted(await town.ticks()) == [CREATED, TickOutcome.DEFERRED]
    await asyncio.sleep(0.25)
    assert await town.ticks() == [CREATED]


async def test_a_schedule_goes_with_its_thread(town: Town):
    thread = await thread_of(town.rig)
    cron = await town.create(thread_id=thread)
    await town.rig.threads.delete(thread, owner=ALICE)
    town.clock.move(minutes=1)
    assert await town.ticks() == []
    with pytest.raises(CronNotFound):
        await town.get(cron)


async def test_limits_of_number_and_interval(town: Town):
    crons = Crons(town.rig.pool, clock=town.clock.read, limits=CronLimits(per_tenant=2))
    for _ in range(2):
        await crons.create(MINUTELY, owner=ALICE, grant=OPEN)
    with pytest.raises(TooManyCrons):
        await crons.create(MINUTELY, owner=ALICE, grant=OPEN)
    await crons.create(MINUTELY, owner=BOB, grant=OPEN)
    with pytest.raises(InvalidSchedule, match="more often than every 60 seconds"):
        await crons.create(replace(MINUTELY, schedule="* * * * * *"), owner=BOB, grant=OPEN)


# ── whose it is ──


async def test_a_thread_is_marked_with_the_assistant_whose_schedules_can_be_deleted(town: Town):
    mine, other = await town.create(), await town.create(replace(MINUTELY, assistant_id=uuid4()))
    town.clock.move(minutes=1)
    assert await town.ticks() == [CREATED] * 2
    async with town.rig.pool.connection() as connection:
        cursor = await connection.execute("SELECT metadata FROM engine.threads")
        marks = {row["metadata"]["assistant_id"] for row in await cursor.fetchall()}
    assert marks == {str(STEPS), str(other.options.assistant_id)}
    await town.crons.delete_of_assistant(STEPS, owner=BOB)
    assert await town.get(mine)
    await town.crons.delete_of_assistant(STEPS, owner=ALICE)
    found = await town.crons.search(CronFilter(), owner=ALICE)
    assert [cron.cron_id for cron in found] == [other.cron_id]


async def test_a_schedule_is_its_owners_only(town: Town):
    cron = await town.create()
    for call in (
        town.crons.get(cron.cron_id, owner=BOB),
        town.crons.replace(cron.cron_id, MINUTELY, owner=BOB, grant=OPEN),
        town.crons.delete(cron.cron_id, owner=BOB),
    ):
        with pytest.raises(CronNotFound):
            await call
    assert await town.crons.search(CronFilter(), owner=BOB) == []
    assert await town.crons.count(CronFilter(), owner=BOB) == 0
    assert await town.crons.count(CronFilter(), owner=ALICE) == 1
    with pytest.raises(ThreadNotFound):
        await town.create(owner=BOB, thread_id=await thread_of(town.rig, ALICE))


@pytest.mark.parametrize("how", ["revoked", "expired", "moved"])
async def test_a_schedule_ends_with_the_key_it_was_made_with(town: Town, how: str):
    keys = ApiKeys(town.rig.pool)
    made = (await keys.create(ALICE, expires_at=NOON + timedelta(hours=1))).key
    await keys.create(ALICE)  # the owner's other keys do not count
    cron = await town.create(grant=Grant(key_id=made.key_id))
    town.clock.move(minutes=1)
    assert await town.ticks() == [CREATED]
    if how == "revoked":
        await keys.revoke(made.key_id)
    if how == "moved":
        async with town.rig.pool.connection() as connection:
            statement = "UPDATE identity.api_keys SET owner = 'another' WHERE key_id = %s"
            await connection.execute(statement, (made.key_id,))
    town.clock.move(hours=1 if how == "expired" else 0, minutes=1)
    assert await town.ticks() == [TickOutcome.DISABLED]
    now = await town.get(cron)
    assert (now.options.is_enabled, now.disabled_reason) == (False, "api_key_ended")
    other = (await keys.create(ALICE)).key
    await town.crons.replace(cron.cron_id, MINUTELY, owner=ALICE, grant=Grant(key_id=other.key_id))
    town.clock.move(minutes=1)
    assert await town.ticks() == [CREATED]


async def test_a_schedule_without_a_key_must_be_renewed(town: Town):
    cron = await town.create(replace(MINUTELY, schedule="0 12 * * *"), grant=Grant())
    for _ in range(29):
        town.clock.move(days=1)
        assert await town.ticks() == [CREATED]
    town.clock.move(days=1)
    assert await town.ticks() == [TickOutcome.DISABLED]
    assert (await town.get(cron)).disabled_reason == "authorization_expired"
