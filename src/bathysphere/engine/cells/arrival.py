"""Copy a tenant's rows into another database, within one transaction there."""

from collections.abc import Sequence
from typing import Any

from psycopg import sql

from bathysphere.engine.cells.tables import MOVED_TABLES, MovedTable, parameters
from bathysphere.engine.database.pool import Connection

_FILE_CHANGES = "engine.file_changes"


async def copy_rows(source: Connection, target: Connection, tenant: str) -> int:
    """Copy all rows of the tenant; return how many there were.

    The caller has closed the tenant in the source, and has a transaction in the target.
    """
    copied = 0
    for table in await _existing(target):
        columns = await _columns(target, table.name)
        if table.name == _FILE_CHANGES:
            copied += await _copy_file_changes(source, target, table, columns, tenant)
        else:
            copied += await _copy(source, target, table, table.name, columns, tenant)
    await _continue_sequence(source, target, tenant)
    await _queue_jobs(source, target, tenant)
    return copied


async def delete_rows(connection: Connection, tenant: str) -> None:
    """Delete the tenant's rows, a table at a time: what refers to others comes first.

    The caller has no transaction: if this is interrupted, it can be done again.
    """
    for table in reversed(await _existing(connection)):
        async with connection.transaction():
            await pass_closed_door(connection, tenant)
            if table.name == "engine.runs":  # together: a run without its job is queued again
                await connection.execute(_DELETE_JOBS, (tenant,))
            statement = f"DELETE FROM {table.name} t WHERE {table.where}"  # noqa: S608  # our own constants
            await connection.execute(statement.encode(), parameters(tenant))


async def table_with_rows(connection: Connection, tenant: str) -> str | None:
    """The name of a table that has rows of the tenant; None if there is none."""
    parts = [
        f"SELECT '{table.name}' AS name WHERE EXISTS"  # noqa: S608  # our own constants
        f" (SELECT FROM {table.name} t WHERE {table.where})"
        for table in await _existing(connection)
    ]
    statement = f"{' UNION ALL '.join(parts)} LIMIT 1"
    cursor = await connection.execute(statement.encode(), parameters(tenant))
    row: Any = await cursor.fetchone()
    return str(row["name"]) if row is not None else None


async def pass_closed_door(connection: Connection, tenant: str) -> None:
    """Let the current transaction change rows of a tenant that is closed for everybody else."""
    await connection.execute("SELECT set_config('app.moving', %s, true)", (tenant,))


async def _copy(
    source: Connection,
    target: Connection,
    table: MovedTable,
    into: str,
    columns: Sequence[str],
    tenant: str,
) -> int:
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    read = sql.SQL("COPY (SELECT {} FROM {} t WHERE {}) TO STDOUT (FORMAT BINARY)").format(
        names, _name(table.name), sql.SQL(table.where)
    )
    write = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(_name(into), names)
    async with source.cursor() as reading, target.cursor() as writing:
        async with (
            reading.copy(read, parameters(tenant)) as rows,
            writing.copy(write) as destination,
        ):
            async for block in rows:
                await destination.write(block)
        return writing.rowcount


async def _copy_file_changes(
    source: Connection,
    target: Connection,
    table: MovedTable,
    columns: Sequence[str],
    tenant: str,
) -> int:
    """Copy changes of files under numbers of the target: another tenant may have theirs there."""
    await target.execute("CREATE TEMP TABLE arriving (LIKE engine.file_changes) ON COMMIT DROP")
    copied = await _copy(source, target, table, "arriving", columns, tenant)
    others = [name for name in columns if name not in ("change_id", "undoes")]
    await target.execute(
        sql.SQL(_RENUMBER).format(
            columns=sql.SQL(", ").join(map(sql.Identifier, others)),
            values=sql.SQL(", ").join(sql.Identifier("arriving", name) for name in others),
        )
    )
    await target.execute("DROP TABLE arriving")
    return copied


