"""Settings of fetching and searching, read once and passed down."""

import math
import re
from typing import Annotated, Any, Literal, get_args

import httpx
from pydantic import AfterValidator, BeforeValidator, Field, PositiveFloat, PositiveInt, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bathysphere.core.errors import ConfigError
from bathysphere.tools.addresses import origin_of
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.parser_pool import ParseLimits
from bathysphere.tools.parsing_budget import ParsingQuota
from bathysphere.tools.search.contract import SearchEngine

FETCH_PREFIX = "BATHYSPHERE_FETCH_"
SEARCH_PREFIX = "BATHYSPHERE_SEARCH_"
EngineName = Literal["brave", "duckduckgo", "google_cse", "searxng", "tavily"]
_OWN_ENGINE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def _pairs(value: Any) -> Any:
    """Parse `a.example=127.0.0.1:8123,b.example=127.0.0.1:8123` into a mapping."""
    if isinstance(value, str):
        pairs = (part.partition("=") for part in value.split(",") if part.strip())
        return {host.strip(): place.strip() for host, _, place in pairs}
    return value


def _header_value(value: Any) -> Any:
    """Check a key that is sent in a header; an error of the HTTP library would quote it."""
    if isinstance(value, str):
        value = value.strip()
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise ValueError("must be printable ASCII without spaces")
    return value


def _engine(value: str) -> str:
    """Check that it is an engine's name, or `module:attribute`."""
    if value in get_args(EngineName) or _OWN_ENGINE.fullmatch(value):
        return value
    raise ValueError(f"must be {', '.join(get_args(EngineName))}, or module:attribute")


ApiKey = Annotated[SecretStr, BeforeValidator(_header_value)]


class FetchSettings(BaseSettings):
    """`BATHYSPHERE_FETCH_…`. `pinned_hosts` maps host names to loopback, for tests only."""

    model_config = SettingsConfigDict(
        env_prefix=FETCH_PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    max_bytes: PositiveInt = Field(default=5_000_000, description="Maximum size of a page.")
    timeout_s: PositiveFloat = Field(
        default=20.0, description="Seconds until a page must have arrived, redirects included."
    )
    parse_timeout_s: PositiveFloat = Field(
        default=10.0, description="Seconds in which a page must be parsed."
    )
    parse_memory_mb: PositiveInt = Field(
        default=1024, description="Memory of a process that parses, in MiB."
    )
    parse_cpu_per_minute: PositiveFloat = Field(
        default=10.0, description="CPU seconds per minute for a user's pages; a tenant has twice."
    )
    pinned_hosts: Annotated[dict[str, str], NoDecode, BeforeValidator(_pairs)] = Field(
        default_factory=dict,
        description="Host names that are served from loopback, comma-separated; for tests only.",
    )

    def rules(self) -> FetchRules:
        """Build the fetch rules."""
        cpu = self.parse_cpu_per_minute
        return FetchRules(
            max_bytes=self.max_bytes,
            timeout_s=self.timeout_s,
            pinned=self.pinned_hosts,
            parsing=ParseLimits(
                deadline_s=self.parse_timeout_s,
                cpu_s=math.ceil(self.parse_timeout_s),
                memory=self.parse_memory_mb << 20,
                quota=ParsingQuota(user_cpu=cpu, tenant_cpu=2 * cpu),
            ),
        )


class SearchSettings(BaseSettings):
    """`BATHYSPHERE_SEARCH_…`, and the keys by the names that the engines' own tools use."""

    model_config = SettingsConfigDict(
        env_prefix=SEARCH_PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
        hide_input_in_errors=True,
    )

    engine: Annotated[str, AfterValidator(_engine)] | None = Field(
        default=None,
        description="`brave`, `duckduckgo`, `google_cse`, `searxng`, `tavily`, or"
        " `module:attribute`; default: the first that is configured, else DuckDuckGo.",
    )
    searxng_url: str | None = Field(default=None, description="URL of a SearXNG server.")
    google_cse_api_key: ApiKey | None = Field(
        default=None,
        validation_alias="GOOGLE_CSE_API_KEY",
        description="API key of Google's Custom Search.",
    )
    google_cse_cx: str | None = Field(
        default=None,
        validation_alias="GOOGLE_CSE_CX",
        description="Search engine id of Google's Custom Search.",
    )
    tavily_api_key: ApiKey | None = Field(
        default=None, validation_alias="TAVILY_API_KEY", description="API key of Tavily."
    )
    brave_api_key: ApiKey | None = Field(
        default=None,
        validation_alias="BRAVE_SEARCH_API_KEY",
        description="API key of Brave Search.",
    )

    @property
    def chosen(self) -> str:
        """The engine: as set, else the first that is configured, else DuckDuckGo."""
        if self.engine:
            return self.engine
        if self.google_cse_api_key and self.google_cse_cx:
            return "google_cse"
        if self.searxng_url:
            return "searxng"
        if self.tavily_api_key:
            return "tavily"
        return "brave" if self.brave_api_key else "duckduckgo"


def search_engine(settings: SearchSettings, fetcher: Fetcher) -> SearchEngine:
    """Build the search engine that the settings select.

    Args:
        settings: The engine and its keys.
        fetcher: For public engines; SearXNG gets a separate one that trusts its origin.

    Raises:
        ConfigError: The selected engine is not configured.
    """
    match settings.chosen:
        case "brave":
            return _brave(settings, fetcher)
        case "google_cse":
            return _google_cse(settings, fetcher)
        case "searxng":
            return _searxng(settings)
        case "tavily":
            return _tavily(settings, fetcher)
        case "duckduckgo":
            from bathysphere.tools.search.duckduckgo import DuckDuckGo

            return DuckDuckGo(fetcher)
        case own:
            from bathysphere.tools.search.own import own_engine

            return own_engine(own, fetcher)


def _brave(settings: SearchSettings, fetcher: Fetcher) -> SearchEngine:
    from bathysphere.tools.search.brave import KEY, Brave

    if settings.brave_api_key is None:
        raise ConfigError("Brave search is not configured", hint=f"set {KEY}")
    return Brave(fetcher, key=settings.brave_api_key.get_secret_value())


def _google_cse(settings: SearchSettings, fetcher: Fetcher) -> SearchEngine:
    from bathysphere.tools.search.google_cse import GoogleCSE

    if settings.google_cse_api_key is None or not settings.google_cse_cx:
        hint = "set GOOGLE_CSE_API_KEY and GOOGLE_CSE_CX"
        raise ConfigError("Google search is not configured", hint=hint)
    key = settings.google_cse_api_key.get_secret_value()
    return GoogleCSE(fetcher, key=key, cx=settings.google_cse_cx)


def _searxng(settings: SearchSettings) -> SearchEngine:
    from bathysphere.tools.search.searxng import SearXNG

    if not settings.searxng_url:
        hint = "set BATHYSPHERE_SEARCH_SEARXNG_URL"
        raise ConfigError("SearXNG is not configured", hint=hint)
    origin = origin_of(httpx.URL(settings.searxng_url))
    rules = FetchRules(trusted=frozenset({origin}), max_redirects=0)
    return SearXNG(Fetcher(rules), base_url=settings.searxng_url)


def _tavily(settings: SearchSettings, fetcher: Fetcher) -> SearchEngine:
    from bathysphere.tools.search.tavily import KEY, Tavily

    if settings.tavily_api_key is None:
        raise ConfigError("Tavily search is not configured", hint=f"set {KEY}")
    return Tavily(fetcher, key=settings.tavily_api_key.get_secret_value())
