"""From settings to the parts of a process: the graphs, the worker, what it shows of itself."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from redis.asyncio import Redis

from bathysphere.agents import AGENTS, configured
from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.keys import read_key
from bathysphere.agents.research.settings import PREFIX as RESEARCH
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.core.errors import ConfigError
from bathysphere.engine.database import Pool
from bathysphere.engine.execution import Limits
from bathysphere.engine.graphs import Graph, Graphs
from bathysphere.engine.worker import Pace, Worker
from bathysphere.harness.build import build
from bathysphere.models.settings import ModelSettings
from bathysphere.server.databases import secret
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.measured import MeasuredLog, MeasuredQueue
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.observability.tracing import ObservedExecutor, set_up_tracing
from bathysphere.server.services import Services
from bathysphere.server.settings import ServerSettings
from bathysphere.server.workspaces import Workspaces

KEY_FILE = "research.key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruments:
    """What a process shows of itself."""

    metrics: Metrics
    health: Health
    pool: Pool
    is_paid: bool = False

    async def render(self) -> bytes:
        """The metrics, with the queue and the ledger as they are now."""
        await self.metrics.look_at_queue(self.pool)
        if self.is_paid:
            await self.metrics.look_at_payments(self.pool)
        return self.metrics.render()


def graphs_of(
    models: ModelSettings,
    names: tuple[str, ...] = tuple(AGENTS),
    *,
    research: ResearchConfig | None = None,
    workspaces: Workspaces | None = None,
) -> Graphs:
    """The agents as graphs, each built at its first use; `workspace` on the bucket there is."""

    def make(name: str) -> Graph:
        if name == "research":
            return build(configured(name, models, config=_needed(research)))
        has_bucket = name == "workspace" and workspaces is not None
        backend = workspaces.agent_files() if has_bucket and workspaces else None
        return build(configured(name, models, backend=backend))

    factories: dict[str, Callable[[], Graph]] = {name: partial(make, name) for name in names}
    return Graphs(factories)


def research_of(
    settings: ServerSettings, models: ModelSettings, research: ResearchSettings
) -> ResearchConfig | None:
    """How research is done here; nothing where a key is missing that other processes must have.

    One machine keeps a key of its own in its data folder.
    """
    if research.signing_key is not None:
        return research.config(models)
    if not settings.is_embedded:
        return None
    return research.config(models, key=read_key(settings.data_dir / KEY_FILE))


async def worker_of(services: Services, settings: ServerSettings, metrics: Metrics) -> Worker:
    """A worker of this process."""
    queue = MeasuredQueue(services.pool, database=services.database, clock=services.clock)
    queue.metrics = metrics
    await queue.open()
    executor = ObservedExecutor(
        pool=services.pool,
        is_traced=settings.otel_endpoint is not None,
        graphs=services.graphs,
        log=MeasuredLog(services.events, metrics, clock=services.clock),
        clock=services.clock,
        limits=Limits(attempts=settings.run_attempts, run_seconds=settings.run_seconds),
        store=services.store,
        purse=services.payments.purse if services.payments is not None else None,
    )
    pace = Pace(concurrency=settings.worker_concurrency, drain_seconds=settings.drain_seconds)
    return Worker(
        database=services.database,
        queue=queue,
        executor=executor,
        clock=services.clock,
        pace=pace,
    )


@asynccontextmanager
async def redis_of(settings: ServerSettings) -> AsyncIterator[Redis | None]:
    """A connection for health and rate limits; None without Redis."""
    url = secret(settings.redis_url)
    if url is None:
        yield None
        return
    async with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as redis:
        yield redis


@asynccontextmanager
async def tracing_of(settings: ServerSettings, service: str) -> AsyncIterator[None]:
    """Traces, where the settings ask for them."""
    if settings.otel_endpoint is None:
        yield
        return
    provider = set_up_tracing(
        endpoint=settings.otel_endpoint, service=service, ratio=settings.otel_sample_ratio
    )
    try:
        yield
    finally:
        provider.shutdown()


def _needed(research: ResearchConfig | None) -> ResearchConfig:
    if research is None:
        raise ConfigError(
            "research on several processes needs one key for all of them",
            hint=f"set {RESEARCH}SIGNING_KEY to 64 hex digits, the same everywhere",
        )
    return research
