"""Open the engine's components of a process: the services of the routes, and the worker.

Tests open them here too, so that what is tested is what runs.
"""

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from langgraph.store.base import BaseStore
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from bathysphere.core.clock import Clock, SystemClock
from bathysphere.core.errors import ConfigError
from bathysphere.engine.assistants import Assistants
from bathysphere.engine.attempt_services.file_changes import FileChanges
from bathysphere.engine.audit.log import AuditLog
from bathysphere.engine.cells.tenants import CellTenants
from bathysphere.engine.conversations.message_index import MessageIndex
from bathysphere.engine.conversations.shares import ShareLimits, Shares
from bathysphere.engine.conversations.titles import TitleModel, TitleWriter
from bathysphere.engine.crons.database_clock import DatabaseClock, read_database_clock
from bathysphere.engine.crons.scheduler import Scheduler, SchedulerOptions
from bathysphere.engine.crons.service import CronLimits, Crons
from bathysphere.engine.database.encryption_keys import open_storage
from bathysphere.engine.database.epoch import read_epoch
from bathysphere.engine.database.item_store import StoreOptions, migrate_store, open_store
from bathysphere.engine.database.pool import Database, Pool
from bathysphere.engine.database.stored_bytes import NO_STORAGE_LIMITS, StorageLimits, StoredBytes
from bathysphere.engine.events.log import DEFAULT_LIMITS, EventLog, LogLimits
from bathysphere.engine.events.memory_log import MemoryEventLog
from bathysphere.engine.events.redis_log import RedisEventLog
from bathysphere.engine.expiry import item_sweep, sweep_periodically, thread_sweep
from bathysphere.engine.fairness import UNLIMITED, WaitingLimits
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.answers import Answers
from bathysphere.engine.runs.executor import Limits, OnAnswer, ignore_answer
from bathysphere.engine.runs.operations import RunOperations
from bathysphere.engine.runs.queue import Queue
from bathysphere.engine.runs.service import Runs
from bathysphere.engine.runs.worker import Companion, Worker, WorkerOptions
from bathysphere.engine.threads import Threads
from bathysphere.engine.usage.budgets import BudgetDefaults, Budgets
from bathysphere.engine.usage.counting import RunUsage
from bathysphere.engine.usage.journal import PriceOf, no_price
from bathysphere.engine.usage.report import UsageReports
from bathysphere.registry.project_sections import Expiry
from bathysphere.server.cells.residence import Residences
from bathysphere.server.langgraph_api.bounded_answers import AnswerLimits
from bathysphere.server.langgraph_api.thread_states import States
from bathysphere.server.langgraph_api.webhook_body import WebhookBodies
from bathysphere.server.observability.measured import MeasuredLog, MeasuredQueue, MeasuredThreads
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.observability.tracing import ObservedExecutor, TracedRuns
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.process.deliveries import (
    Push,
    PushOptions,
    WebhookOptions,
    Webhooks,
    open_push,
    open_webhooks,
    senders,
)
from bathysphere.server.process.side_tasks import keep_running
from bathysphere.server.workspaces.service import Workspaces

if TYPE_CHECKING:
    from bathysphere.server.payments.service import Payments

