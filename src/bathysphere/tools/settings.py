"""How fetching and searching are set up: read at the edge, passed down."""

from typing import Annotated, Any, Literal

import httpx
from pydantic import BeforeValidator, Field, PositiveFloat, PositiveInt, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bathysphere.core.errors import ConfigError
from bathysphere.tools.addresses import origin_of
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.search.contract import SearchEngine

EngineName = Literal["duckduckgo", "google_cse", "searxng"]


def _pairs(value: Any) -> Any:
    """`a.example=127.0.0.1:8123,b.example=127.0.0.1:8123` as a mapping."""
    if isinstance(value, str):
        pairs = (part.partition("=") for part in value.split(",") if part.strip())
        return {host.strip(): place.strip() for host, _, place in pairs}
    return value


class FetchSettings(BaseSettings):
    """`BATHYSPHERE_FETCH_…`. `pinned_hosts` lets named hosts lead to loopback, for tests alone."""

    model_config = SettingsConfigDict(
        env_prefix="BATHYSPHERE_FETCH_", env_ignore_empty=True, extra="ignore", frozen=True
    )

    max_bytes: PositiveInt = 5_000_000
    timeout_s: PositiveFloat = 20.0
    pinned_hosts: Annotated[dict[str, str], NoDecode, BeforeValidator(_pairs)] = Field(
        default_factory=dict
    )

    def rules(self) -> FetchRules:
        """The rules these settings make."""
        return FetchRules(
            max_bytes=self.max_bytes, timeout_s=self.timeout_s, pinned=self.pinned_hosts
        )


class SearchSettings(BaseSettings):
    """`BATHYSPHERE_SEARCH_…`, and Google's own `GOOGLE_CSE_API_KEY` and `GOOGLE_CSE_CX`."""

    model_config = SettingsConfigDict(
        env_prefix="BATHYSPHERE_SEARCH_",
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
        """The engine: the named one, else Google's where its key is set, else SearXNG, else DDG."""
        if self.engine:
            return self.engine
        if self.google_cse_api_key and self.google_cse_cx:
            return "google_cse"
        return "searxng" if self.searxng_url else "duckduckgo"


def search_engine(settings: SearchSettings, fetcher: Fetcher) -> SearchEngine:
    """The engine that the settings name.

    Args:
        settings: Which engine, and its keys.
        fetcher: For engines of the public web; SearXNG gets one of its own that trusts its origin.

    Raises:
        ConfigError: the named engine is not set up.
    """
    if settings.chosen == "google_cse":
        from bathysphere.tools.search.google_cse import GoogleCSE

        if settings.google_cse_api_key is None or not settings.google_cse_cx:
            hint = "set GOOGLE_CSE_API_KEY and GOOGLE_CSE_CX"
            raise ConfigError("Google's search has no key", hint=hint)
        key = settings.google_cse_api_key.get_secret_value()
        return GoogleCSE(fetcher, key=key, cx=settings.google_cse_cx)
    if settings.chosen == "searxng":
        from bathysphere.tools.search.searxng import SearXNG

        if not settings.searxng_url:
            raise ConfigError("SearXNG has no address", hint="set BATHYSPHERE_SEARCH_SEARXNG_URL")
        origin = origin_of(httpx.URL(settings.searxng_url))
        rules = FetchRules(trusted=frozenset({origin}), max_redirects=0)
        return SearXNG(Fetcher(rules), base_url=settings.searxng_url)
    from bathysphere.tools.search.duckduckgo import DuckDuckGo

    return DuckDuckGo(fetcher)
