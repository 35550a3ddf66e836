"""The epoch of a database: which of its lives it is in, counted by restores from a backup."""

from typing import Any

from psycopg.errors import UndefinedTable

from bathysphere.engine.database.pool import Pool

BEGIN_EPOCH = """
INSERT INTO engine.epochs (epoch)
VALUES (substr(md5(random()::text || clock_timestamp()::text), 1, 12));
SELECT setval('engine.attempt_tokens', greatest(
           (SELECT last_value FROM engine.attempt_tokens),
           (extract(epoch FROM clock_timestamp()) * 1000)::bigint));
"""
"""SQL that ends a restore. Tokens continue above all that were given out after the backup, so that
a worker of that time cannot write any more."""


async def read_epoch(pool: Pool) -> str:
    """Return the current epoch; a database that is still to be migrated is in the first."""
    async with pool.connection() as connection:
        try:
            row: Any = await (await connection.execute(_CURRENT)).fetchone()
        except UndefinedTable:
            return ""
    return str(row["epoch"]) if row is not None else ""


_CURRENT = "SELECT epoch FROM engine.epochs ORDER BY number DESC LIMIT 1"
