"""Lifecycle of a process: the API, with or without a worker, or a worker alone.

The order of a shutdown: report "not ready", finish current steps and release the runs, close
streams, then connections, and finally the embedded PostgreSQL.
"""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.types import ASGIApp

from bathysphere.engine.conversations.titles import TitleModel
from bathysphere.engine.database.pool import Database, open_pool
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.worker import Worker
from bathysphere.middleware.memories.notes import MemoryMode
from bathysphere.server.administration.service import Administration
from bathysphere.server.app import create_app, first_segments
from bathysphere.server.asgi.peers import can_check_peers
from bathysphere.server.asgi.probes import Probes, not_found
from bathysphere.server.asgi.stack import Edge, wrap
from bathysphere.server.identity.choose import identify_by
from bathysphere.server.identity.jwks import issuer_client
from bathysphere.server.identity.public_routes import public_requests
from bathysphere.server.identity.sign_in import IssuerOffer
from bathysphere.server.models.catalog import ListModels
from bathysphere.server.models.setup import ModelSetup
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.loop_lag import measure_loop_lag
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.pages import Pages
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.process.assembly import (
    Instruments,
    allow_mint,
    rate_limits,
    redis_of,
    service_options,
    thread_ttl,
    tracing_of,
    worker_of,
)
from bathysphere.server.process.client_deadlines import Deadlines
from bathysphere.server.process.database import open_database
from bathysphere.server.process.garbage import reduce_collections
from bathysphere.server.process.listener import Listener, listen, listener, url_of
from bathysphere.server.process.project_options import ProjectOptions
from bathysphere.server.process.services import Services, open_services
from bathysphere.server.process.settings import ServerSettings
from bathysphere.server.process.side_tasks import keep_running, raise_all
from bathysphere.server.project_auth.authenticate import ProjectIdentity
from bathysphere.server.project_auth.authorize import ProjectAuthorization
from bathysphere.server.research.service import ResearchService
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.tools.fetch import FetchRules
from bathysphere.tools.mcp.hub import McpHub

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """URLs of a process that is ready."""

    url: str
    metrics_url: str | None = None


OnReady = Callable[[Ready], None]


async def serve(
    settings: ServerSettings,
    *,
    graphs: Graphs,
    with_worker: bool,
    on_ready: OnReady,
    listening: socket.socket | None = None,
    payments: PaymentSettings | None = None,
    workspaces: Workspaces | None = None,
    research: ResearchService | None = None,
    list_models: ListModels | None = None,
    model_setup: ModelSetup | None = None,
    fetch: FetchRules | None = None,
    mcp: McpHub | None = None,
    project: ProjectOptions | None = None,
    memories: MemoryMode = "opt-in",
    title_model: TitleModel | None = None,
) -> None:
    """Serve requests until a signal arrives; `with_worker` also executes runs.

    It listens on `listening`, which other processes may share, or else opens a socket.
    """
    project = project or ProjectOptions()
    settings = allow_mint(settings, payments)
    await graphs.prepare()
    async with AsyncExitStack() as stack:
        listening = listening or listen(settings.host, settings.port)
        stack.enter_context(contextlib.closing(listening))
        url = url_of(listening)
        await stack.enter_async_context(tracing_of(settings, "bathysphere-api"))
        database = await stack.enter_async_context(
            open_database(settings, url=url, with_worker=with_worker)
        )
        services, instruments = await _open(
            stack,
            settings,
            database,
            graphs,
            payments=payments,
            workspaces=workspaces,
            project=project,
        )
        app = await _app(
            stack,
            settings,
            services,
            instruments,
            research=research,
            list_models=list_models,
            model_setup=model_setup,
            fetch=fetch,
            mcp=mcp,
            project=project,
            memories=memories,
        )
        front = listener(
            app,
            # With peer checks, no proxy may claim another client address.
            trusted_proxies=() if _is_for_one_user(settings) else settings.trusted_proxies,
            stop_seconds=settings.stream_close_seconds,
            deadlines=Deadlines(
                header_seconds=settings.header_seconds, body_seconds=settings.body_seconds
            ),
            max_connections=settings.max_connections,
        )
        metrics = instruments.metrics
        worker = (
            await worker_of(services, settings, metrics, title_model=title_model)
            if with_worker
            else None
        )
        process = _Process(settings, instruments.health, worker)
        process.add_listener(front, listening)
        _add_side_tasks(process, services, instruments, sweeps=with_worker)
        if services.residences is not None:
            process.add_side_task("moving tenants", services.residences.run)
        await process.run(stack, instruments, on_ready, url=url)


