"""Which models are used and how: read once at the edge, from the environment, and passed down.

Our own variables start with `BATHYSPHERE_MODEL_`. The variables that older deep agents, Ollama,
LM Studio and the hosted providers use are read too, so that a machine that is already set up works.
"""

from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    SecretStr,
    ValidationError,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from bathysphere.core.errors import ConfigError
from bathysphere.models.names import DEMO_TOUR, LM_STUDIO, OLLAMA, Role

PREFIX = "BATHYSPHERE_MODEL_"
_OLLAMA_PORT = 11434


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _also(name: str, *variables: str) -> AliasChoices:
    """Read a field from our own variable first, then from the ones others use."""
    return AliasChoices(f"{PREFIX}{name}".upper(), *variables)


class Choice(NamedTuple):
    """The model of a role and the setting that chose it."""

    name: str
    chosen_by: str


class ModelSettings(BaseSettings):
    """The models of a process. Nothing set means the scripted tour, never a paid model."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    # ── which model ──
    main: str | None = Field(default=None, description="The main agent's model, `provider:name`.")
    subagent: str | None = Field(default=None, description="The subagents' model; else main's.")
    summary: str | None = Field(default=None, description="Summarises history; else main's.")
    audit: str | None = Field(default=None, description="Audits plans and claims; else main's.")
    fallback: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="Models tried in this order when one fails, separated by commas."
    )

    # ── how it is called ──
    temperature: NonNegativeFloat | None = Field(
        default=None, description="Sampling temperature; the provider's own where not set."
    )
    timeout_s: PositiveFloat = Field(default=120, description="Seconds to wait for an answer.")
    retries: NonNegativeInt = Field(
        default=2, description="How often a call is repeated after a passing error."
    )
    retry_delay_s: NonNegativeFloat = Field(
        default=1, description="Seconds before the first retry; doubled for each one after it."
    )
    check_timeout_s: PositiveFloat = Field(
        default=2, description="Seconds to wait for a model server when looking what is there."
    )

    # ── local models ──
    folder: Path = Field(
        default=Path("~/.local/share/bathysphere/models"), description="Where GGUF files are kept."
    )
    context_tokens: PositiveInt = Field(
        default=8192, description="Context window of a GGUF file served in process."
    )
    threads: NonNegativeInt = Field(
        default=0, description="CPU threads for a GGUF file; 0 leaves one core free."
    )
    demo_pause_s: NonNegativeFloat = Field(
        default=0.01, description="Seconds between two words of the scripted tour."
    )

    # ── what others call it ──
    deepagents_provider: str | None = Field(
        default=None,
        validation_alias="DEEPAGENTS_MODEL_PROVIDER",
        description="`ollama` or `lm-studio`: chooses the main model where it is not named.",
    )
    ollama_name: str | None = Field(
        default=None,
        validation_alias="OLLAMA_MODEL_NAME",
        description="The Ollama model to use where the main model is not named.",
    )
    ollama_url: str = Field(
        default=f"http://127.0.0.1:{_OLLAMA_PORT}",
        validation_alias=_also("ollama_url", "OLLAMA_BASE_URL", "OLLAMA_HOST"),
        description="Where Ollama answers.",
    )
    lm_studio_name: str | None = Field(
        default=None,
        validation_alias="LM_STUDIO_MODEL_NAME",
        description="The LM Studio model to use where the main model is not named.",
    )
    lm_studio_url: str = Field(
        default="http://127.0.0.1:1234/v1",
        validation_alias=_also("lm_studio_url", "LM_STUDIO_BASE_URL"),
        description="Where LM Studio, or another OpenAI-compatible server, answers.",
    )
    lm_studio_api_key: SecretStr = Field(
        default=SecretStr("lm-studio"),
        validation_alias=_also("lm_studio_api_key", "LM_STUDIO_API_KEY"),
        description="The key of that server; LM Studio itself takes any.",
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_also("anthropic_api_key", "ANTHROPIC_API_KEY"),
        description="The key for `anthropic:` models.",
    )
    anthropic_url: str | None = Field(
        default=None,
        validation_alias=_also("anthropic_url", "ANTHROPIC_BASE_URL"),
        description="Where `anthropic:` models answer, if not at Anthropic.",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_also("openai_api_key", "OPENAI_API_KEY"),
        description="The key for `openai:` models.",
    )
    openai_url: str | None = Field(
        default=None,
        validation_alias=_also("openai_url", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
        description="Where `openai:` models answer, if not at OpenAI (chat completions).",
    )
    google_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_also("google_api_key", "GOOGLE_API_KEY", "GEMINI_API_KEY"),
        description="The key for `google_genai:` models.",
    )

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; a value that cannot be used is one sentence, not a report."""
        try:
            return cls()
        except ValidationError as error:
            first = error.errors()[0]
            field = str(first["loc"][0])
            variable = field if field.isupper() else f"{PREFIX}{field}".upper()
            raise ConfigError(
                f"{variable} cannot be used: {first['msg']}", hint=f"change or unset {variable}"
            ) from error

    @field_validator("folder")
    @classmethod
    def _expand_home(cls, value: Path) -> Path:
        return value.expanduser()

    @field_validator("ollama_url")
    @classmethod
    def _complete_ollama_url(cls, value: str) -> str:
        return _ollama_url(value)

    @field_validator("lm_studio_url")
    @classmethod
    def _complete_lm_studio_url(cls, value: str) -> str:
        text = value.strip().rstrip("/")
        return text if urlsplit(text).path else f"{text}/v1"

    # ── answers ──

    def choice(self, role: Role) -> Choice:
        """The model of `role`, and which setting chose it."""
        own: str | None = getattr(self, role)
        if own:
            return Choice(own, f"{PREFIX}{role.upper()}")
        if role != "main":
            return Choice(self.choice("main").name, "the main model")
        return self._inherited()

    def _inherited(self) -> Choice:
        provider = self.deepagents_provider
        if provider is not None:
            return self._named_by_provider(provider)
        if self.ollama_name:
            return Choice(f"{OLLAMA}:{self.ollama_name}", "OLLAMA_MODEL_NAME")
        if self.lm_studio_name:
            return Choice(f"{LM_STUDIO}:{self.lm_studio_name}", "LM_STUDIO_MODEL_NAME")
        return Choice(DEMO_TOUR, "no model is set")

    def _named_by_provider(self, provider: str) -> Choice:
        known = {
            OLLAMA: ("OLLAMA_MODEL_NAME", self.ollama_name),
            LM_STUDIO: ("LM_STUDIO_MODEL_NAME", self.lm_studio_name),
        }
        if provider not in known:
            raise ConfigError(
                f"DEEPAGENTS_MODEL_PROVIDER is {provider!r}, which is neither ollama nor lm-studio",
                hint=f"name any other model in {PREFIX}MAIN, as provider:name",
            )
        variable, name = known[provider]
        if not name:
            raise ConfigError(
                f"DEEPAGENTS_MODEL_PROVIDER is {provider} and no model is named",
                hint=f"set {variable}, or {PREFIX}MAIN to {provider}:NAME",
            )
        return Choice(f"{provider}:{name}", f"DEEPAGENTS_MODEL_PROVIDER and {variable}")


def _ollama_url(value: str) -> str:
    """Make an address one can call out of what `OLLAMA_HOST` may hold: `host`, `:port`, a URL."""
    text = value.strip().rstrip("/")
    has_scheme = "://" in text
    parts = urlsplit(text if has_scheme else f"http://{text}")
    host = parts.hostname or "127.0.0.1"
    if host in {"0.0.0.0", "::"}:  # noqa: S104  # where a server listens is not where one calls it
        host = "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    user = f"{parts.username}:{parts.password or ''}@" if parts.username else ""
    port = parts.port or (None if has_scheme else _OLLAMA_PORT)
    return f"{parts.scheme}://{user}{host}{f':{port}' if port else ''}{parts.path}"
