"""Model settings, read once from the environment and passed down.

Our own variables start with `BATHYSPHERE_MODEL_`. Variables of older deep agents, Ollama, LM Studio
and the hosted providers are read too, so that existing setups work.
"""

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
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
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from bathysphere.core.errors import ConfigError
from bathysphere.core.settings import invalid_settings
from bathysphere.models.names import DEMO_TOUR, LM_STUDIO, OLLAMA, Role

PREFIX = "BATHYSPHERE_MODEL_"
OFFERED = "BATHYSPHERE_MODELS_OFFERED"
_OLLAMA_PORT = 11434


def _split(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _also(name: str, *variables: str) -> AliasChoices:
    """Read a field from our own variable first, then from other tools' variables."""
    return AliasChoices(f"{PREFIX}{name}".upper(), *variables)


class _ModelsByName(EnvSettingsSource):
    """Reads `BATHYSPHERE_MODEL_SUBAGENT_<NAME>`: the model of a single subagent."""

    def __call__(self) -> dict[str, Any]:
        start = f"{PREFIX}subagent_".lower()
        named = {name: value for name, value in self.env_vars.items() if name.startswith(start)}
        found = {subagent_key(name.removeprefix(start)): named[name] for name in named}
        return {"subagents": {name: model for name, model in found.items() if model}}


def subagent_key(name: str) -> str:
    """Return the normalized name of a subagent: `general-purpose` for `GENERAL_PURPOSE`."""
    return name.lower().replace("_", "-")


def subagent_variable(key: str) -> str:
    """Return the variable that sets this subagent's model."""
    return f"{PREFIX}SUBAGENT_{key}".upper().replace("-", "_")


class Choice(NamedTuple):
    """The model of a role and the setting that chose it."""

    name: str
    chosen_by: str
    """The setting, for display."""
    source: Literal["setting", "main", "default"] = "setting"
    """Whether the role has its own setting, uses the main model, or falls back to the default."""


class ModelSettings(BaseSettings):
    """Model settings of a process. The default is the scripted tour, never a paid model."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    # ── which model ──
    main: str | None = Field(default=None, description="The main agent's model, `provider:name`.")
    subagent: str | None = Field(default=None, description="The subagents' model (default: main).")
    subagents: dict[str, str] = Field(
        default_factory=dict,
        validation_alias=f"{PREFIX}SUBAGENT_<NAME>",
        description="Models of single subagents, by name (default: the subagents').",
    )
    summary: str | None = Field(default=None, description="Summarises history (default: main).")
    audit: str | None = Field(default=None, description="Audits plans and claims (default: main).")
    fallback: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(), description="Comma-separated models to try, in this order, when one fails."
    )

    offered: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)] = Field(
        default=(),
        validation_alias=OFFERED,
        description="Comma-separated models, each `provider:name` or `provider:name=label`, that "
        "people can choose from in a conversation.",
    )

    # ── how it is called ──
    profile: Literal["auto", "full", "lean"] = Field(
        default="auto",
        description="How much agents ask of the main model; `auto`: as `models test` found.",
    )
    temperature: NonNegativeFloat | None = Field(
        default=None, description="Sampling temperature (default: the provider's)."
    )
    timeout_s: PositiveFloat = Field(default=120, description="Seconds to wait for an answer.")
    retries: NonNegativeInt = Field(
        default=2, description="How often a call is retried after a transient error."
    )
    retry_delay_s: NonNegativeFloat = Field(
        default=1, description="Seconds before the first retry, doubled for each further one."
    )
    check_timeout_s: PositiveFloat = Field(
        default=2, description="Seconds to wait for a model server when checking models."
    )

    # ── local models ──
    folder: Path = Field(
        default=Path("~/.local/share/bathysphere/models"), description="Folder for GGUF files."
    )
    catalog: Path | None = Field(
        default=None, description="TOML file with more models that `models pull` knows."
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

    # ── other tools' variables ──
    deepagents_provider: str | None = Field(
        default=None,
        validation_alias="DEEPAGENTS_MODEL_PROVIDER",
        description="`ollama` or `lm-studio`: selects the main model if it is not set.",
    )
    ollama_name: str | None = Field(
        default=None,
        validation_alias="OLLAMA_MODEL_NAME",
        description="The Ollama model to use if the main model is not set.",
    )
    ollama_url: str = Field(
        default=f"http://127.0.0.1:{_OLLAMA_PORT}",
        validation_alias=_also("ollama_url", "OLLAMA_BASE_URL", "OLLAMA_HOST"),
        description="URL of Ollama.",
    )
    lm_studio_name: str | None = Field(
        default=None,
        validation_alias="LM_STUDIO_MODEL_NAME",
        description="The LM Studio model to use if the main model is not set.",
    )
    lm_studio_url: str = Field(
        default="http://127.0.0.1:1234/v1",
        validation_alias=_also("lm_studio_url", "LM_STUDIO_BASE_URL"),
        description="URL of LM Studio or another OpenAI-compatible server.",
    )
    lm_studio_api_key: SecretStr = Field(
        default=SecretStr("lm-studio"),
        validation_alias=_also("lm_studio_api_key", "LM_STUDIO_API_KEY"),
        description="API key of that server; LM Studio itself accepts any.",
    )
    anthropic_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_also("anthropic_api_key", "ANTHROPIC_API_KEY"),
        description="API key for `anthropic:` models.",
    )
    anthropic_url: str | None = Field(
        default=None,
        validation_alias=_also("anthropic_url", "ANTHROPIC_BASE_URL"),
        description="URL for `anthropic:` models (default: Anthropic's).",
    )
    openai_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_also("openai_api_key", "OPENAI_API_KEY"),
        description="API key for `openai:` models.",
    )
    openai_url: str | None = Field(
        default=None,
        validation_alias=_also("openai_url", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
        description="URL for `openai:` models (default: OpenAI's); uses chat completions.",
    )
    google_api_key: SecretStr | None = Field(
        default=None,
        validation_alias=_also("google_api_key", "GOOGLE_API_KEY", "GEMINI_API_KEY"),
        description="API key for `google_genai:` models.",
    )

    @classmethod
    def from_environment(cls) -> Self:
        """Read the settings; an invalid value raises a short `ConfigError`."""
        try:
            return cls()
        except ValidationError as error:
            raise invalid_settings(error, prefix=PREFIX, guide="docs/models.md") from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Also read the models of single subagents, whose names are not known in advance."""
        del dotenv_settings, file_secret_settings  # neither is used here
        return (init_settings, env_settings, _ModelsByName(settings_cls))

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

    # ── choosing a model ──

    def choice(self, role: Role) -> Choice:
        """Return the model of `role` and the setting that chose it."""
        own: str | None = getattr(self, role)
        if own:
            return Choice(own, f"{PREFIX}{role.upper()}")
        if role != "main":
            return Choice(self.choice("main").name, "the main model", "main")
        return self._inherited()

    def _inherited(self) -> Choice:
        provider = self.deepagents_provider
        if provider is not None:
            return self._named_by_provider(provider)
        if self.ollama_name:
            return Choice(f"{OLLAMA}:{self.ollama_name}", "OLLAMA_MODEL_NAME")
        if self.lm_studio_name:
            return Choice(f"{LM_STUDIO}:{self.lm_studio_name}", "LM_STUDIO_MODEL_NAME")
        return Choice(DEMO_TOUR, "no model is set", "default")

    def _named_by_provider(self, provider: str) -> Choice:
        known = {
            OLLAMA: ("OLLAMA_MODEL_NAME", self.ollama_name),
            LM_STUDIO: ("LM_STUDIO_MODEL_NAME", self.lm_studio_name),
        }
        if provider not in known:
            raise ConfigError(
                f"Invalid DEEPAGENTS_MODEL_PROVIDER: {provider!r} is not ollama or lm-studio",
                hint=f"for any other provider, set {PREFIX}MAIN to provider:name",
            )
        variable, name = known[provider]
        if not name:
            raise ConfigError(
                f"DEEPAGENTS_MODEL_PROVIDER is {provider}, but no model is set",
                hint=f"set {variable}, or {PREFIX}MAIN to {provider}:NAME",
            )
        return Choice(f"{provider}:{name}", f"DEEPAGENTS_MODEL_PROVIDER and {variable}")


def _ollama_url(value: str) -> str:
    """Normalize a value of `OLLAMA_HOST` (`host`, `:port` or a URL) to a URL to connect to."""
    text = value.strip().rstrip("/")
    has_scheme = "://" in text
    parts = urlsplit(text if has_scheme else f"http://{text}")
    host = parts.hostname or "127.0.0.1"
    if host in {"0.0.0.0", "::"}:  # noqa: S104  # an address to listen on, not to connect to
        host = "127.0.0.1"
    host = f"[{host}]" if ":" in host else host
    user = f"{parts.username}:{parts.password or ''}@" if parts.username else ""
    port = parts.port or (None if has_scheme else _OLLAMA_PORT)
    return f"{parts.scheme}://{user}{host}{f':{port}' if port else ''}{parts.path}"
