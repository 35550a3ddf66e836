"""The PostgreSQL connection pool of a process."""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from psycopg_pool.pool_async import AddConnection, MaintenanceTask
from typing_extensions import override

from bathysphere.core.errors import StorageLost
from bathysphere.core.identity import Owner
from bathysphere.engine.encryption.cipher import NO_ENCRYPTION, Encryption
from bathysphere.engine.tenant_shares import Permit, ShareLimits, TenantShares, acting_owner

Connection = AsyncConnection[DictRow]

# The connection is lost; a new one may work. The second error is how PostgreSQL disconnects a
# process that was paused in the middle of a transaction.
CONNECTION_ERRORS = (OperationalError, IdleInTransactionSessionTimeout)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Convert a lost connection to `StorageLost`, which ends the attempt, not just a subagent."""
    try:
        yield
    except CONNECTION_ERRORS as error:
        raise StorageLost("PostgreSQL is unavailable", hint="the run will be retried") from error


_MAX_RECONNECT_SECONDS = 2.0
# A network that fails silently is noticed in seconds, not after the kernel's 15 minutes.
TIMEOUTS: dict[str, Any] = {
    "connect_timeout": 10,
    "tcp_user_timeout": 10_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Database:
    """How to connect to PostgreSQL.

    `prepare_threshold=None` turns off server-side prepared statements, as PgBouncer in transaction
    mode requires. `listen_url` must then reach PostgreSQL directly, because LISTEN needs a session;
    without it, workers poll.
    """

    url: str
    min_size: int = 1
    max_size: int = 10
    prepare_threshold: int | None = 5
    listen_url: str | None = None
    statement_seconds: float | None = None
    """Statement timeout; not applied behind PgBouncer, where sessions are shared."""
    encryption: Encryption = NO_ENCRYPTION
    """How contents are stored."""


class SharedPool(AsyncConnectionPool[Connection]):
    """A pool whose connections are shared equally among the tenants of current requests.

    A fifth is reserved for the process itself, such as for authenticating requests.
    """

    def __init__(
        self, conninfo: str, *, max_size: int, encryption: Encryption, **options: Any
    ) -> None:
        super().__init__(conninfo, max_size=max_size, **options)
        self.encryption = encryption
        """How contents are stored: whoever can reach the database can seal and open them."""
        at_once = max(1, max_size * 4 // 5)
        # Usage is limited where requests begin; waiting here as well would count as usage there.
        self._shares = TenantShares(ShareLimits(at_once=at_once))
        self.share_wait_seconds = 0.0
        """How long requests have waited for their tenant's share."""

    @override
    async def schedule_task(self, task: MaintenanceTask, delay: float) -> None:
        # The pool doubles the delay after each failure: after an outage of a minute it would stay
        # disconnected for up to another.
        if isinstance(task, AddConnection):
            delay = min(delay, _MAX_RECONNECT_SECONDS)
        await super().schedule_task(task, delay)

    @override
    def connection(  # type: ignore[override]  # upstream's type is private
        self, timeout: float | None = None
    ) -> AbstractAsyncContextManager[Connection]:
        # A worker acts for no owner, and takes a connection for each of its statements: there, no
        # second context manager is put around the pool's.
        owner = acting_owner.get()
        return super().connection(timeout) if owner is None else self._shared(owner, timeout)

    @asynccontextmanager
    async def _shared(self, owner: Owner, timeout: float | None) -> AsyncIterator[Connection]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with Permit(self._shares, owner):
            self.share_wait_seconds += loop.time() - began
            async with super().connection(timeout) as connection:
                yield connection


Pool = SharedPool


@asynccontextmanager
async def open_pool(database: Database) -> AsyncIterator[Pool]:
    """Open a pool of autocommit connections that return rows as dictionaries."""

    async def configure(connection: AsyncConnection[Any]) -> None:
        # Not among the connection's arguments: Procrastinate adds `autocommit` there itself.
        await connection.set_autocommit(True)
        connection.prepare_threshold = database.prepare_threshold
        if database.statement_seconds is not None and database.prepare_threshold is not None:
            milliseconds = int(database.statement_seconds * 1000)
            await connection.execute(f"SET statement_timeout = {milliseconds}".encode())
        if database.prepare_threshold is not None:
            # Compiling a statement takes a second, executing one of ours milliseconds.
            await connection.execute("SET jit = off")

    pool = SharedPool(
        database.url,
        min_size=database.min_size,
        max_size=database.max_size,
        encryption=database.encryption,
        kwargs={"row_factory": dict_row, **TIMEOUTS},
        configure=configure,
        open=False,
        timeout=30,
        reconnect_timeout=math.inf,
    )
    await pool.open(wait=True, timeout=30)
    try:
        yield pool
    finally:
        await pool.close()
