"""The database is migrated once, by whichever process is first."""

import asyncio
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest
from procrastinate import App, PsycopgConnector
from procrastinate.schema import SchemaManager
from procrastinate.worker import Worker as QueueWorker

from bathysphere.engine.database import schema
from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate, migration_scripts, queue_scripts
from bathysphere.engine.errors import MigrationBlocked
from bathysphere.testing.postgres import temporary_database

pytestmark = pytest.mark.services


@pytest.fixture
def empty() -> Iterator[Database]:
    with temporary_database("engine_test") as url:
        yield Database(url=url)


async def test_migrations_of_a_newer_procrastinate_are_applied_once(
    empty: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await migrate(empty)
    for name, script in queue_scripts().items():
        (tmp_path / name.removeprefix("procrastinate/")).write_text(script)
    newer = "ALTER TABLE procrastinate_jobs ADD COLUMN newer int"
    (tmp_path / "99.00.00_01_pre_newer.sql").write_text(newer)
    monkeypatch.setattr(SchemaManager, "get_migrations_path", staticmethod(lambda: str(tmp_path)))
    for _ in range(2):
        await migrate(empty)
    with psycopg.connect(empty.url) as connection:
        assert connection.execute("SELECT newer FROM procrastinate_jobs").fetchall() == []


async def test_a_migration_applied_under_its_old_number_is_recognised(empty: Database):
    """The migration for temporary threads was also numbered 0006, like the claims."""
    await migrate(empty)
    old = "0006_temporary_threads.sql"
    with psycopg.connect(empty.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE engine.migrations SET name = %s WHERE name = '0007_temporary_threads.sql'",
            (old,),
        )
    assert await migrate(empty) == ["0007_temporary_threads.sql"]
    assert await migrate(empty) == []
    with psycopg.connect(empty.url) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM engine.migrations")}
        indexes = connection.execute(
            "SELECT count(*) FROM pg_indexes WHERE indexname = 'runs_that_delete_their_thread'"
        ).fetchone()
    # A process of the older version looks for the old name and remains ready.
    assert names >= {old, *migration_scripts()}
    assert indexes == (1,)


COLUMNS = {
    "procrastinate_jobs": "id queue_name task_name priority lock args status scheduled_at attempts"
    " abort_requested worker_id",
    "procrastinate_workers": "id last_heartbeat",
}
JOB_TO_DEFER = "queue_name task_name priority lock queueing_lock args scheduled_at"
FUNCTIONS = {"procrastinate_defer_jobs_v1", "procrastinate_update_heartbeat_v1"}


async def test_procrastinate_has_the_tables_and_methods_that_we_use(empty: Database):
    """They are not its public interface: a new version must be checked before it is pinned."""
    await migrate(empty)
    with psycopg.connect(empty.url) as connection:
        for table, columns in {**COLUMNS, "procrastinate_job_to_defer_v1": JOB_TO_DEFER}.items():
            rows = connection.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
                " ORDER BY attnum",
                (table,),
            ).fetchall()
            found = [row[0] for row in rows]
            assert set(columns.split()) <= set(found)
            if table == "procrastinate_job_to_defer_v1":
                assert found == columns.split()
        rows = connection.execute("SELECT proname FROM pg_proc").fetchall()
        assert {row[0] for row in rows} >= FUNCTIONS
    worker = QueueWorker(app=App(connector=PsycopgConnector()))
    assert worker._running_jobs == {}
    assert {"worker_id"} <= vars(worker).keys()
    assert version("procrastinate") == "3.10.0"


async def test_several_processes_migrate_at_once_and_one_does_the_work(empty: Database):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(migrate(empty)) for _ in range(4)]
    applied = sorted([task.result() for task in tasks], key=len)
    assert applied[:3] == [[], [], []]
    assert applied[3] == sorted(applied[3])
    assert applied[3][0] == "0001_threads_and_runs.sql"


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next version, with one migration more."""
    scripts = {**migration_scripts(), "9999_next.sql": "ALTER TABLE engine.runs ADD COLUMN x int"}
    monkeypatch.setattr(schema, "migration_scripts", lambda: scripts)


async def test_a_migration_that_must_wait_lets_others_pass(
    empty: Database, request: pytest.FixtureRequest
):
    await migrate(empty)
    request.getfixturevalue("newer")
    with psycopg.connect(empty.url) as long, psycopg.connect(empty.url, autocommit=True) as other:
        long.execute("SELECT count(*) FROM engine.runs")  # holds its lock until the end
        migrating = asyncio.create_task(migrate(empty))
        await asyncio.sleep(0.5)
        other.execute("SET statement_timeout = '10s'")
        reading = asyncio.to_thread(other.execute, "SELECT count(*) FROM engine.runs")
        await asyncio.wait_for(reading, 10)
        assert not migrating.done()
        long.rollback()
        assert await asyncio.wait_for(migrating, 20) == ["9999_next.sql"]


async def test_a_migration_that_never_gets_its_lock_says_what_to_do(
    empty: Database, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
):
    await migrate(empty)
    request.getfixturevalue("newer")
    monkeypatch.setattr(schema, "_LOCK_ATTEMPTS", 1)
    with psycopg.connect(empty.url) as long:
        long.execute("SELECT count(*) FROM engine.runs")
        with pytest.raises(MigrationBlocked, match="9999_next"):
            await migrate(empty)


async def test_a_worker_waits_for_the_migrations_of_its_version(
    empty: Database, request: pytest.FixtureRequest
):
    for step in ("empty", "older"):
        waiting = asyncio.create_task(schema.wait_until_migrated(empty, poll_seconds=0.05))
        await asyncio.sleep(0.5)
        assert not waiting.done(), step
        await migrate(empty)
        await asyncio.wait_for(waiting, 10)
        if step == "empty":
            request.getfixturevalue("newer")


async def test_an_index_that_was_half_built_is_built_again(
    empty: Database, monkeypatch: pytest.MonkeyPatch
):
    await migrate(empty)
    online = """
    DROP INDEX CONCURRENTLY IF EXISTS engine.later;
    CREATE INDEX CONCURRENTLY later ON engine.threads (created_at);
    """
    scripts = {**migration_scripts(), "9999_later.sql": online}
    monkeypatch.setattr(schema, "migration_scripts", lambda: scripts)
    with psycopg.connect(empty.url, autocommit=True) as connection:
        connection.execute("CREATE INDEX later ON engine.threads (created_at)")
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'engine.later'::regclass"
        )
        assert await migrate(empty) == ["9999_later.sql"]
        row = connection.execute(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = 'engine.later'::regclass"
        ).fetchone()
        assert row == (True,)
        assert await migrate(empty) == []
