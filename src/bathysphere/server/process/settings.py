"""Settings of the server and the workers, from `BATHYSPHERE_…` environment variables.

The defaults are for one machine: loopback, anonymous, embedded PostgreSQL, events in memory.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from bathysphere.core.settings import invalid_settings
from bathysphere.engine.events.log import DEFAULT_LIMITS
from bathysphere.server.cells.cells_file import CELL_NAME
from bathysphere.server.process.addresses import is_loopback
from bathysphere.server.process.auth_settings import PREFIX, AuthSettings, Names

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
DRAIN_MARGIN = 5.0
"""Seconds that a process needs to exit after its runs are released."""


class ServerSettings(AuthSettings):
    """Settings of `bathysphere serve` and `bathysphere worker`."""

    # ── addresses and data ──
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        default=None, description="Port to listen on; default: the first free port from 8123."
    )
    data_dir: Path = Field(
        default=Path("~/.local/share/bathysphere"),
        description="Data folder of the embedded PostgreSQL.",
    )
    database_url: SecretStr | None = Field(
        default=None, description="PostgreSQL URL; default: embedded PostgreSQL in the data folder."
    )
    database_listen_url: SecretStr | None = Field(
        default=None,
        description="Direct PostgreSQL URL for LISTEN, if the other URL is a PgBouncer's.",
    )
    database_pool_size: PositiveInt = Field(
        default=10, description="Maximum connections per process."
    )
    database_statement_seconds: PositiveFloat = Field(
        default=60, description="Statement timeout of API processes without a worker."
    )
    database_prepare: bool = Field(
        default=True,
        description="Use prepared statements; turn off behind PgBouncer in transaction mode.",
    )
    encryption_keys: SecretStr | None = Field(
        default=None,
        description="Keys that contents are encrypted with, as `id:base64,…`; the first encrypts.",
    )
    encryption_keys_file: Path | None = Field(
        default=None, description="File with these keys instead, such as a mounted secret."
    )
    encryption_strict: bool = Field(
        default=False, description="Refuse contents that are stored in plain text."
    )
    message_search: bool | None = Field(
        default=None,
        description="Store the words of messages in plain text, for the search; default: only"
        " without encryption.",
    )
    migrate: bool = Field(default=True, description="Run database migrations at startup.")
    cell: str | None = Field(
        default=None,
        pattern=f"^{CELL_NAME.pattern}$",
        description="Name of this cell, where there are several; default: it has all tenants.",
    )
    api_processes: PositiveInt = Field(
        default=1,
        description="API processes that share the port; several require `--no-worker`.",
    )
    redis_url: SecretStr | None = Field(
        default=None,
        description="Redis URL for live events; default: in memory, for one process only.",
    )
    events_keep_seconds: PositiveInt = Field(
        default=DEFAULT_LIMITS.keep_seconds,
        description="How long the live events of an idle thread are kept.",
    )
    events_thread_bytes: PositiveInt = Field(
        default=DEFAULT_LIMITS.thread_bytes,
        description="Bytes of live events that are kept per thread, as clients read them; "
        "they take less room in storage.",
    )
    events_memory_bytes: PositiveInt = Field(
        default=DEFAULT_LIMITS.memory_bytes,
        description="Bytes of live events of all threads, without Redis.",
    )

    # ── request limits ──
    allowed_hosts: Names = Field(
        default=(),
        description="Accepted Host headers; default on loopback: this machine's names.",
    )
    cors_origins: Names = Field(
        default=(), description="Origins whose web pages may call the server (CORS); default: none."
    )
    csp_connect: Names = Field(
        default=(), description="Additional origins that the web app may call, such as a mint."
    )
    trusted_proxies: Names = Field(
        default=("127.0.0.1",), description="Proxies whose X-Forwarded-For header is trusted."
    )
    max_body_bytes: PositiveInt = Field(
        default=16 * 1024 * 1024, description="Maximum size of a request body."
    )
    rate_per_second: NonNegativeFloat = Field(
        default=50, description="Sustained requests per second and identity; 0: unlimited."
    )
    rate_burst: PositiveInt = Field(default=200, description="Burst of requests per identity.")
    guesses_per_second: PositiveFloat = Field(
        default=5,
        description="Unverified credentials accepted per second and address.",
    )
    guess_burst: PositiveInt = Field(
        default=50, description="Burst of unverified credentials per address."
    )

    header_seconds: PositiveFloat = Field(
        default=10, description="Time limit for a client to send a request's headers."
    )
    body_seconds: PositiveFloat = Field(
        default=30, description="How long a client may send a body at less than 4 kB/s."
    )
    max_connections: PositiveInt = Field(
        default=10_000,
        description="Maximum concurrent connections per API process; beyond that: 503.",
    )
    max_open_per_user: NonNegativeInt = Field(
        default=64,
        description="Maximum open requests per user, including streams; 0: unlimited.",
    )
    max_open_per_tenant: NonNegativeInt = Field(
        default=256,
        description="Maximum open requests per tenant, including streams; 0: unlimited.",
    )
    requests_at_once: NonNegativeInt = Field(
        default=6,
        description="Concurrent requests per API process, shared by tenants; 0: unlimited.",
    )
    max_answer_bytes: PositiveInt = Field(
        default=16 * 1024 * 1024,
        description="Size at which a history or a list of threads is truncated.",
    )

    budget_user_tokens: PositiveInt | None = Field(
        default=None,
        description="Tokens per month of each user without a budget of their own.",
    )
    budget_tenant_tokens: PositiveInt | None = Field(
        default=None,
        description="Tokens per month of each tenant without a budget of its own.",
    )
    max_stored_bytes_per_user: NonNegativeInt = Field(
        default=2 * 1024**3,
        description="Maximum bytes of threads and store items per user; 0: unlimited.",
    )
    max_stored_bytes_per_tenant: NonNegativeInt = Field(
        default=20 * 1024**3,
        description="Maximum bytes of threads and store items per tenant; 0: unlimited.",
    )

    thread_ttl_days: PositiveFloat | None = Field(
        default=None,
        description="Days after their last use when threads are deleted; default: never.",
    )

    # ── runs ──
    worker_concurrency: PositiveInt = Field(
        default=8, description="Maximum concurrent runs per worker process."
    )
    slot_reserve: Annotated[float, Field(ge=0, le=0.5)] = Field(
        default=0.25,
        description="Share of a worker's slots reserved for tenants and users with few runs.",
    )
    max_waiting_per_thread: NonNegativeInt = Field(
        default=100, description="Maximum waiting runs per thread; 0: unlimited."
    )
    max_waiting_per_user: NonNegativeInt = Field(
        default=200, description="Maximum waiting runs per user; 0: unlimited."
    )
    max_waiting_per_tenant: NonNegativeInt = Field(
        default=1000, description="Maximum waiting runs per tenant; 0: unlimited."
    )
    run_attempts: PositiveInt = Field(
        default=5,
        description="Attempts without progress before a run fails.",
    )
    run_losses: PositiveInt = Field(
        default=2,
        description="Workers that a run may lose without progress before it is set aside.",
    )
    run_seconds: PositiveFloat = Field(default=6 * 3600, description="Maximum duration of a run.")
    drain_seconds: PositiveFloat = Field(
        default=30, description="How long a stopping worker waits for current steps."
    )
    stop_delay_seconds: NonNegativeFloat = Field(
        default=0,
        description="How long a stopping API still serves requests, for load balancers to notice.",
    )
    stream_seconds: PositiveFloat = Field(
        default=3600, description="Maximum duration of a stream; clients then reconnect."
    )
    stream_close_seconds: NonNegativeInt = Field(
        default=3, description="How long a stopping API waits for open streams."
    )

    # ── schedules ──
    max_crons_per_tenant: NonNegativeInt = Field(
        default=100, description="Maximum schedules per tenant; 0: unlimited."
    )
    titles: bool = Field(
        default=True, description="Let the summary model write titles, after the first answer."
    )
    max_shares_per_tenant: NonNegativeInt = Field(
        default=1000, description="Maximum shared conversations per tenant; 0: no sharing."
    )
    cron_min_seconds: PositiveFloat = Field(
        default=60, description="Shortest time between two runs of a schedule."
    )
    cron_catch_up_seconds: PositiveFloat = Field(
        default=7200, description="How late a schedule's run may start; older ones are skipped."
    )
    cron_renewal_days: PositiveFloat = Field(
        default=30, description="How long a schedule runs that was made without an API key."
    )

    # ── webhooks ──
    webhook_secret: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="Secret that signs webhooks (at least 32 characters); default: none are sent.",
    )
    webhook_allow_loopback: bool = Field(
        default=False, description="Allow webhooks to this machine, without https."
    )
    webhook_attempts: PositiveInt = Field(
        default=12, description="Attempts to deliver a webhook before it is given up."
    )
    webhook_seconds: PositiveFloat = Field(
        default=10, description="Time limit of a webhook's receiver."
    )

    # ── push ──
    push_contact: str | None = Field(
        default=None,
        pattern=r"^(mailto:[^@\s]+@[\w-]+(\.[\w-]+)+|https://[\w-]+(\.[\w-]+)+)$",
        description="Whom push services may write to (mailto: or https:); default: no Web Push.",
    )
    push_secret: SecretStr | None = Field(
        default=None,
        min_length=32,
        description="Secret of the push key (at least 32 characters); default: one in the data"
        " folder, with the embedded PostgreSQL.",
    )

    # ── observability ──
    log_format: LogFormat | None = Field(
        default=None, description="`text` or `json`; default: text in a terminal, else json."
    )
    log_level: LogLevel = Field(default="info", description="Minimum level of log lines.")
    log_contents: bool = Field(
        default=False,
        description="Log the texts of errors, which may contain user and model content.",
    )
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        default=None, description="Separate port for Prometheus and probes."
    )
    metrics_host: str = Field(default="127.0.0.1", description="Address of that port.")
    metrics_token: SecretStr | None = Field(
        default=None, description="Bearer token for /metrics on the main port."
    )
    otel_endpoint: str | None = Field(
        default=None, description="OpenTelemetry endpoint for traces (OTLP over HTTP)."
    )
    otel_sample_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="Share of traces that is sampled."
    )

    @classmethod
    def from_environment(cls, **flags: Any) -> Self:
        """Read the settings from the environment; flags that are not None take precedence.

        Raises:
            ConfigError: A value is invalid; the message names the variable.
        """
        try:
            return cls(**{name: value for name, value in flags.items() if value is not None})
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/serve.md") from error

    @field_validator("data_dir")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return value.expanduser()

    @model_validator(mode="after")
    def _check_combinations(self) -> Self:
        if self.is_anonymous and not self.is_loopback and not self.allow_anonymous_anywhere:
            raise ValueError(
                f"Refusing to serve {self.host} without authentication: set"
                f" {PREFIX}AUTH to api-key, oidc or project, or pass --allow-anonymous-anywhere"
            )
        if self.encryption_keys is not None and self.encryption_keys_file is not None:
            raise ValueError(f"Set {PREFIX}ENCRYPTION_KEYS or {PREFIX}ENCRYPTION_KEYS_FILE")
        if self.database_url is None and self.redis_url is not None:
            raise ValueError(f"{PREFIX}REDIS_URL needs {PREFIX}DATABASE_URL: set both, or neither")
        return self

    # ── derived values ──

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def is_own_machine(self) -> bool:
        """Whether one person uses this server, at its machine, in this process alone.

        Without Redis no other process shares the database, and only the machine's own names and
        pages of this server are let in.
        """
        is_local = self.is_anonymous and self.is_loopback and not self.allow_anonymous_anywhere
        return is_local and not (self.redis_url or self.allowed_hosts or self.cors_origins)

    @property
    def is_embedded(self) -> bool:
        """Whether the embedded PostgreSQL is used."""
        return self.database_url is None

    def hosts(self) -> tuple[str, ...]:
        """Accepted Host headers; empty means any."""
        if self.allowed_hosts or not (self.is_loopback or self.is_anonymous):
            return self.allowed_hosts
        # Otherwise a web page could reach us by pointing its own host name at 127.0.0.1.
        return (*LOOPBACK_HOSTS, self.host) if self.host not in LOOPBACK_HOSTS else LOOPBACK_HOSTS
