"""Build the components of a process from its settings: graphs, worker, metrics, tracing."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.pregel import Pregel
from redis.asyncio import Redis

from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.settings import PREFIX as RESEARCH
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.agents.simple import SimpleConfig
from bathysphere.agents.tutor import TutorConfig
from bathysphere.core.errors import ConfigError, missing_extra
from bathysphere.engine.conversations.shares import ShareLimits
from bathysphere.engine.conversations.titles import TitleModel
from bathysphere.engine.crons.scheduler import SchedulerOptions
from bathysphere.engine.crons.service import CronLimits
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.database.stored_bytes import StorageLimits
from bathysphere.engine.delivery.receivers import ReceiverRules
from bathysphere.engine.delivery.sender import SenderOptions
from bathysphere.engine.events.log import LogLimits
from bathysphere.engine.fairness import WaitingLimits
from bathysphere.engine.graphs import Graph, Graphs, Source
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.worker import Worker, WorkerOptions
from bathysphere.engine.usage.budgets import BudgetDefaults
from bathysphere.evidence.proof.signing import read_key
from bathysphere.harness.build import build
from bathysphere.harness.web_tools import WebAccess
from bathysphere.middleware.memories import MemoryMode
from bathysphere.models.names import DEMO, parse
from bathysphere.models.prices import all_prices
from bathysphere.models.resolve import resolve
from bathysphere.models.settings import ModelSettings
from bathysphere.registry.agents import Agent, SpecSource, names_models, resolve_agent
from bathysphere.registry.factories import Factory
from bathysphere.registry.loading import registered_agents
from bathysphere.registry.project_sections import Expiry
from bathysphere.server.asgi.admission import RateLimits
from bathysphere.server.asgi.token_bucket import MemoryBuckets, Rate, RedisBuckets
from bathysphere.server.langgraph_api.bounded_answers import AnswerLimits
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.observability.tracing import set_up_tracing
from bathysphere.server.payments.settings import PaymentSettings
from bathysphere.server.process.database import secret
from bathysphere.server.process.deliveries import PushOptions, WebhookOptions
from bathysphere.server.process.services import ScheduleOptions, Services, open_worker
from bathysphere.server.process.settings import ServerSettings
from bathysphere.server.workspaces.service import Workspaces, read_directory
from bathysphere.server.workspaces.settings import StorageSettings
from bathysphere.tools.mcp.hub import McpHub

KEY_FILE = "research.key"
WEBHOOK_FILE = "webhook.key"
PUSH_FILE = "push.key"


@dataclass(frozen=True, kw_only=True, slots=True)
class Instruments:
    """Metrics and health of a process."""

    metrics: Metrics
    health: Health
    pool: Pool
    is_paid: bool = False

    async def render(self) -> bytes:
        """Render the metrics, with current figures of the queue and the ledger."""
        await self.metrics.update_queue(self.pool)
        if self.is_paid:
            await self.metrics.update_payments(self.pool)
        return self.metrics.render()


def graphs_of(
    models: ModelSettings,
    agents: Mapping[str, Agent] | None = None,
    *,
    research: ResearchConfig | None = None,
    simple: SimpleConfig | None = None,
    workspaces: Workspaces | None = None,
    web: WebAccess | None = None,
    memories: MemoryMode = "opt-in",
    mcp: McpHub | None = None,
) -> Graphs:
    """The agents as graphs; default: all registered agents.

    Each is built at first use, but one whose folder names its models at once: a model that cannot
    be used is a mistake in that folder.
    """

    def make(agent: Agent) -> Graph:
        content = agent.content
        own = content.built_in if isinstance(content, SpecSource) else None
        files = workspaces.agent_files() if own == "workspace" and workspaces else None
        config = _config_of(own, research, simple, memories)
        found = resolve_agent(agent, models, backend=files, config=config, web=web, mcp=mcp)
        return found if isinstance(found, Pregel) else build(found)

    agents = registered_agents() if agents is None else agents
    sources: dict[str, Source] = {
        name: agent.content if isinstance(agent.content, Factory) else partial(make, agent)
        for name, agent in agents.items()
    }
    about = {name: agent.description for name, agent in agents.items() if agent.description}
    default = next((name for name, agent in agents.items() if not agent.is_registered), None)
    graphs = Graphs(sources, descriptions=about, default=default)
    for name, agent in agents.items():
        if names_models(agent):
            graphs.get(name)
    return graphs


def research_of(
    settings: ServerSettings, models: ModelSettings, research: ResearchSettings
) -> ResearchConfig | None:
    """The research configuration; None if the signing key that all processes share is missing.

    A single machine generates its key and stores it in the data folder.
    """
    if research.has_key:
        return research.config(models)
    if not settings.is_embedded:
        return None
    return research.config(models, key=read_key(settings.data_dir / KEY_FILE))


def title_model_of(models: ModelSettings) -> BaseChatModel | None:
    """The model that writes titles of conversations: that of summaries.

    None if it is the scripted tour, or cannot be used as configured; startup has warned about that.
    """
    name = models.choice("summary").name
    try:
        return None if parse(name).provider == DEMO else resolve(name, models)
    except ConfigError:
        return None


async def worker_of(
    services: Services,
    settings: ServerSettings,
    metrics: Metrics,
    *,
    title_model: TitleModel | None = None,
) -> Worker:
    """Create the worker of this process."""
    return await open_worker(
        services,
        metrics=metrics,
        limits=Limits(
            attempts=settings.run_attempts,
            losses=settings.run_losses,
            run_seconds=settings.run_seconds,
        ),
        options=WorkerOptions(
            concurrency=settings.worker_concurrency,
            slot_reserve=settings.slot_reserve,
            drain_seconds=settings.drain_seconds,
        ),
        is_traced=settings.otel_endpoint is not None,
        title_model=title_model,
        price_of=all_prices(ModelSettings.from_environment()).get,
    )


def waiting_limits(settings: ServerSettings) -> WaitingLimits:
    """Limits of waiting runs; 0 in the settings means unlimited."""
    return WaitingLimits(
        per_thread=settings.max_waiting_per_thread or None,
        per_user=settings.max_waiting_per_user or None,
        per_tenant=settings.max_waiting_per_tenant or None,
    )


def storage_limits(settings: ServerSettings) -> StorageLimits:
    """Limits of stored bytes; 0 in the settings means unlimited."""
    return StorageLimits(
        per_user=settings.max_stored_bytes_per_user or None,
        per_tenant=settings.max_stored_bytes_per_tenant or None,
    )


def service_options(settings: ServerSettings) -> dict[str, Any]:
    """What the settings say about `open_services`."""
    return {
        "redis_url": secret(settings.redis_url),
        "cell": settings.cell,
        "event_limits": LogLimits(
            keep_seconds=settings.events_keep_seconds,
            thread_bytes=settings.events_thread_bytes,
            memory_bytes=settings.events_memory_bytes,
        ),
        "schedules": schedule_options(settings),
        "tenant_ttl": tenant_ttl(),
        **limit_options(settings),
        **delivery_options(settings),
    }


def limit_options(settings: ServerSettings) -> dict[str, Any]:
    """The limits of `open_services`."""
    return {
        "waiting": waiting_limits(settings),
        "answers": AnswerLimits(bytes=settings.max_answer_bytes),
        "storage": storage_limits(settings),
        "shares": ShareLimits(per_tenant=settings.max_shares_per_tenant),
        "budgets": budget_defaults(settings),
    }


def budget_defaults(settings: ServerSettings) -> BudgetDefaults:
    """Budgets of those for whom the operator has set none."""
    return BudgetDefaults(
        user_tokens=settings.budget_user_tokens, tenant_tokens=settings.budget_tenant_tokens
    )


def schedule_options(settings: ServerSettings) -> ScheduleOptions:
    """Limits of schedules, and how late their runs may start."""
    return ScheduleOptions(
        limits=CronLimits(
            per_tenant=settings.max_crons_per_tenant or None,
            min_seconds=settings.cron_min_seconds,
            renewal_seconds=settings.cron_renewal_days * 24 * 3600,
        ),
        scheduler=SchedulerOptions(catch_up_seconds=settings.cron_catch_up_seconds),
    )


def thread_ttl(settings: ServerSettings, project: Expiry | None) -> Expiry | None:
    """When unused threads are deleted: the operator's setting, else the project's."""
    if settings.thread_ttl_days is None:
        return project
    return replace(project or Expiry(), minutes=settings.thread_ttl_days * 24 * 60)


def tenant_ttl() -> dict[str, float | None]:
    """The minutes of tenants whose file entry differs, with or without an object store."""
    return read_directory(StorageSettings.from_environment().tenants).thread_ttl_minutes()


def delivery_options(settings: ServerSettings) -> dict[str, Any]:
    """How webhooks and push notices are sent."""
    return {"webhooks": webhook_options(settings), "push": push_options(settings)}


def webhook_options(settings: ServerSettings) -> WebhookOptions | None:
    """How webhooks are signed and sent; None without a secret.

    A single machine generates its secret and stores it in the data folder.
    """
    text = secret(settings.webhook_secret)
    if text is None and not settings.is_embedded:
        return None
    master = text.encode() if text is not None else read_key(settings.data_dir / WEBHOOK_FILE)
    return WebhookOptions(
        master=master,
        rules=_receiver_rules(settings),
        sender=SenderOptions(attempts=settings.webhook_attempts),
    )


def push_options(settings: ServerSettings) -> PushOptions | None:
    """How push notices are authorized and sent; None without a contact.

    A single machine generates its secret and stores it in the data folder.

    Raises:
        ConfigError: There is a contact, but no secret that all processes share, or the libraries
            that encrypt and sign notices are not installed.
    """
    if settings.push_contact is None:
        return None
    if not all(map(find_spec, ("http_ece", "py_vapid"))):
        raise missing_extra("Web Push", "push")
    text = secret(settings.push_secret)
    if text is None and not settings.is_embedded:
        raise ConfigError(
            "Web Push needs a secret that all processes share",
            hint="set BATHYSPHERE_PUSH_SECRET everywhere: openssl rand -hex 32",
        )
    shared = text.encode() if text is not None else read_key(settings.data_dir / PUSH_FILE)
    rules = _receiver_rules(settings)
    return PushOptions(secret=shared, contact=settings.push_contact, rules=rules)


def _receiver_rules(settings: ServerSettings) -> ReceiverRules:
    return ReceiverRules(
        allows_loopback=settings.webhook_allow_loopback, timeout_seconds=settings.webhook_seconds
    )


def allow_mint(settings: ServerSettings, payments: PaymentSettings | None) -> ServerSettings:
    """Add the mint to the content security policy: the browser's wallet calls it directly."""
    if payments is None or not payments.is_on:
        return settings
    return settings.model_copy(update={"csp_connect": (*settings.csp_connect, payments.origin)})


