"""Database migrations: our own, Procrastinate's and LangGraph's.

Any number of processes may call `migrate` at once; one does the work, the others wait.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.store.postgres.aio import AsyncPostgresStore
from procrastinate import App, PsycopgConnector
from procrastinate.schema import SchemaManager
from psycopg import AsyncConnection
from psycopg.errors import LockNotAvailable, UndefinedTable
from psycopg.rows import dict_row

from bathysphere.engine.database.pool import Connection, Database
from bathysphere.engine.errors import MigrationBlocked

_log = logging.getLogger(__name__)
_LOCK = 0x6261_7468  # any number, as long as nothing else in this database uses it
_LOCK_SECONDS = 2
_LOCK_ATTEMPTS = 30
_ONLINE = "INDEX CONCURRENTLY"
"""Marks a migration that builds indexes while the tables are in use."""


_CREATE_TABLE = (
    "CREATE SCHEMA IF NOT EXISTS engine; CREATE TABLE IF NOT EXISTS engine.migrations"
    " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
)
_PACKAGES = ("bathysphere.engine", "bathysphere.payments")


def migration_scripts() -> dict[str, str]:
    """Our migrations in order, with those of other packages that own tables."""
    found = {}
    for package in _PACKAGES:
        for file in files(package).joinpath("migrations").iterdir():
            if file.name.endswith(".sql"):
                found[file.name] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


async def migrate(database: Database) -> list[str]:
    """Migrate the database to this version; return the names of the applied migrations."""
    connection: Connection = await AsyncConnection.connect(
        database.url, autocommit=True, row_factory=dict_row, prepare_threshold=None
    )
    async with connection, advisory_lock(connection, _LOCK):
        await connection.execute(_CREATE_TABLE)
        await AsyncPostgresSaver(connection).setup()
        await AsyncPostgresStore(conn=connection).setup()
        await _migrate_procrastinate(connection, database)
        return await _migrate_own(connection)


@asynccontextmanager
async def advisory_lock(connection: Connection, lock: int) -> AsyncIterator[None]:
    """Hold an advisory lock, so that one process at a time is inside."""
    await _lock(connection, lock)
    try:
        yield
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", (lock,))


async def _lock(connection: Connection, lock: int) -> None:
    # Polled, because a waiting statement keeps a snapshot, and LangGraph's CREATE INDEX
    # CONCURRENTLY would wait for that snapshot forever.
    while True:
        row = await (
            await connection.execute("SELECT pg_try_advisory_lock(%s) AS locked", (lock,))
        ).fetchone()
        if row is not None and row["locked"]:
            return
        await asyncio.sleep(0.1)


def queue_scripts() -> dict[str, str]:
    """Procrastinate's migrations in order, by the name they are recorded under."""
    folder = Path(SchemaManager.get_migrations_path())
    return {
        f"procrastinate/{file.name}": file.read_text(encoding="utf-8")
        for file in sorted(folder.glob("*.sql"))
    }


async def _migrate_procrastinate(connection: Connection, database: Database) -> None:
    row = await (
        await connection.execute("SELECT to_regclass('procrastinate_jobs') AS found")
    ).fetchone()
    if row is None or row["found"] is None:
        connector = PsycopgConnector(conninfo=database.url, min_size=1, max_size=1)
        async with App(connector=connector).open_async() as app:
            await app.schema_manager.apply_schema_async()
    known = await _applied_names(connection)
    has_baseline = any(name.startswith("procrastinate/") for name in known)
    for name, script in queue_scripts().items():
        if name in known:
            continue
        # Without a baseline, the installed version's schema was just created and includes them all.
        await _apply(connection, name, script if has_baseline else None)


async def _applied_names(connection: Connection) -> set[str]:
    rows = await (await connection.execute("SELECT name FROM engine.migrations")).fetchall()
    return {row["name"] for row in rows}


async def _migrate_own(connection: Connection) -> list[str]:
    applied = await _applied_names(connection)
    fresh = []
    for name, script in migration_scripts().items():
        if name in applied:
            continue
        await _apply(connection, name, script)
        fresh.append(name)
    return fresh


async def _apply(connection: Connection, name: str, script: str | None) -> None:
    """Apply a migration and record it.

    While `ALTER TABLE` waits for one long transaction, every later statement on the table waits
    behind it. So it gives up after a moment, lets the others pass and tries again.
    """
    if script is not None and _ONLINE in script:
        await _apply_online(connection, name, script)
        return
    for attempt in range(_LOCK_ATTEMPTS):
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'".encode())
                if script is not None:
                    await connection.execute(script.encode())
                await connection.execute(
                    "INSERT INTO engine.migrations (name) VALUES (%s)", (name,)
                )
        except LockNotAvailable:
            _log.info("Migration %s waits for a table that is in use", name)
            await asyncio.sleep(min(5.0, 0.2 * 2**attempt))
        else:
            return
    raise MigrationBlocked(
        f"Migration {name} could not lock its tables",
        hint="end long transactions (see `pg_stat_activity`), then migrate again",
    )


async def _apply_online(connection: Connection, name: str, script: str) -> None:
    """Apply a migration that no transaction may contain, one statement after the other.

    If it is interrupted, it is repeated from its beginning, which drops a half-built index.
    """
    for statement in script.split(";"):
        if statement.strip():
            await connection.execute(statement.encode())
    await connection.execute("INSERT INTO engine.migrations (name) VALUES (%s)", (name,))


async def wait_until_migrated(database: Database, *, poll_seconds: float = 1.0) -> None:
    """Wait until someone else has applied this version's migrations; say so while waiting."""
    connection: Connection = await AsyncConnection.connect(
        database.url, autocommit=True, row_factory=dict_row, prepare_threshold=None
    )
    said = None
    async with connection:
        while missing := await _missing(connection):
            if missing != said:
                _log.warning(
                    "Waiting for `bathysphere migrate`; missing: %s", ", ".join(sorted(missing))
                )
                said = missing
            await asyncio.sleep(poll_seconds)


async def _missing(connection: Connection) -> set[str]:
    try:
        return migration_scripts().keys() - await _applied_names(connection)
    except UndefinedTable:
        return set(migration_scripts())