async def work(
    settings: ServerSettings,
    *,
    graphs: Graphs,
    on_ready: OnReady,
    payments: PaymentSettings | None = None,
    project: ProjectOptions | None = None,
    title_model: TitleModel | None = None,
) -> None:
    """Execute runs until a signal arrives."""
    project = project or ProjectOptions()
    await graphs.prepare()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(tracing_of(settings, "bathysphere-worker"))
        database = await stack.enter_async_context(
            open_database(settings, url="", with_worker=True)
        )
        services, instruments = await _open(
            stack, settings, database, graphs, payments=payments, project=project
        )
        metrics = instruments.metrics
        worker = await worker_of(services, settings, metrics, title_model=title_model)
        process = _Process(settings, instruments.health, worker)
        _add_side_tasks(process, services, instruments, sweeps=True)
        await process.run(stack, instruments, on_ready)


def _add_side_tasks(
    process: "_Process", services: Services, instruments: Instruments, *, sweeps: bool
) -> None:
    """Start what is measured periodically, and the settlement sweep."""
    metrics, pool, clock = instruments.metrics, services.pool, services.clock
    process.add_side_task("loop lag", partial(measure_loop_lag, metrics, clock))
    payments = services.payments
    if payments is None:
        return
    if sweeps:
        process.add_side_task("payments sweep", payments.sweep)
    every = payments.audit_seconds
    process.add_side_task(
        "payments audit", lambda: metrics.audit_periodically(pool, clock, every=every)
    )


