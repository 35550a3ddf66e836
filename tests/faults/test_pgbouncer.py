"""The engine behind PgBouncer in transaction mode; `bounced/` runs the clients' suite there.

These must reach PostgreSQL directly: LISTEN (wakes up workers), the heartbeat's own connection and
the migrations, which hold an advisory lock. They use `listen_url` or run once per deployment.
Without `listen_url` workers poll, and the heartbeat also goes through PgBouncer, which is fine:
each beat is one statement.
"""

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest
from engine_rig import ALICE, Rig, open_rig
from own_services import own_bouncer

from bathysphere.engine.database.pool import Database
from bathysphere.engine.records import Work

pytestmark = [pytest.mark.services, pytest.mark.timeout(180)]

POSTGRES = 5432


@pytest.fixture(scope="module")
def bouncer() -> Iterator[int]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    if shutil.which("pgbouncer", path=path) is None:
        pytest.fail("pgbouncer is missing: run scripts/services.sh (Debian's package pgbouncer)")
    with own_bouncer(POSTGRES) as port:
        yield port


@pytest.fixture(params=["listening", "polling"])
def bounced(request: pytest.FixtureRequest, engine_database: Database, bouncer: int) -> Database:
    """The engine's database through PgBouncer, with the documented settings."""
    return replace(
        engine_database,
        url=engine_database.url.replace(f":{POSTGRES}/", f":{bouncer}/"),
        prepare_threshold=None,
        listen_url=engine_database.url if request.param == "listening" else None,
    )


@asynccontextmanager
async def working(database: Database) -> AsyncIterator[Rig]:
    async with open_rig(database) as rig, rig.working(), rig.working():
        yield rig


def test_it_is_really_in_transaction_mode(engine_database: Database, bouncer: int):
    url = engine_database.url.replace(f":{POSTGRES}/", f":{bouncer}/")
    with psycopg.connect(url.rsplit("/", 1)[0] + "/pgbouncer", autocommit=True) as connection:
        rows = connection.execute("SHOW CONFIG").fetchall()
    assert next(row[1] for row in rows if row[0] == "pool_mode") == "transaction"


async def test_runs_of_a_thread_go_in_order(bounced: Database):
    async with working(bounced) as rig:
        thread = uuid4()
        runs = [
            await rig.start(
                thread, "paying", input={"items": [f"said {name}"], "name": name, "steps": 3}
            )
            for name in "abc"
        ]
        for run in runs:
            assert (await rig.ended(run)).status == "success"
        wanted = [i for n in "abc" for i in (f"said {n}", *(f"{n}:{s}" for s in range(3)))]
        assert await rig.items(thread) == wanted


async def test_many_threads_at_once(bounced: Database):
    async with working(bounced) as rig:
        runs = [
            await rig.start(uuid4(), "steps", input={"name": "a", "steps": 3}) for _ in range(40)
        ]
        assert [(await rig.ended(run, seconds=60)).status for run in runs] == ["success"] * 40


async def test_answers_cancel_and_rollback(bounced: Database):
    async with working(bounced) as rig:
        answers = rig.answers
        thread = uuid4()
        await rig.ended(await rig.start(thread, "parallel", input={"items": []}))
        pending = await answers.pending(thread, owner=ALICE, graph="parallel")
        values = {
            name: {"pick": "left"} if q.value["question"] == "which?" else "hello"
            for name, q in pending.items()
        }
        given = await answers.submit(thread, values, owner=ALICE, graph="parallel")
        assert (await rig.ended(given.run)).status == "success"
        slow = await rig.start(thread, "steps", input={"name": "s", "steps": 50, "delay": 0.1})
        await rig.in_journal(thread, "s:1")
        await rig.runs.cancel(slow.run_id, owner=ALICE, action="rollback")
        assert (await rig.ended(slow)).status == "cancelled"
        assert sorted(await rig.items(thread, "parallel")) == ["picked left", "said hello"]
        resumed = await rig.start(thread, "steps", work=Work(input={"name": "t", "steps": 1}))
        assert (await rig.ended(resumed)).status == "success"