_SHARE_SWEEP_SECONDS = 3600.0
_KEEPALIVE = {
    socket.TCP_KEEPIDLE: 5,
    socket.TCP_KEEPINTVL: 1,
    socket.TCP_KEEPCNT: 5,
    socket.TCP_USER_TIMEOUT: 10_000,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleOptions:
    """Limits of schedules, settings of the scheduler, and the clock of both."""

    limits: CronLimits = field(default_factory=CronLimits)
    scheduler: SchedulerOptions = field(default_factory=SchedulerOptions)
    clock: DatabaseClock = read_database_clock


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """The components of one API process."""

    clock: Clock
    database: Database
    pool: Pool
    queue: Queue
    graphs: Graphs
    events: EventLog
    store: BaseStore
    runs: Runs
    operations: RunOperations
    threads: Threads
    states: States
    answers: Answers
    assistants: Assistants
    changes: FileChanges
    messages: MessageIndex
    shares: Shares
    usage: UsageReports
    budgets: Budgets
    audit: AuditLog
    crons: Crons
    schedules: ScheduleOptions
    stored: StoredBytes
    webhooks: Webhooks | None = None
    """None if webhooks are disabled."""
    push: Push | None = None
    """None if Web Push is disabled."""
    workspaces: Workspaces | None = None
    payments: "Payments | None" = None
    """None if payments are disabled."""
    store_options: StoreOptions = field(default_factory=StoreOptions)
    thread_ttl: Expiry | None = None
    tenant_ttl: Mapping[str, float | None] = field(default_factory=dict)
    """Minutes after their last use when a tenant's threads are deleted; None: never."""
    residences: Residences | None = None
    """Which tenants are in this cell; None if there is only one."""


@asynccontextmanager
async def open_services(
    *,
    database: Database,
    graphs: Graphs,
    redis_url: str | None = None,
    clock: Clock | None = None,
    payments: PaymentSettings | None = None,
    workspaces: Workspaces | None = None,
    waiting: WaitingLimits = UNLIMITED,
    answers: AnswerLimits | None = None,
    storage: StorageLimits = NO_STORAGE_LIMITS,
    schedules: ScheduleOptions | None = None,
    webhooks: WebhookOptions | None = None,
    push: PushOptions | None = None,
    store: StoreOptions | None = None,
    thread_ttl: Expiry | None = None,
    tenant_ttl: Mapping[str, float | None] | None = None,
    shares: ShareLimits | None = None,
    budgets: BudgetDefaults | None = None,
    metrics: Metrics | None = None,
    cell: str | None = None,
    event_limits: LogLimits = DEFAULT_LIMITS,
) -> AsyncIterator[Services]:
    """Open all components; without Redis, events are kept in this process's memory.

    The database must be migrated (`bathysphere.engine.database.schema.migrate`).
    """
    store = store or StoreOptions()
    tenant_ttl = tenant_ttl or {}
    _check_expiry(thread_ttl, tenant_ttl, payments)
    clock = clock or SystemClock()
    metrics = metrics or Metrics()
    schedules = schedules or ScheduleOptions()
    await graphs.prepare()
    async with AsyncExitStack() as stack:
        pool = await stack.enter_async_context(open_storage(database))
        await migrate_store(database, store)
        events: EventLog = MemoryEventLog(clock=clock, limits=event_limits)
        if redis_url is not None:
            redis = open_redis(redis_url)
            stack.push_async_callback(redis.aclose)
            epoch = await read_epoch(pool)
            log = RedisEventLog(redis, clock=clock, epoch=epoch, limits=event_limits)
            events = await stack.enter_async_context(log)
        queue = Queue(pool, database=database)
        await queue.open()
        paid = await stack.enter_async_context(_payments(payments, pool, clock))
        stored = StoredBytes(pool, clock=clock, limits=storage)
        spending = Budgets(pool, clock=clock, defaults=budgets)
        # Without a tracer this behaves like `Runs`.
        runs = TracedRuns(
            pool,
            queue,
            log=events,
            clock=clock,
            quota=workspaces.run_quota if workspaces else None,
            waiting=waiting,
            stored=stored,
            budgets=spending,
            on_dropped=metrics.events_dropped.inc,
        )
        threads = MeasuredThreads(pool, events, metrics=metrics)
        yield Services(
            clock=clock,
            database=database,
            pool=pool,
            queue=queue,
            graphs=graphs,
            events=events,
            store=open_store(pool, store),
            store_options=store,
            thread_ttl=thread_ttl,
            tenant_ttl=tenant_ttl,
            runs=runs,
            operations=RunOperations(pool, queue),
            threads=threads,
            states=States(pool, threads, graphs, limits=answers),
            answers=Answers(pool, runs=runs, graphs=graphs),
            assistants=Assistants(pool, stored=stored),
            payments=paid,
            changes=FileChanges(pool),
            messages=MessageIndex(pool),
            shares=Shares(pool, stored=stored, limits=shares or ShareLimits()),
            usage=UsageReports(pool),
            budgets=spending,
            audit=AuditLog(pool),
            crons=Crons(pool, limits=schedules.limits, clock=schedules.clock),
            schedules=schedules,
            stored=stored,
            webhooks=await stack.enter_async_context(open_webhooks(webhooks)),
            push=await stack.enter_async_context(open_push(push, pool)),
            workspaces=workspaces,
            residences=Residences(CellTenants(pool)) if cell is not None else None,
        )


async def open_worker(
    services: Services,
    *,
    metrics: Metrics,
    limits: Limits,
    options: WorkerOptions,
    is_traced: bool = False,
    title_model: TitleModel | None = None,
    price_of: PriceOf = no_price,
) -> Worker:
    """Create a worker that uses these services; the caller runs it.

    Args:
        services: The components of the process.
        metrics: Counts what the worker does.
        limits: Limits on the attempts and the duration of a run.
        options: Settings of the worker.
        is_traced: Whether runs have spans.
        title_model: Writes the titles of conversations; None leaves the words of their clients.
            Where people pay for model calls, it is not used: nobody asked for this one.
        price_of: The prices of models, for the cost in the usage of runs.
    """
    queue = MeasuredQueue(services.pool, database=services.database, metrics=metrics)
    await queue.open()
    companions = _companions(services, metrics)
    on_answer: OnAnswer = ignore_answer
    if title_model is not None and services.payments is None:
        titles = TitleWriter(services.pool, title_model, on_outcome=metrics.count_title)
        companions.append(partial(keep_running, "titles", titles.run))
        on_answer = titles.offer
    executor = ObservedExecutor(
        pool=services.pool,
        metrics=metrics,
        is_traced=is_traced,
        graphs=services.graphs,
        log=MeasuredLog(services.events, metrics, clock=services.clock),
        clock=services.clock,
        limits=limits,
        store=services.store,
        purse=services.payments.purse if services.payments is not None else None,
        stored=services.stored,
        on_answer=on_answer,
        usage=RunUsage(
            services.pool,
            clock=services.clock,
            price_of=price_of,
            budgets=services.budgets,
        ),
    )
    return Worker(
        database=services.database,
        queue=queue,
        executor=executor,
        threads=services.threads,
        clock=services.clock,
        options=options,
        companions=companions,
    )


def open_scheduler(services: Services, metrics: Metrics) -> Scheduler:
    """Create the scheduler of a worker process."""
    return Scheduler(
        services.pool,
        services.runs,
        clock=services.clock,
        database_clock=services.schedules.clock,
        options=services.schedules.scheduler,
        on_outcome=metrics.count_due_time,
    )


def _companions(services: Services, metrics: Metrics) -> list[Companion]:
    """What a worker process does beside its runs: schedules, what it sends, and expiry."""
    scheduler = open_scheduler(services, metrics)
    found: list[Companion] = [partial(keep_running, "scheduler", scheduler.run)]
    sent = senders(
        webhooks=services.webhooks,
        push=services.push,
        write_body=WebhookBodies(services.runs, services.states).write,
        pool=services.pool,
        clock=services.clock,
        metrics=metrics,
    )
    return [*found, *sent, *_sweeps(services)]


def _sweeps(services: Services) -> list[Companion]:
    """Delete what has expired: snapshots, threads by their own `ttl` or settings, store items."""
    work = partial(
        sweep_periodically,
        "shared snapshots",
        services.shares.delete_expired,
        every_seconds=_SHARE_SWEEP_SECONDS,
    )
    found: list[Companion] = [partial(keep_running, "expiry of shared snapshots", work)]
    ttl, options = services.thread_ttl or Expiry(), services.store_options
    sweep = thread_sweep(services.threads, minutes=ttl.minutes, by_tenant=services.tenant_ttl)
    work = partial(sweep_periodically, "threads", sweep, every_seconds=ttl.sweep_minutes * 60)
    found.append(partial(keep_running, "expiry of threads", work))
    if options.ttl is not None:
        sweep, every = item_sweep(services.pool), options.sweep_seconds
        work = partial(sweep_periodically, "store items", sweep, every_seconds=every)
        found.append(partial(keep_running, "expiry of store items", work))
    return found


def _check_expiry(
    thread_ttl: Expiry | None,
    tenant_ttl: Mapping[str, float | None],
    payments: PaymentSettings | None,
) -> None:
    expires = thread_ttl is not None or any(tenant_ttl.values())
    if expires and payments is not None and payments.is_on:
        raise ConfigError(
            "Threads with money on them cannot expire",
            hint="remove 'checkpointer.ttl' from langgraph.json, BATHYSPHERE_THREAD_TTL_DAYS and"
            " 'thread_ttl_days' of tenants, or switch payments off",
        )


@asynccontextmanager
async def _payments(
    settings: PaymentSettings | None, pool: Pool, clock: Clock
) -> AsyncIterator["Payments | None"]:
    if settings is None or not settings.is_on:
        yield None
        return
    from bathysphere.server.payments.service import open_payments  # needs an extra of its own

    async with open_payments(settings, pool=pool, clock=clock) as payments:
        yield payments


def open_redis(url: str) -> Redis:
    """Create a client whose dead connections the kernel detects within seconds.

    redis-py's own timeout is not used: it is `asyncio.wait_for`, which before Python 3.12 may
    swallow a cancellation, and then a cancelled task waits forever. A command is sent once more:
    after a restart of Redis every pooled connection is dead, and none shows it before.
    """
    return Redis.from_pool(
        BlockingConnectionPool.from_url(
            url,
            # Callers wait for a free connection; the plain pool raises, and events would be lost.
            max_connections=64,
            socket_timeout=None,
            retry=Retry(NoBackoff(), 1),
            socket_keepalive=True,
            socket_keepalive_options=_KEEPALIVE,
        )
    )
