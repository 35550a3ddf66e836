"""The one connection pool of a process, set up for what the engine does with it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from bathysphere.core.errors import StorageLost

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

# The connection is gone; the next one may do. The second is how PostgreSQL parts with a process
# that was stopped in the middle of a transaction.
LOST = (OperationalError, IdleInTransactionSessionTimeout)


@contextmanager
def reachable() -> Iterator[None]:
    """What a graph calls: a lost connection ends the attempt, and is no failure of a subagent."""
    try:
        yield
    except LOST as error:
        raise StorageLost("PostgreSQL cannot be reached", hint="the run is tried again") from error


# A network that is gone without a word is noticed in seconds, not after the kernel's 15 minutes.
_PATIENCE = {
    "connect_timeout": 10,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """Where PostgreSQL is and how to speak to it.

    `prepare_threshold=None` turns server-side prepared statements off, which PgBouncer in
    transaction mode needs. `listen_url` is then an address that reaches PostgreSQL itself, because
    LISTEN belongs to a session; without it workers poll.
    """

    url: str
    min_size: int = 1
    max_size: int = 10
    prepare_threshold: int | None = 5
    listen_url: str | None = None


@asynccontextmanager
async def open_pool(database: Database) -> AsyncIterator[Pool]:
    """A pool of autocommitting connections that give rows as dictionaries."""

    async def configure(connection: AsyncConnection[Any]) -> None:
        # Not among the connection's arguments: Procrastinate adds `autocommit` there itself.
        await connection.set_autocommit(True)
        connection.prepare_threshold = database.prepare_threshold

    pool: Pool = AsyncConnectionPool(
        database.url,
        min_size=database.min_size,
        max_size=database.max_size,
        kwargs={"row_factory": dict_row, **_PATIENCE},
        configure=configure,
        open=False,
        timeout=30,
    )
    await pool.open(wait=True, timeout=30)
    try:
        yield pool
    finally:
        await pool.close()