class _Process:
    """The tasks of this process, and their shutdown."""

    def __init__(self, settings: ServerSettings, health: Health, worker: Worker | None) -> None:
        self._settings = settings
        self._health = health
        self._worker = worker
        self._listeners: list[Listener] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._side_tasks: list[asyncio.Task[None]] = []
        self._worker_task: asyncio.Task[None] | None = None
        self._stop_requested = asyncio.Event()

    def add_listener(self, front: Listener, listening: socket.socket) -> None:
        self._listeners.append(front)
        self._spawn(front.serve(sockets=[listening]))

    def add_side_task(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a background task while the process lives; it may be cancelled at any point."""
        self._side_tasks.append(self._spawn(keep_running(name, work)))

    async def run(
        self,
        stack: AsyncExitStack,
        instruments: Instruments,
        on_ready: OnReady,
        *,
        url: str = "",
    ) -> None:
        metrics_url = self._open_metrics_port(stack, instruments)
        if self._worker is not None:
            self._worker_task = self._spawn(self._worker.run())
        with self._signals():
            for front in self._listeners:
                await front.is_listening.wait()
            reduce_collections()
            on_ready(Ready(url=url, metrics_url=metrics_url))
            await self._wait_for_stop()
            await self._shut_down()

    def _open_metrics_port(self, stack: AsyncExitStack, instruments: Instruments) -> str | None:
        """Serve probes and metrics on their own port."""
        if self._settings.metrics_port is None:
            return None
        listening = listen(
            self._settings.metrics_host, self._settings.metrics_port, flag="--metrics-port"
        )
        stack.enter_context(contextlib.closing(listening))
        probes = Probes(not_found, health=instruments.health, metrics=instruments.render)
        self.add_listener(listener(probes, stop_seconds=1), listening)
        return url_of(listening)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task

    async def _wait_for_stop(self) -> None:
        stop = asyncio.create_task(self._stop_requested.wait())
        try:
            # Tasks end by themselves only when they fail; the error is raised after the shutdown.
            await asyncio.wait([stop, *self._tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()

    async def _shut_down(self) -> None:
        self._health.begin_shutdown()
        for task in self._side_tasks:
            task.cancel()
            self._tasks.remove(task)
        if self._side_tasks:
            await asyncio.wait(self._side_tasks)  # their errors are raised after draining
        await asyncio.wait(self._tasks, timeout=self._settings.stop_delay_seconds)
        if self._worker is not None and self._worker_task is not None:
            self._worker.drain()
            await asyncio.wait([self._worker_task])
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # cut streams are expected
        for front in self._listeners:
            front.should_exit = True
        await asyncio.wait(self._tasks)
        ended = [task for task in (*self._tasks, *self._side_tasks) if not task.cancelled()]
        raise_all([error for task in ended if (error := task.exception()) is not None])

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
        if self._stop_requested.is_set():
            _log.warning(
                "Second %s: stopping immediately; runs will resume elsewhere or later", which.name
            )
            for task in self._tasks:
                task.cancel()
        self._stop_requested.set()


async def _open(
    stack: AsyncExitStack,
    settings: ServerSettings,
    database: Database,
    graphs: Graphs,
    *,
    payments: PaymentSettings | None,
    project: ProjectOptions,
    workspaces: Workspaces | None = None,
) -> tuple[Services, Instruments]:
    metrics = Metrics()
    services = await stack.enter_async_context(
        open_services(
            database=database,
            graphs=graphs,
            payments=payments,
            workspaces=workspaces,
            **service_options(settings),
            store=project.store,
            thread_ttl=thread_ttl(settings, project.thread_ttl),
            metrics=metrics,
        )
    )
    # A separate connection: probes and metrics respond while requests wait for the pool.
    probe_pool = await stack.enter_async_context(open_pool(replace(database, max_size=1)))
    health = Health(probe_pool, await stack.enter_async_context(redis_of(settings)))
    metrics.watch_pool(services.pool)
    is_paid = services.payments is not None
    return services, Instruments(metrics=metrics, health=health, pool=probe_pool, is_paid=is_paid)


async def _app(
    stack: AsyncExitStack,
    settings: ServerSettings,
    services: Services,
    instruments: Instruments,
    *,
    research: ResearchService | None,
    list_models: ListModels | None,
    model_setup: ModelSetup | None,
    fetch: FetchRules | None,
    mcp: McpHub | None,
    project: ProjectOptions,
    memories: MemoryMode,
) -> ASGIApp:
    custom_app, auth = project.custom_app, project.auth
    if custom_app is not None:
        await stack.enter_async_context(custom_app.router.lifespan_context(custom_app))
    identify = identify_by(
        settings,
        pool=services.pool,
        http=await stack.enter_async_context(issuer_client()),
        clock=services.clock,
        project=ProjectIdentity(auth).identify if auth is not None else None,
    )
    edge = Edge(
        settings=settings,
        identify=identify,
        health=instruments.health,
        metrics=instruments.metrics,
        render=instruments.render,
        clock=services.clock,
        is_public=public_requests(first_segments()),
        limits=await rate_limits(stack, settings, services),
        checks_peers=_is_for_one_user(settings),
        residences=services.residences,
    )
    app = create_app(
        services=services,
        identify=identify,
        stream_seconds=settings.stream_seconds,
        research=research,
        list_models=list_models,
        model_setup=model_setup,
        page_fetcher=Pages(fetch, clock=services.clock) if fetch is not None else None,
        mcp_hub=mcp,
        custom_app=custom_app,
        authorization=ProjectAuthorization(auth, services) if auth is not None else None,
        memories=memories,
        sign_in=IssuerOffer.from_settings(settings),
        administration=Administration.from_settings(settings, services, instruments.health),
    )
    stack.push_async_callback(app.state.mcp.aclose)
    return wrap(app, edge)


def _is_for_one_user(settings: ServerSettings) -> bool:
    """Whether only the user who started the server may connect."""
    return settings.is_anonymous and settings.is_loopback and can_check_peers()
