"""A process from its start to its end: the API, with or without a worker, or a worker alone.

Leaving is in order: say "not ready", finish the steps in hand and hand the runs on, close the
streams, then the connections, and at last PostgreSQL where it is ours.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from starlette.types import ASGIApp

from bathysphere.engine.answers import Answers
from bathysphere.engine.database import Database
from bathysphere.engine.embedded import claimed, embedded_postgres
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.worker import Worker
from bathysphere.server.app import create_app
from bathysphere.server.asgi.buckets import Buckets, MemoryBuckets, Rate, RedisBuckets
from bathysphere.server.asgi.probes import Probes, nowhere
from bathysphere.server.asgi.stack import Edge, wrap
from bathysphere.server.databases import bring_to_shape, database_of, secret, sized
from bathysphere.server.identity.choose import identify_by
from bathysphere.server.listen import Listener, listen, listener, url_of
from bathysphere.server.models import Look
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.observability.tracing import TracedRuns
from bathysphere.server.pages import Pages
from bathysphere.server.parts import Instruments, redis_of, tracing_of, worker_of
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.research import Desk
from bathysphere.server.services import Services, open_services
from bathysphere.server.settings import ServerSettings
from bathysphere.server.workspaces import Workspaces
from bathysphere.tools.fetch import FetchRules

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """A process that answers, and where."""

    url: str
    metrics_url: str | None = None


OnReady = Callable[[Ready], None]


async def serve(
    settings: ServerSettings,
    *,
    graphs: Graphs,
    works: bool,
    on_ready: OnReady,
    payments: PaymentSettings | None = None,
    workspaces: Workspaces | None = None,
    desk: Desk | None = None,
    look_at_models: Look | None = None,
    fetch: FetchRules | None = None,
) -> None:
    """Answer until a signal comes; with `works` also do the runs."""
    settings = _calling_the_mint(settings, payments)
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(_closing(listen(settings.host, settings.port)))
        url = url_of(listening)
        await stack.enter_async_context(tracing_of(settings, "bathysphere-api"))
        database = await stack.enter_async_context(_database(settings, url=url, works=works))
        services, instruments = await _open(
            stack, settings, database, graphs, payments=payments, workspaces=workspaces
        )
        app = await _app(
            stack,
            settings,
            services,
            instruments,
            desk=desk,
            look_at_models=look_at_models,
            fetch=fetch,
        )
        front = listener(
            app,
            trusted_proxies=settings.trusted_proxies,
            stop_seconds=settings.stream_close_seconds,
        )
        worker = await worker_of(services, settings, instruments.metrics) if works else None
        process = _Process(settings, instruments.health, worker)
        process.answer(front, listening)
        if works and services.payments is not None:
            process.beside(services.payments.sweep())
        await process.run(stack, instruments, on_ready, url=url)


async def work(
    settings: ServerSettings,
    *,
    graphs: Graphs,
    on_ready: OnReady,
    payments: PaymentSettings | None = None,
) -> None:
    """Do runs until a signal comes."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(tracing_of(settings, "bathysphere-worker"))
        database = await stack.enter_async_context(_database(settings, url="", works=True))
        services, instruments = await _open(stack, settings, database, graphs, payments=payments)
        worker = await worker_of(services, settings, instruments.metrics)
        process = _Process(settings, instruments.health, worker)
        if services.payments is not None:
            process.beside(services.payments.sweep())
        await process.run(stack, instruments, on_ready)


