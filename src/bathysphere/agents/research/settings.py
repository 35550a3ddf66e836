"""How research is set up: read once at the edge, from `BATHYSPHERE_RESEARCH_…`, and passed down."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bathysphere.agents.research.agent import ResearchConfig
from bathysphere.agents.research.asking import FULL, SMALL, Sizes
from bathysphere.agents.research.parts import Habits, Reach
from bathysphere.agents.research.reaching import Reaching, corpus_of, sample
from bathysphere.core.errors import ConfigError
from bathysphere.evidence.settle import Unsupported
from bathysphere.models.names import DEMO_TOUR, LLAMACPP
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.rules import Policy, default_policy, read_policy
from bathysphere.tools.settings import FetchSettings, SearchSettings

PREFIX = "BATHYSPHERE_RESEARCH_"
Where = Literal["auto", "web", "corpus", "both", "sample"]


class ResearchSettings(BaseSettings):
    """Everything an operator can change about `research`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="ignore", frozen=True
    )

    policy_file: Path | None = Field(
        default=None, description="The POLICY.md that holds; not set: the one that ships."
    )
    corpus: Path | None = Field(default=None, description="A folder with .md and .txt files.")
    where: Where = Field(
        default="auto",
        description="What is searched; `auto`: the corpus if one is set, else the web; with the"
        " scripted tour, sample pages.",
    )
    unsupported: Unsupported = Field(
        default="mark", description="What becomes of claims without support: `mark` or `drop`."
    )
    pages: PositiveInt = Field(default=3, description="Results of one web search that are opened.")
    documents: PositiveInt = Field(
        default=4, description="Documents of the corpus that one search reads."
    )
    rounds: NonNegativeInt = Field(
        default=1, description="How often the model may ask for more than the plan names."
    )
    size: Literal["auto", "full", "small"] = Field(
        default="auto",
        description="How much is asked of a model at a time; `auto`: small for `llamacpp:` files.",
    )
    signing_key: SecretStr | None = Field(
        default=None,
        description="Ed25519 seed, 64 hex digits: signs proofs. The same on every process.",
    )
    search: SearchSettings = Field(default_factory=SearchSettings)
    fetch: FetchSettings = Field(default_factory=FetchSettings)

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; a value that cannot be used is one sentence, not a report."""
        try:
            return cls()
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            variable = f"{PREFIX}{first['loc'][0]}".upper()
            raise ConfigError(
                f"{variable} cannot be used: {first['msg']}", hint=f"change or unset {variable}"
            ) from error

    @field_validator("signing_key")
    @classmethod
    def _is_a_seed(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None:
            try:
                is_seed = len(bytes.fromhex(value.get_secret_value())) == 32
            except ValueError:
                is_seed = False
            if not is_seed:
                raise ValueError("64 hex digits are needed (openssl rand -hex 32)")
        return value

    def config(self, models: ModelSettings, *, key: bytes | None = None) -> ResearchConfig:
        """What the agent is made with.

        Args:
            models: Which models are used; a small one is asked for less at a time.
            key: The operator's key, where no signing key is set.

        Raises:
            ConfigError: The policy or the corpus cannot be read.
        """
        habits = Habits(
            unsupported=self.unsupported,
            pages=self.pages,
            documents=self.documents,
            rounds=self.rounds,
        )
        main = models.choice("main").name
        known = self.key() or key
        config = ResearchConfig(
            policy=self._policy(),
            reach=self._reach(is_demo=main == DEMO_TOUR),
            habits=habits,
            sizes=self._sizes(main),
            retries=models.retries,
            retry_seconds=models.retry_delay_s,
        )
        return config if known is None else config.keyed(known)

    def key(self) -> bytes | None:
        """The operator's key, if one is set."""
        return bytes.fromhex(self.signing_key.get_secret_value()) if self.signing_key else None

    def _policy(self) -> Policy:
        if self.policy_file is None:
            return default_policy()
        try:
            return read_policy(self.policy_file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(
                f"{self.policy_file} cannot be read: {error.strerror}",
                hint=f"change or unset {PREFIX}POLICY_FILE",
            ) from error

    def _reach(self, *, is_demo: bool) -> Reach:
        where = self.where
        if where == "auto":
            where = "corpus" if self.corpus else "sample" if is_demo else "web"
        if where == "sample":
            return sample()
        if where in ("corpus", "both") and self.corpus is None:
            raise ConfigError("no corpus is named", hint=f"set {PREFIX}CORPUS to a folder")
        corpus = corpus_of(self.corpus) if where != "web" and self.corpus else None
        search = self.search if where in ("web", "both") else None
        return Reaching(corpus=corpus, search=search, fetch=self.fetch.rules())

    def _sizes(self, main: str) -> Sizes:
        if self.size == "auto":
            return SMALL if main.startswith(f"{LLAMACPP}:") else FULL
        return SMALL if self.size == "small" else FULL