async def _continue_sequence(source: Connection, target: Connection, tenant: str) -> None:
    """Let the next run of a thread come after those that it had."""
    row: Any = await (await source.execute(_LAST_RUN, (tenant,))).fetchone()
    if row["seq"] is not None:
        await target.execute(_CONTINUE, {"seq": row["seq"]})


async def _queue_jobs(source: Connection, target: Connection, tenant: str) -> None:
    waiting = await (await source.execute(_WAITING, (tenant,))).fetchall()
    await target.execute(
        _QUEUE,
        {
            "runs": [row["run_id"] for row in waiting],
            "scheduled": [row["scheduled_at"] for row in waiting],
            "attempts": [row["attempts"] for row in waiting],
        },
    )


async def _existing(connection: Connection) -> list[MovedTable]:
    names = [table.name for table in MOVED_TABLES]
    rows = await (await connection.execute(_EXISTING, (names,))).fetchall()
    found = {row["name"] for row in rows}
    return [table for table in MOVED_TABLES if table.name in found]


async def _columns(connection: Connection, table: str) -> list[str]:
    """The columns that can be written, by the names that both databases have."""
    rows = await (await connection.execute(_COLUMNS, (table,))).fetchall()
    return [row["name"] for row in rows]


def _name(table: str) -> sql.Identifier:
    return sql.Identifier(*table.split("."))


_EXISTING = """
SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL
"""
_COLUMNS = """
SELECT attname AS name FROM pg_attribute
 WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
 ORDER BY attnum
"""
_RENUMBER = """
WITH numbered AS MATERIALIZED (
    SELECT change_id AS old,
           nextval(pg_get_serial_sequence('engine.file_changes', 'change_id')) AS new
      FROM (SELECT change_id FROM arriving ORDER BY change_id) AS in_order
)
INSERT INTO engine.file_changes (change_id, undoes, {columns})
OVERRIDING SYSTEM VALUE
SELECT numbered.new, undone.new, {values}
  FROM arriving
  JOIN numbered ON numbered.old = arriving.change_id
  LEFT JOIN numbered undone ON undone.old = arriving.undoes
 ORDER BY numbered.new
"""
_LAST_RUN = "SELECT max(seq) AS seq FROM engine.runs WHERE tenant = %s"
# Others take numbers meanwhile: the margin is more than can be taken between reading and setting.
_CONTINUE = """
SELECT setval('engine.runs_seq_seq', last_value + 10000 + GREATEST(0, %(seq)s - last_value))
  FROM engine.runs_seq_seq WHERE last_value <= %(seq)s
"""
_WAITING = """
SELECT run.run_id, job.scheduled_at, COALESCE(job.attempts, 0) AS attempts
  FROM engine.runs run
  LEFT JOIN procrastinate_jobs job ON job.id = run.job_id
 WHERE run.tenant = %s AND run.status IN ('pending', 'running')
 ORDER BY run.seq
"""
_QUEUE = """
WITH queued AS (
    INSERT INTO procrastinate_jobs
           (queue_name, task_name, priority, lock, args, scheduled_at, attempts)
    SELECT 'runs', 'run', -run.tag, run.thread_id::text,
           jsonb_build_object('run_id', run.run_id::text), waiting.scheduled_at, waiting.attempts
      FROM unnest(%(runs)s::uuid[], %(scheduled)s::timestamptz[], %(attempts)s::int[])
           AS waiting (run_id, scheduled_at, attempts)
      JOIN engine.runs run USING (run_id)
     ORDER BY run.seq
    RETURNING id, args ->> 'run_id' AS run_id
)
UPDATE engine.runs run SET job_id = queued.id
  FROM queued WHERE run.run_id = queued.run_id::uuid
"""
_DELETE_JOBS = """
DELETE FROM procrastinate_jobs job USING engine.threads thread
 WHERE thread.tenant = %s AND job.lock = thread.thread_id::text
"""
