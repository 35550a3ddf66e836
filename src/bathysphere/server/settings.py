"""How the server and the workers run: read once at the edge, from `BATHYSPHERE_…` variables.

Nothing set means one machine: loopback, anonymous, PostgreSQL from the wheel, events in memory.
"""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
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
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bathysphere.core.errors import ConfigError

PREFIX = "BATHYSPHERE_"
AuthMode = Literal["anonymous", "api-key", "oidc"]
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

ASYMMETRIC = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
)
"""What a token may be signed with. A public key must never verify as a shared secret."""
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")
DRAIN_MARGIN = 5.0
"""Seconds a process needs to leave after its runs are handed on."""


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""Several values in one variable, separated by commas."""


class ServerSettings(BaseSettings):
    """Everything an operator can change about `bathysphere serve` and `bathysphere worker`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    # ── where ──
    host: str = Field(default="127.0.0.1", description="The address to listen on.")
    port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        default=None, description="The port; not set: 8123, or the next one that is free."
    )
    data_dir: Path = Field(
        default=Path("~/.local/share/bathysphere"),
        description="Where one machine keeps its data: the PostgreSQL cluster of the wheel.",
    )
    database_url: SecretStr | None = Field(
        default=None, description="PostgreSQL; not set: started from the wheel in the data folder."
    )
    database_listen_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL itself, where the other address is a PgBouncer's; for LISTEN.",
    )
    database_pool_size: PositiveInt = Field(
        default=10, description="The most connections a process holds."
    )
    database_prepare: bool = Field(
        default=True,
        description="Prepared statements; off behind PgBouncer in transaction mode.",
    )
    migrate: bool = Field(
        default=True, description="Bring the database to this version's shape when starting."
    )
    redis_url: SecretStr | None = Field(
        default=None, description="Redis for live events; not set: in memory, one process only."
    )

    # ── who ──
    auth: Annotated[tuple[AuthMode, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=("anonymous",),
        description="Who may come in: `anonymous`, or `api-key` and `oidc`, separated by commas.",
    )
    allow_anonymous_anywhere: bool = Field(
        default=False,
        description="Accept `anonymous` on an address that others can reach. Everyone is one user.",
    )
    oidc_issuer: str | None = Field(
        default=None, description="The issuer that tokens must name, and where its keys are found."
    )
    oidc_audience: str | None = Field(
        default=None, description="The audience that tokens must name."
    )
    oidc_jwks_url: str | None = Field(
        default=None, description="Where the issuer's keys are; not set: asked from the issuer."
    )
    oidc_algorithms: Names = Field(
        default=("RS256", "ES256", "EdDSA"),
        description="Signature algorithms a token may have; asymmetric ones only.",
    )
    oidc_user_claim: str = Field(default="sub", description="The claim that names the user.")
    oidc_tenant_claim: str | None = Field(
        default=None, description="The claim that names the tenant; not set: `oidc_tenant` for all."
    )
    oidc_tenant: str = Field(
        default="default", description="The tenant of all users, where no claim names one."
    )

    # ── what is let in ──
    allowed_hosts: Names = Field(
        default=(),
        description="Host names requests may ask for; not set: this machine's own on loopback.",
    )
    cors_origins: Names = Field(
        default=(), description="Origins of web pages that may call the server; none by default."
    )
    csp_connect: Names = Field(
        default=(), description="Origins the web app may also call, such as a mint's."
    )
    trusted_proxies: Names = Field(
        default=("127.0.0.1",), description="Proxies whose X-Forwarded-For is believed."
    )
    max_body_bytes: PositiveInt = Field(
        default=16 * 1024 * 1024, description="The largest request body."
    )
    rate_per_second: NonNegativeFloat = Field(
        default=50, description="Requests an identity may make a second, in the long run; 0: any."
    )
    rate_burst: PositiveInt = Field(default=200, description="Requests it may make at once.")

    # ── how runs are done ──
    worker_concurrency: PositiveInt = Field(
        default=8, description="Runs a worker process does at a time."
    )
    run_attempts: PositiveInt = Field(
        default=5, description="How often a run is tried before it ends with an error."
    )
    run_seconds: PositiveFloat = Field(default=6 * 3600, description="The longest a run may take.")
    drain_seconds: PositiveFloat = Field(
        default=30, description="How long a stopping worker lets the steps in hand go on."
    )
    stop_delay_seconds: NonNegativeFloat = Field(
        default=0,
        description="How long a stopping API answers on while load balancers learn of it.",
    )
    stream_close_seconds: NonNegativeInt = Field(
        default=3, description="How long a stopping API waits for open streams."
    )

    # ── what an operator sees ──
    log_format: LogFormat | None = Field(
        default=None, description="`text` or `json`; not set: text in a terminal, else json."
    )
    log_level: LogLevel = Field(default="info", description="The least important line to log.")
    log_contents: bool = Field(
        default=False,
        description="Log the texts of errors, which may hold what people and models wrote.",
    )
    metrics_port: Annotated[int, Field(ge=0, le=65535)] | None = Field(
        default=None, description="A port of its own for Prometheus."
    )
    metrics_host: str = Field(
        default="127.0.0.1", description="The address of that port; probes answer there too."
    )
    metrics_token: SecretStr | None = Field(
        default=None, description="The bearer token for /metrics on the server's own port."
    )
    otel_endpoint: str | None = Field(
        default=None, description="Where OpenTelemetry traces go, OTLP over HTTP."
    )
    otel_sample_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        default=1.0, description="The share of traces that is kept."
    )

    @classmethod
    def from_environment(cls, **flags: Any) -> Self:
        """Read the settings; flags that are not None come first.

        Raises:
            ConfigError: A value cannot be used; one sentence, naming the variable.
        """
        try:
            return cls(**{name: value for name, value in flags.items() if value is not None})
        except ValidationError as error:
            raise unusable(error, prefix=PREFIX, guide="docs/serve.md") from error

    @field_validator("data_dir")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return value.expanduser()

    @field_validator("auth")
    @classmethod
    def _anonymous_is_alone(cls, value: tuple[AuthMode, ...]) -> tuple[AuthMode, ...]:
        if not value:
            raise ValueError("name at least one of anonymous, api-key, oidc")
        if "anonymous" in value and len(value) > 1:
            raise ValueError("`anonymous` lets everyone in, so it stands alone")
        return value

    @field_validator("oidc_algorithms")
    @classmethod
    def _asymmetric_only(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = [name for name in value if name not in ASYMMETRIC]
        if wrong or not value:
            raise ValueError(
                f"{', '.join(wrong) or 'nothing'} is not one of {', '.join(ASYMMETRIC)}"
            )
        return value

    @field_validator("oidc_issuer", "oidc_jwks_url")
    @classmethod
    def _encrypted_or_local(cls, value: str | None) -> str | None:
        local = ("http://127.0.0.1", "http://localhost", "http://[::1]")
        if value is None or value.startswith(("https://", *local)):
            return value
        raise ValueError("keys must come over https, or from this machine")

    @model_validator(mode="after")
    def _belongs_together(self) -> Self:
        if "oidc" in self.auth and not (self.oidc_issuer and self.oidc_audience):
            raise ValueError(f"oidc needs {PREFIX}OIDC_ISSUER and {PREFIX}OIDC_AUDIENCE")
        if self.is_anonymous and not self.is_loopback and not self.allow_anonymous_anywhere:
            raise ValueError(
                f"anonymous on {self.host} would let in everyone who reaches it: set"
                f" {PREFIX}AUTH to api-key or oidc, or pass --allow-anonymous-anywhere"
            )
        if self.database_url is None and self.redis_url is not None:
            raise ValueError("a Redis without a database address: give both, or neither")
        return self

    # ── answers ──

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody is asked who they are."""
        return "anonymous" in self.auth

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def is_embedded(self) -> bool:
        """Whether PostgreSQL comes from the wheel."""
        return self.database_url is None

    def hosts(self) -> tuple[str, ...]:
        """Host names that requests may ask for; empty means any."""
        if self.allowed_hosts or not self.is_loopback:
            return self.allowed_hosts
        # Without this a web page could reach us by a name of its own that points to 127.0.0.1.
        return (*LOOPBACK_HOSTS, self.host) if self.host not in LOOPBACK_HOSTS else LOOPBACK_HOSTS


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine; a name is not looked up."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def unusable(error: ValidationError, *, prefix: str, guide: str) -> ConfigError:
    """The first thing that is wrong with settings, as one sentence that names the variable."""
    first = error.errors(include_input=False)[0]
    reason = str(first["msg"]).removeprefix("Value error, ")
    if not first["loc"]:
        return ConfigError(reason, hint=f"see {guide}")
    variable = f"{prefix}{first['loc'][0]}".upper()
    return ConfigError(f"{variable} cannot be used: {reason}", hint=f"change or unset {variable}")
