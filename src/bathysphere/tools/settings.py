"""Settings of fetching and searching, read once and passed down."""

import math
from typing import Annotated, Any, Literal

import httpx
from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bathysphere.core.errors import ConfigError
from bathysphere.tools.addresses import origin_of
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.parser_pool import ParseLimits
from bathysphere.tools.parsing_budget import ParsingQuota
from bathysphere.tools.search.contract import SearchEngine

FETCH_PREFIX = "BATHYSPHERE_FETCH_"
SEARCH_PREFIX = "BATHYSPHERE_SEARCH_"
EngineName = Literal["duckduckgo", "google_cse", "searxng"]


def _pairs(value: Any) -> Any:
    """Parse `a.example=127.0.0.1:8123,b.example=127.0.0.1:8123` into a mapping."""
    if isinstance(value, str):
        pairs = (part.partition("=") for part in value.split(",") if part.strip())
        return {host.strip(): place.strip() for host, _, place in pairs}
    return value


class FetchSettings(BaseSettings):
    """`BATHYSPHERE_FETCH_…`. `pinned_hosts` maps host names to loopback, for tests only."""

    model_config = SettingsConfigDict(
        env_prefix=FETCH_PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    max_bytes: PositiveInt = 5_000_000
    timeout_s: PositiveFloat = 20.0
    parse_timeout_s: PositiveFloat = 10.0
    parse_memory_mb: PositiveInt = 1024
    parse_cpu_per_minute: PositiveFloat = 10.0
    pinned_hosts: Annotated[dict[str, str], NoDecode, BeforeValidator(_pairs)] = Field(
        default_factory=dict
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
    """`BATHYSPHERE_SEARCH_…`, and Google's own `GOOGLE_CSE_API_KEY` and `GOOGLE_CSE_CX`."""

    model_config = SettingsConfigDict(
        env_prefix=SEARCH_PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    engine: EngineName | None = None
    searxng_url: str | None = None
    google_cse_api_key: SecretStr | None = Field(
        default=None, validation_alias="GOOGLE_CSE_API_KEY"
    )
    google_cse_cx: str | None = Field(default=None, validation_alias="GOOGLE_CSE_CX")

    @property
    def chosen(self) -> EngineName:
        """The configured engine, else Google if its key is set, else SearXNG, else DuckDuckGo."""
        if self.engine:
            return self.engine
        if self.google_cse_api_key and self.google_cse_cx:
            return "google_cse"
        return "searxng" if self.searxng_url else "duckduckgo"


def search_engine(settings: SearchSettings, fetcher: Fetcher) -> SearchEngine:
    """Build the search engine that the settings select.

    Args:
        settings: The engine and its keys.
        fetcher: For public engines; SearXNG gets a separate one that trusts its origin.

    Raises:
        ConfigError: The selected engine is not configured.
    """
    if settings.chosen == "google_cse":
        from bathysphere.tools.search.google_cse import GoogleCSE

        if settings.google_cse_api_key is None or not settings.google_cse_cx:
            hint = "set GOOGLE_CSE_API_KEY and GOOGLE_CSE_CX"
            raise ConfigError("Google search is not configured", hint=hint)
        key = settings.google_cse_api_key.get_secret_value()
        return GoogleCSE(fetcher, key=key, cx=settings.google_cse_cx)
    if settings.chosen == "searxng":
        from bathysphere.tools.search.searxng import SearXNG

        if not settings.searxng_url:
            hint = "set BATHYSPHERE_SEARCH_SEARXNG_URL"
            raise ConfigError("SearXNG is not configured", hint=hint)
        origin = origin_of(httpx.URL(settings.searxng_url))
        rules = FetchRules(trusted=frozenset({origin}), max_redirects=0)
        return SearXNG(Fetcher(rules), base_url=settings.searxng_url)
    from bathysphere.tools.search.duckduckgo import DuckDuckGo

    return DuckDuckGo(fetcher)