class _Process:
    """What runs in this process, and how it ends."""

    def __init__(self, settings: ServerSettings, health: Health, worker: Worker | None) -> None:
        self._settings = settings
        self._health = health
        self._worker = worker
        self._fronts: list[Listener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._beside: list[asyncio.Task[None]] = []
        self._working: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()

    def answer(self, front: Listener, listening: socket.socket) -> None:
        self._fronts.append(front)
        self._spawn(front.serve(sockets=[listening]))

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something for as long as the process lives; it may be stopped at any point."""
        self._beside.append(self._spawn(work))

    async def run(
        self,
        stack: AsyncExitStack,
        instruments: Instruments,
        on_ready: OnReady,
        *,
        url: str = "",
    ) -> None:
        metrics_url = self._show(stack, instruments)
        if self._worker is not None:
            self._working = self._spawn(self._worker.run())
        with self._signals():
            for front in self._fronts:
                await front.is_listening.wait()
            on_ready(Ready(url=url, metrics_url=metrics_url))
            await self._until_asked()
            await self._leave()

    def _show(self, stack: AsyncExitStack, instruments: Instruments) -> str | None:
        """Probes and metrics on a port of their own."""
        if self._settings.metrics_port is None:
            return None
        listening = listen(self._settings.metrics_host, self._settings.metrics_port)
        stack.enter_context(_closing(listening))
        probes = Probes(nowhere, health=instruments.health, metrics=instruments.render)
        self.answer(listener(probes, stop_seconds=1), listening)
        return url_of(listening)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _until_asked(self) -> None:
        asked = asyncio.create_task(self._asked.wait())
        try:
            # Nothing ends by itself, unless it failed; what it failed of is raised at the end.
            await asyncio.wait([asked, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()

    async def _leave(self) -> None:
        self._health.leave()
        for task in self._beside:
            task.cancel()
            self._tasks.remove(task)
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await asyncio.wait(self._tasks, timeout=self._settings.stop_delay_seconds)
        if self._worker is not None and self._working is not None:
            self._worker.drain()
            await asyncio.wait([self._working])
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # cut streams are no news
        for front in self._fronts:
            front.should_exit = True
        await asyncio.wait(self._tasks)
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                task.result()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for which in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(which, self._on_signal, which)
        try:
            yield
        finally:
            for which in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(which)

    def _on_signal(self, which: signal.Signals) -> None:
        if self._asked.is_set():
            _log.warning("%s again: stopping at once, runs go on elsewhere or later", which.name)
            for task in self._tasks:
                task.cancel()
        self._asked.set()


@asynccontextmanager
async def _database(settings: ServerSettings, *, url: str, works: bool) -> AsyncIterator[Database]:
    if not settings.is_embedded:
        database = database_of(settings, works=works)
        if settings.migrate:
            await bring_to_shape(database)
        yield database
        return
    with claimed(settings.data_dir) as claim:
        async with embedded_postgres(settings.data_dir) as own:
            database = sized(own, settings, works=works)
            await bring_to_shape(database)
            claim.announce(url)
            yield database


async def _open(
    stack: AsyncExitStack,
    settings: ServerSettings,
    database: Database,
    graphs: Graphs,
    *,
    payments: PaymentSettings | None,
    workspaces: Workspaces | None = None,
) -> tuple[Services, Instruments]:
    services = await stack.enter_async_context(
        open_services(
            database=database,
            graphs=graphs,
            redis_url=secret(settings.redis_url),
            payments=payments,
            workspaces=workspaces,
        )
    )
    if settings.otel_endpoint is not None:
        services = _traced(services)
    redis = await stack.enter_async_context(redis_of(settings))
    health = Health(services.pool, redis)
    is_paid = services.payments is not None
    return services, Instruments(
        metrics=Metrics(), health=health, pool=services.pool, is_paid=is_paid
    )


def _calling_the_mint(settings: ServerSettings, payments: PaymentSettings | None) -> ServerSettings:
    """The web app's wallet speaks to the mint itself, so its page must be allowed to."""
    if payments is None or not payments.is_on:
        return settings
    return settings.model_copy(update={"csp_connect": (*settings.csp_connect, payments.origin)})


def _traced(services: Services) -> Services:
    runs = TracedRuns(
        services.pool,
        services.queue,
        log=services.events,
        clock=services.clock,
        quota=services.workspaces.run_quota if services.workspaces else None,
    )
    answers = Answers(services.pool, runs=runs, graphs=services.graphs)
    return replace(services, runs=runs, answers=answers)


async def _app(
    stack: AsyncExitStack,
    settings: ServerSettings,
    services: Services,
    instruments: Instruments,
    *,
    desk: Desk | None,
    look_at_models: Look | None,
    fetch: FetchRules | None,
) -> ASGIApp:
    http = await stack.enter_async_context(httpx.AsyncClient(timeout=5))
    identify = identify_by(settings, pool=services.pool, http=http, clock=services.clock)
    edge = Edge(
        settings=settings,
        identify=identify,
        health=instruments.health,
        metrics=instruments.metrics,
        render=instruments.render,
        clock=services.clock,
        buckets=await _buckets(stack, settings, services),
    )
    app = create_app(
        services=services,
        identify=identify,
        desk=desk,
        look_at_models=look_at_models,
        page_fetcher=Pages(fetch, clock=services.clock) if fetch is not None else None,
    )
    return wrap(app, edge)


async def _buckets(
    stack: AsyncExitStack, settings: ServerSettings, services: Services
) -> Buckets | None:
    if not settings.rate_per_second or (settings.is_anonymous and settings.is_loopback):
        return None  # one person on one machine
    rate = Rate(per_second=settings.rate_per_second, burst=settings.rate_burst)
    redis = await stack.enter_async_context(redis_of(settings))
    if redis is None:
        return MemoryBuckets(rate, clock=services.clock)
    return RedisBuckets(redis, rate, clock=services.clock)


@contextmanager
def _closing(listening: socket.socket) -> Iterator[socket.socket]:
    with contextlib.closing(listening):
        yield listening