async def rate_limits(
    stack: AsyncExitStack, settings: ServerSettings, services: Services
) -> RateLimits | None:
    """The rate limits of an API process; None if only one local user can call it."""
    if not settings.rate_per_second or (settings.is_anonymous and settings.is_loopback):
        return None  # a single local user
    rate = Rate(per_second=settings.rate_per_second, burst=settings.rate_burst)
    guess = Rate(per_second=settings.guesses_per_second, burst=settings.guess_burst)
    clock = services.clock
    redis = await stack.enter_async_context(redis_of(settings))
    if redis is None:
        requests, guesses = (MemoryBuckets(each, clock=clock) for each in (rate, guess))
        return RateLimits(requests=requests, guesses=guesses)
    return RateLimits(
        requests=RedisBuckets(redis, rate, clock=clock),
        guesses=RedisBuckets(redis, guess, clock=clock, prefix="bathysphere:guess:"),
    )


@asynccontextmanager
async def redis_of(settings: ServerSettings) -> AsyncIterator[Redis | None]:
    """Open a Redis connection for health checks and rate limits; None without Redis."""
    url = secret(settings.redis_url)
    if url is None:
        yield None
        return
    async with Redis.from_url(url, socket_timeout=2, socket_connect_timeout=2) as redis:
        yield redis


@asynccontextmanager
async def tracing_of(settings: ServerSettings, service: str) -> AsyncIterator[None]:
    """Export traces if the settings enable it."""
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


def _config_of(
    own: str | None,
    research: ResearchConfig | None,
    simple: SimpleConfig | None,
    memories: MemoryMode,
) -> ResearchConfig | SimpleConfig | TutorConfig | None:
    """The configuration of one of our own agents."""
    if own == "research":
        return _required(research)
    if own == "tutor":
        return TutorConfig(memories=memories)
    return replace(simple or SimpleConfig(), memories=memories) if own == "simple" else None


def _required(research: ResearchConfig | None) -> ResearchConfig:
    if research is None:
        raise ConfigError(
            "Research needs a signing key that all processes share",
            hint=f"set {RESEARCH}SIGNING_KEY to the same 64 hex digits everywhere, or "
            f"{RESEARCH}SIGNING_KEY_FILE to a file that they share",
        )
    return research
