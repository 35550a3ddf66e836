"""What the routes work with: the engine's parts of one API process, opened and closed together."""

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langgraph.store.base import BaseStore
from langgraph.store.postgres.aio import AsyncPostgresStore
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from redis.asyncio import BlockingConnectionPool, Redis

from bathysphere.core.clock import Clock, SystemClock
from bathysphere.engine.answers import Answers
from bathysphere.engine.database import Connection, Database, Pool, open_pool
from bathysphere.engine.events import EventLog, MemoryEventLog
from bathysphere.engine.events_redis import RedisEventLog
from bathysphere.engine.file_changes import FileChanges
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.queue import Queue
from bathysphere.engine.runs import Runs
from bathysphere.engine.schema import alone
from bathysphere.engine.threads import Threads
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.states import States
from bathysphere.server.workspaces import Workspaces

if TYPE_CHECKING:
    from bathysphere.server.payments.parts import Payments

_KEEPALIVE = {
    socket.TCP_KEEPIDLE: 5,
    socket.TCP_KEEPINTVL: 1,
    socket.TCP_KEEPCNT: 5,
    socket.TCP_USER_TIMEOUT: 10_000,
}
_LOCK = 0x6261_7469  # one more than the engine's migrations use


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """The parts of one API process."""

    clock: Clock
    database: Database
    pool: Pool
    queue: Queue
    graphs: Graphs
    events: EventLog
    store: BaseStore
    runs: Runs
    threads: Threads
    states: States
    answers: Answers
    changes: FileChanges
    workspaces: Workspaces | None = None
    payments: "Payments | None" = None
    """Prepaid use; None: nothing is paid for."""


@asynccontextmanager
async def open_services(
    *,
    database: Database,
    graphs: Graphs,
    redis_url: str | None = None,
    clock: Clock | None = None,
    payments: PaymentSettings | None = None,
    workspaces: Workspaces | None = None,
) -> AsyncIterator[Services]:
    """Open everything; without Redis the events live in this process.

    The database has been brought to shape by `bathysphere.engine.schema.migrate`.
    """
    clock = clock or SystemClock()
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_pool(database))
        await migrate_store(database)
        events: EventLog = MemoryEventLog(clock=clock)
        if redis_url is not None:
            redis = open_redis(redis_url)
            stack.push_async_callback(redis.aclose)
            events = await stack.enter_async_context(RedisEventLog(redis, clock=clock))
        queue = Queue(pool, database=database, clock=clock)
        await queue.open()
        paid = await stack.enter_async_context(_payments(payments, pool, clock))
        runs = Runs(pool, queue, quota=workspaces.run_quota if workspaces else None)
        threads = Threads(pool, events)
        yield Services(
            clock=clock,
            database=database,
            pool=pool,
            queue=queue,
            graphs=graphs,
            events=events,
            store=open_store(pool),
            runs=runs,
            threads=threads,
            states=States(pool, threads, graphs),
            answers=Answers(pool, runs=runs, graphs=graphs),
            payments=paid,
            changes=FileChanges(pool),
            workspaces=workspaces,
        )


@asynccontextmanager
async def _payments(
    settings: PaymentSettings | None, pool: Pool, clock: Clock
) -> AsyncIterator["Payments | None"]:
    if settings is None or not settings.is_on:
        yield None
        return
    from bathysphere.server.payments.parts import open_payments  # needs an extra of its own

    async with open_payments(settings, pool=pool, clock=clock) as payments:
        yield payments


def open_redis(url: str) -> Redis:
    """A client whose dead connections the kernel finds, within seconds.

    Not redis-py's own timeout: it is `asyncio.wait_for`, which before Python 3.12 may swallow a
    cancellation, and then a task that was told to stop goes on waiting for ever.
    """
    return Redis.from_pool(
        BlockingConnectionPool.from_url(
            url,
            # Who finds all of them in use waits: the plain pool refuses, and events would be lost.
            max_connections=64,
            socket_timeout=None,
            socket_keepalive=True,
            socket_keepalive_options=_KEEPALIVE,
        )
    )


def open_store(pool: Pool) -> BaseStore:
    """The items graphs and people keep across threads."""
    return AsyncPostgresStore(conn=pool)


async def migrate_store(database: Database) -> None:
    """Make the store's tables; any number of processes may call it at once."""
    connection: Connection = await AsyncConnection.connect(
        database.url, autocommit=True, row_factory=dict_row, prepare_threshold=None
    )
    async with connection, alone(connection, _LOCK):
        await AsyncPostgresStore(conn=connection).setup()
