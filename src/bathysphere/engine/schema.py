"""The database's shape: our own ordered migrations, Procrastinate's schema, LangGraph's tables.

Any number of processes may call `migrate` at once; one does the work, the others wait for it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from procrastinate import App, PsycopgConnector
from psycopg import AsyncConnection
from psycopg.rows import dict_row

from bathysphere.engine.database import Connection, Database

_LOCK = 0x6261_7468  # any number, as long as nothing else in this database uses it


_PACKAGES = ("bathysphere.engine", "bathysphere.payments")


def scripts() -> dict[str, str]:
    """The migrations in their order: ours, and those of the parts below that keep tables."""
    found = {}
    for package in _PACKAGES:
        for file in files(package).joinpath("migrations").iterdir():
            if file.name.endswith(".sql"):
                found[file.name] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


async def migrate(database: Database) -> list[str]:
    """Bring the database to this version's shape; return the names of what was applied."""
    connection: Connection = await AsyncConnection.connect(
        database.url, autocommit=True, row_factory=dict_row, prepare_threshold=None
    )
    async with connection, alone(connection, _LOCK):
        await AsyncPostgresSaver(connection).setup()
        await _procrastinate(connection, database)
        return await _own(connection)


@asynccontextmanager
async def alone(connection: Connection, lock: int) -> AsyncIterator[None]:
    """Hold an advisory lock: of all processes, one at a time is inside."""
    await _lock(connection, lock)
    try:
        yield
    finally:
        await connection.execute("SELECT pg_advisory_unlock(%s)", (lock,))


async def _lock(connection: Connection, lock: int) -> None:
    # Asked for again and again, not waited for: a waiting statement keeps a snapshot, and
    # LangGraph's CREATE INDEX CONCURRENTLY would wait for that snapshot for ever.
    while True:
        row = await (
            await connection.execute("SELECT pg_try_advisory_lock(%s) AS locked", (lock,))
        ).fetchone()
        if row is not None and row["locked"]:
            return
        await asyncio.sleep(0.1)


async def _procrastinate(connection: Connection, database: Database) -> None:
    row = await (
        await connection.execute("SELECT to_regclass('procrastinate_jobs') AS found")
    ).fetchone()
    if row is None or row["found"] is not None:
        return
    connector = PsycopgConnector(conninfo=database.url, min_size=1, max_size=1)
    async with App(connector=connector).open_async() as app:
        await app.schema_manager.apply_schema_async()


async def _own(connection: Connection) -> list[str]:
    await connection.execute(
        "CREATE SCHEMA IF NOT EXISTS engine; CREATE TABLE IF NOT EXISTS engine.migrations"
        " (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
    )
    rows = await (await connection.execute("SELECT name FROM engine.migrations")).fetchall()
    applied = {row["name"] for row in rows}
    fresh = []
    for name, script in scripts().items():
        if name in applied:
            continue
        async with connection.transaction():
            await connection.execute(script.encode())
            await connection.execute("INSERT INTO engine.migrations (name) VALUES (%s)", (name,))
        fresh.append(name)
    return fresh
