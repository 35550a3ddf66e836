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
    sample_corpus,
)
from bathysphere.agents.research.structured_output import FULL, SMALL, Sizes
from bathysphere.core.errors import ConfigError
from bathysphere.core.settings import invalid_settings
from bathysphere.evidence.proof.signing import read_key
from bathysphere.evidence.settle import Unsupported
from bathysphere.harness.web_tools import WebAccess
from bathysphere.models.names import DEMO_TOUR, LLAMACPP
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.file import read_policy_file
from bathysphere.policy.rules import Policy, default_policy
from bathysphere.tools.search.corpus import Corpus
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
    judge: bool = Field(
        default=True,
        description="Whether a model judges if each claim of a report follows from its quotes.",
    )
    size: Literal["auto", "full", "small"] = Field(
        default="auto",
        description="Size of requests to a model; `auto`: small for `llamacpp:` files.",
    )
    signing_key: SecretStr | None = Field(
        default=None,
        description="Ed25519 seed that signs proofs, 64 hex digits; the same in all processes.",
    )
    signing_key_file: Path | None = Field(
        default=None,
        description="File with that key, in a folder that all processes share; created if missing.",
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

    def config(
        self, models: ModelSettings, *, key: bytes | None = None, opens_pages: bool = False
    ) -> ResearchConfig:
        """The agent's configuration.

        Args:
            models: Model settings; small models get smaller requests.
            key: Fallback if no signing key is set.
            opens_pages: Whether pages can be opened by their URL even if the web is not searched.

        Raises:
            ConfigError: If the policy or the corpus cannot be read.
        """
        options = ResearchOptions(
            unsupported=self.unsupported,
            pages=self.pages,
            documents=self.documents,
            rounds=self.rounds,
            judge=self.judge,
        )
        main = models.choice("main").name
        signing_key = self.key() or key
        config = ResearchConfig(
            policy=self.policy(),
            sources=self._sources(is_demo=main == DEMO_TOUR, opens_pages=opens_pages),
            options=options,
            sizes=self._sizes(main),
            retries=models.retries,
            retry_seconds=models.retry_delay_s,
        )
        return config if signing_key is None else config.keyed(signing_key)

    def web_access(self) -> WebAccess:
        """Web access for agents with web tools, from the same settings as research."""
        return WebAccess(fetch=self.fetch.rules(), search=self.search)

    @property
    def has_key(self) -> bool:
        """Whether a signing key, or a file for it, is set."""
        return self.signing_key is not None or self.signing_key_file is not None

    def key(self) -> bytes | None:
        """The signing key, if set.

        Raises:
            ConfigError: If its file cannot be used.
        """
        if self.signing_key is not None:
            return bytes.fromhex(self.signing_key.get_secret_value())
        return read_key(self.signing_key_file) if self.signing_key_file else None

    def policy(self) -> Policy:
        """The policy of the file that is set, else the default one.

        Raises:
            ConfigError: If the file cannot be read, or is not a policy.
        """
        if self.policy_file is None:
            return default_policy()
        return read_policy_file(self.policy_file, hint=f"change or unset {PREFIX}POLICY_FILE")

    def _sources(self, *, is_demo: bool, opens_pages: bool) -> SourceAccess:
        where = self.where
        if where == "auto":
            where = "corpus" if self.corpus else "sample" if is_demo else "web"
        if where in ("corpus", "both") and self.corpus is None:
            raise ConfigError("No corpus is configured", hint=f"set {PREFIX}CORPUS to a folder")
        return GuardedSources(
            corpus=self._corpus(where),
            search=self.search if where in ("web", "both") else None,
            opens_pages=opens_pages,
            fetch=self.fetch.rules(),
        )

    def _corpus(self, where: Where) -> Corpus | None:
        if where == "sample":
            return sample_corpus()
        return corpus_of(self.corpus) if where != "web" and self.corpus else None

    def _sizes(self, main: str) -> Sizes:
        if self.size == "auto":
            return SMALL if main.startswith(f"{LLAMACPP}:") else FULL
        return SMALL if self.size == "small" else FULL
