"""Threads that nobody uses are deleted by the hundred; those in use are never waited for."""

import asyncio
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.engine.expiry import thread_sweep
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.threads import Threads
from bathysphere.server.process.assembly import tenant_ttl, thread_ttl
from bathysphere.server.process.services import open_services
from bathysphere.server.process.settings import ServerSettings
from bathysphere.testing.postgres import temporary_database

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
HOUR = 60


@pytest.fixture
def database():
    with temporary_database("expiry") as url:
        found = Database(url=url)
        asyncio.run(migrate(found))
        yield found


@pytest.fixture
async def threads(database):
    async with open_services(database=database, graphs=Graphs({})) as services:
        yield services.threads


def plant(database, count: int, *, tenant: str, hours: float, deletes: bool = False) -> list[UUID]:
    """Threads with a run and a checkpoint each, unused for so long."""
    ids = [uuid4() for _ in range(count)]
    values = {"ids": ids, "tenant": tenant, "hours": hours, "deletes": deletes}
    with psycopg.connect(database.url) as connection:
        for statement in PLANTED:
            connection.execute(statement, values)
    return ids


PLANTED = (
    """
    INSERT INTO engine.threads (thread_id, tenant, owner, updated_at)
    SELECT id, %(tenant)s, 'ada', now() - make_interval(secs => %(hours)s * 3600)
      FROM unnest(%(ids)s::uuid[]) AS id
    """,
    """
    INSERT INTO engine.runs (run_id, thread_id, tenant, owner, graph, work, status, tag,
                             deletes_thread, finished_at)
    SELECT gen_random_uuid(), id, %(tenant)s, 'ada', 'plain', '{}', 'success', 0, %(deletes)s,
           now() - make_interval(secs => %(hours)s * 3600)
      FROM unnest(%(ids)s::uuid[]) AS id
    """,
    """
    INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, metadata)
    SELECT id::text, '', n::text, '{}', '{}' FROM unnest(%(ids)s::uuid[]) AS id,
           generate_series(1, 3) AS n
    """,
    """
    INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
    SELECT id::text, '', 'messages', n::text, 'bytes', 'x' FROM unnest(%(ids)s::uuid[]) AS id,
           generate_series(1, 3) AS n
    """,
)


def left(database) -> dict[str, int]:
    with psycopg.connect(database.url) as connection:
        query = "SELECT tenant, count(*) FROM engine.threads GROUP BY tenant"
        found = dict(connection.execute(query).fetchall())
        stored = connection.execute("SELECT count(DISTINCT thread_id) FROM checkpoints").fetchone()
    assert stored == (sum(found.values()),)
    return found


async def test_each_tenant_has_its_own_time(threads, database):
    for tenant in ("default", "short", "never"):
        plant(database, 3, tenant=tenant, hours=10)
        plant(database, 2, tenant=tenant, hours=2)
    by_tenant = {"short": 1 * HOUR, "never": None}
    assert await thread_sweep(threads, minutes=5 * HOUR, by_tenant=by_tenant)() == 3 + 5
    assert left(database) == {"default": 2, "never": 5}


async def test_without_a_default_only_the_named_tenants_threads_expire(threads, database):
    plant(database, 2, tenant="default", hours=1000)
    plant(database, 2, tenant="short", hours=2)
    assert await thread_sweep(threads, minutes=None, by_tenant={"short": HOUR})() == 2
    assert left(database) == {"default": 2}


async def test_threads_in_use_are_skipped_and_not_waited_for(threads, database):
    locked, active, used, idle = plant(database, 4, tenant="acme", hours=10)
    async with await psycopg.AsyncConnection.connect(database.url) as holder:
        await holder.execute(
            "SELECT 1 FROM engine.threads WHERE thread_id = %s FOR UPDATE", (locked,)
        )
        async with await psycopg.AsyncConnection.connect(database.url, autocommit=True) as other:
            await other.execute(
                "UPDATE engine.runs SET status = 'pending' WHERE thread_id = %s", (active,)
            )
            found = await threads_found(threads)
            await other.execute(
                "UPDATE engine.threads SET updated_at = now() WHERE thread_id = %s", (used,)
            )
        deleted = await asyncio.wait_for(threads.delete_idle(found), 10)
    assert deleted == [idle]
    assert left(database) == {"acme": 3}


async def threads_found(threads: Threads):
    """What a sweep has found when it begins to delete."""
    found = []

    async def record(batch):
        found.extend(batch)
        return []

    delete_idle, threads.delete_idle = threads.delete_idle, record
    await threads.delete_unused(after_minutes=HOUR)
    threads.delete_idle = delete_idle
    assert len(found) == 4
    return found


async def test_all_stateless_threads_go_in_one_sweep_however_many(threads, database):
    plant(database, 1200, tenant="acme", hours=1, deletes=True)
    plant(database, 2, tenant="acme", hours=1)
    count = 0
    while gone := await threads.delete_temporary(after_seconds=10):
        count += len(gone)
    assert count == 1200
    assert left(database) == {"acme": 2}


async def test_the_log_of_a_deleted_thread_goes_too(threads, database):
    (thread,) = plant(database, 1, tenant="acme", hours=10)
    owner = Owner(tenant="acme", user="ada")
    await threads._log.append(thread, [b"{}"], owner=owner)
    await threads.delete_unused(after_minutes=HOUR)
    assert await threads._log.last_id(thread) == 0


def test_the_times_come_from_the_setting_and_the_tenants_file(tmp_path: Path, monkeypatch):
    file = tmp_path / "tenants.toml"
    file.write_text(
        "[tenant.acme]\nthread_ttl_days = 2\n[tenant.kept]\nthread_ttl_days = 0\n[tenant.other]\n"
    )
    monkeypatch.setenv("BATHYSPHERE_STORAGE_TENANTS", str(file))
    monkeypatch.setenv("BATHYSPHERE_THREAD_TTL_DAYS", "30")
    assert tenant_ttl() == {"acme": 2 * 24 * HOUR, "kept": None}
    found = thread_ttl(ServerSettings.from_environment(), None)
    assert found is not None
    assert found.minutes == 30 * 24 * HOUR
