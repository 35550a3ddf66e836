"""Cancellations as faults: of a run that a worker is claiming, and of a queued run.

Both use separate threads, so that the expected content of the schedule's thread does not change.
"""

import asyncio
from collections.abc import Callable
from uuid import uuid4

import httpx
from engine_rig import ALICE, Rig
from schedules import Fault
from stream_client import StreamClient
from tally import Tally, say
from watch import Watch, steady

from bathysphere.engine.records import Run

PAIRS = 8
SECONDS = 20  # includes a takeover: the worker may be killed in the meantime


async def cancel_at_pickup(rig: Rig, watch: Watch, tally: Tally, fault: Fault) -> None:
    """Start runs that are cancelled by the transaction in which a worker claims them."""
    runs = []
    for number in range(PAIRS):
        thread, run_id = uuid4(), uuid4()
        watch.track(run_id)
        await steady(lambda thread=thread: _mark(rig, str(thread)))
        values = {"items": [], "name": f"c{number}", "steps": 1, "delay": 0.0}
        runs.append(
            await steady(
                lambda thread=thread, run_id=run_id, values=values: rig.start(
                    thread, "steps", input=dict(values), run_id=run_id
                )
            )
        )
    tally.cancels += len(runs)
    for run in runs:
        await _must_end(run, watch, tally, fault)


async def cancel_queued(
    rig: Rig,
    watch: Watch,
    tally: Tally,
    fault: Fault,
    *,
    http: httpx.AsyncClient,
    addresses: Callable[[], list[str]],
    redis_losses: Callable[[], int],
) -> None:
    """Cancel a queued run: it ends at once, and readers of the thread get the event."""
    thread = uuid4()
    ids = [uuid4(), uuid4()]
    for run_id in ids:
        watch.track(run_id)
    first, second = [
        await steady(
            lambda run_id=run_id: rig.start(
                thread,
                "steps",
                input={"items": [], "name": "q", "steps": 3, "delay": 0.4},
                run_id=run_id,
            )
        )
        for run_id in ids
    ]
    tally.cancels += 1
    losses = redis_losses()
    reader = StreamClient(
        http=http, thread=thread, addresses=addresses, waits_for=[str(second.run_id)]
    )
    reading = asyncio.create_task(reader.read())
    try:
        await asyncio.sleep(fault.later)
        await steady(lambda: rig.runs.cancel(second.run_id, owner=ALICE))
        await _must_end(second, watch, tally, fault)
        await _must_end(first, watch, tally, fault)
        await asyncio.wait([reading], timeout=SECONDS)
        if not reading.done() and losses == redis_losses():
            tally.cancels_untold += 1
            say(f"UNTOLD {second.run_id}: {reader.story()}")
    finally:
        reading.cancel()


async def _must_end(run: Run, watch: Watch, tally: Tally, fault: Fault) -> None:
    try:
        async with asyncio.timeout(SECONDS):
            await watch.ended(run.run_id)
    except TimeoutError:
        tally.cancels_stuck += 1
        say(f"WEDGED {fault.kind} {run.run_id}: {watch.runs.get(run.run_id)}")


async def _mark(rig: Rig, thread: str) -> None:
    async with rig.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO cancel_at_pickup VALUES (%s) ON CONFLICT DO NOTHING", (thread,)
        )


# The abort is notified with the fetch itself, so that it reaches the worker between the fetch and
# the first step of the task: `Runs.cancel` does so once in 1,500 times.
AT_PICKUP = """
CREATE TABLE cancel_at_pickup (thread text PRIMARY KEY);
CREATE FUNCTION cancel_at_pickup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM cancel_at_pickup WHERE thread = NEW.lock;
    IF FOUND THEN
        NEW.abort_requested := true;
        UPDATE engine.runs SET cancel = 'interrupt' WHERE run_id::text = NEW.args ->> 'run_id';
        PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name,
            json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cancel_at_pickup BEFORE UPDATE ON procrastinate_jobs
    FOR EACH ROW WHEN (OLD.status = 'todo' AND NEW.status = 'doing')
    EXECUTE FUNCTION cancel_at_pickup();
"""
