"""Research settings, read from `BATHYSPHERE_RESEARCH_…` once at startup."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.agents.research.agent import ResearchConfig
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.source_access import (
    GuardedSources,
    SourceAccess,
    corpus_of,
    sample,
)
from bathysphere.agents.research.structured_output import FULL, SMALL, Sizes
from bathysphere.core.errors import ConfigError
from bathysphere.core.settings import invalid_settings
from bathysphere.evidence.settle import Unsupported
from bathysphere.harness.web_tools import WebAccess
from bathysphere.models.names import DEMO_TOUR, LLAMACPP
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.rules import Policy, default_policy, read_policy
from bathysphere.tools.settings import FETCH_PREFIX, SEARCH_PREFIX, FetchSettings, SearchSettings

PREFIX = "BATHYSPHERE_RESEARCH_"
Where = Literal["auto", "web", "corpus", "both", "sample"]


class ResearchSettings(BaseSettings):
    """Settings of the research agent."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    policy_file: Path | None = Field(
        default=None, description="Path of the POLICY.md; default: the one included in the package."
    )
    corpus: Path | None = Field(default=None, description="A folder with .md and .txt files.")
    where: Where = Field(
        default="auto",
        description="What to search; `auto`: the corpus if one is set, else the web; with the"
        " scripted tour, sample pages.",
    )
    unsupported: Unsupported = Field(
        default="mark", description="What to do with unsupported claims: `mark` or `drop`."
    )
    pages: PositiveInt = Field(default=3, description="Number of results to open per web search.")
    documents: PositiveInt = Field(
        default=4, description="Number of documents to read per corpus search."
    )
    rounds: NonNegativeInt = Field(
        default=1, description="How often the model may request calls beyond the plan."
    )
    size: Literal["auto", "full", "small"] = Field(
        default="auto",
        description="Size of requests to a model; `auto`: small for `llamacpp:` files.",
    )
    signing_key: SecretStr | None = Field(
        default=None,
        description="Ed25519 seed that signs proofs, 64 hex digits; the same in all processes.",
    )
    search: SearchSettings = Field(default_factory=SearchSettings)
    fetch: FetchSettings = Field(default_factory=FetchSettings)

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; an invalid value is a `ConfigError`."""
        try:
            return cls()
        except ValidationError as error:
            prefixes = {"SearchSettings": SEARCH_PREFIX, "FetchSettings": FETCH_PREFIX}
            prefix = prefixes.get(error.title, PREFIX)
            raise invalid_settings(error, prefix=prefix, guide="docs/research.md") from error

    @field_validator("signing_key")
    @classmethod
    def _check_seed(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                is_seed = len(bytes.fromhex(value.get_secret_value())) == 32
            except ValueError:
                is_seed = False
            if not is_seed:
                raise ValueError("must be 64 hex digits (generate with `openssl rand -hex 32`)")
        return value

    def config(self, models: ModelSettings, *, key: bytes | None = None) -> ResearchConfig:
        """The agent's configuration.

        Args:
            models: Model settings; small models get smaller requests.
            key: Fallback if no signing key is set.

        Raises:
            ConfigError: If the policy or the corpus cannot be read.
        """
        options = ResearchOptions(
            unsupported=self.unsupported,
            pages=self.pages,
            documents=self.documents,
            rounds=self.rounds,
        )
        main = models.choice("main").name
        signing_key = self.key() or key
        config = ResearchConfig(
            policy=self._policy(),
            sources=self._sources(is_demo=main == DEMO_TOUR),
            options=options,
            sizes=self._sizes(main),
            retries=models.retries,
            retry_seconds=models.retry_delay_s,
        )
        return config if signing_key is None else config.keyed(signing_key)

    def web_access(self) -> WebAccess:
        """How agents with tools for the web reach it: by the same settings as research."""
        return WebAccess(fetch=self.fetch.rules(), search=self.search)

    def key(self) -> bytes | None:
        """The signing key, if set."""
        return bytes.fromhex(self.signing_key.get_secret_value()) if self.signing_key else None

    def _policy(self) -> Policy:
        if self.policy_file is None:
            return default_policy()
        try:
            return read_policy(self.policy_file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(
                f"Cannot read {self.policy_file}: {error.strerror}",
                hint=f"change or unset {PREFIX}POLICY_FILE",
            ) from error

    def _sources(self, *, is_demo: bool) -> SourceAccess:
        where = self.where
        if where == "auto":
            where = "corpus" if self.corpus else "sample" if is_demo else "web"
        if where == "sample":
            return sample()
        if where in ("corpus", "both") and self.corpus is None:
            raise ConfigError("No corpus is configured", hint=f"set {PREFIX}CORPUS to a folder")
        corpus = corpus_of(self.corpus) if where != "web" and self.corpus else None
        search = self.search if where in ("web", "both") else None
        return GuardedSources(corpus=corpus, search=search, fetch=self.fetch.rules())

    def _sizes(self, main: str) -> Sizes:
        if self.size == "auto":
            return SMALL if main.startswith(f"{LLAMACPP}:") else FULL
        return SMALL if self.size == "small" else FULL
