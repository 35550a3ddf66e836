"""A process that is stopped in the middle of a transaction holds nobody up for long."""

import asyncio
import time
from uuid import uuid4

import psycopg
import pytest
from engine_rig import ALICE, Rig

from bathysphere.engine.thread_lock import lock_thread, try_lock_thread

pytestmark = pytest.mark.services


async def test_a_run_ends_although_a_stopped_api_holds_its_thread(rig: Rig, within):
    thread = uuid4()
    async with rig.working():
        run = await rig.start(thread, "steps", input={"name": "a", "steps": 2, "delay": 0.5})
        await rig.in_journal(thread, "a:0")
        connection = await rig.pool.getconn()
        try:
            await connection.execute("BEGIN")
            await lock_thread(connection, thread, owner=ALICE)
            # The process is stopped here: it neither goes on nor lets go.
            began = time.monotonic()
            assert (await rig.ended(run)).status == "success"
            within(time.monotonic() - began, 8)
            with pytest.raises(psycopg.Error):
                await connection.execute("SELECT 1")
        finally:
            await rig.pool.putconn(connection)


async def test_a_worker_stopped_while_it_ends_a_run_does_not_keep_it_from_another(rig: Rig):
    thread = uuid4()
    run = await rig.start(thread, "steps", input={"name": "a", "steps": 1})
    mine = await rig.attempts.open(run.run_id)
    assert mine is not None
    connection = await rig.pool.getconn()
    try:
        await connection.execute("BEGIN")
        await try_lock_thread(connection, thread)
        await connection.execute(
            "UPDATE engine.runs SET token = NULL WHERE run_id = %s", (run.run_id,)
        )
        async with asyncio.timeout(8):  # the worker is stopped here
            again = await rig.attempts.open(run.run_id)
    finally:
        await rig.pool.putconn(connection)
    assert again is not None
    assert (again.attempt, again.status) == (2, "running")


async def test_a_database_lost_while_a_run_is_queued_is_a_lost_database(rig: Rig):
    thread, run_id = uuid4(), uuid4()
    async with rig.pool.connection() as connection:
        backend = connection.info.backend_pid
        async with rig.pool.connection() as other:
            await other.execute("SELECT pg_terminate_backend(%s)", (backend,))
        await asyncio.sleep(0.1)
        with pytest.raises(psycopg.OperationalError):
            await rig.queue.defer(connection, run_id=run_id, lock=thread, tag=0)


async def test_who_holds_a_thread_does_not_hold_back_a_tool_that_writes_down_its_effect(rig: Rig):
    thread = uuid4()
    run = await rig.start(thread, "steps", input={"name": "a", "steps": 1})
    async with rig.pool.connection() as connection, connection.transaction():
        await lock_thread(connection, thread, owner=ALICE)
        async with asyncio.timeout(3), rig.pool.connection() as other:
            await other.execute(
                "INSERT INTO engine.effects (thread_id, namespace, task, call, run_id)"
                " VALUES (%s, '', 'task', 'call', %s)",
                (thread, run.run_id),
            )
