"""Hosted models: `anthropic:`, `openai:`, `google_genai:`, and every provider LangChain supports.

The three providers in `KNOWN` get their key from our settings and are checked without a call. Any
other provider of `init_chat_model` is built by LangChain, which reads that provider's own
variables; its errors are reported as `ModelUnavailable`.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from bathysphere.core.errors import ModelUnavailable, missing_extra
from bathysphere.models.check import ModelCheck, Probe, installed
from bathysphere.models.names import ModelName
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, kw_only=True, slots=True)
class Hosted:
    """A supported provider: its title, package, and the settings of its key and URL."""

    title: str
    package: str
    key: str
    variable: str
    url: str | None = None
    extra: str | None = None
    example: str


KNOWN = {
    "anthropic": Hosted(
        title="Anthropic",
        package="langchain_anthropic",
        key="anthropic_api_key",
        variable="ANTHROPIC_API_KEY",
        url="anthropic_url",
        example="anthropic:claude-sonnet-4-6",
    ),
    "openai": Hosted(
        title="OpenAI",
        package="langchain_openai",
        key="openai_api_key",
        variable="OPENAI_API_KEY",
        url="openai_url",
        extra="openai",
        example="openai:gpt-5.5",
    ),
    "google_genai": Hosted(
        title="Google",
        package="langchain_google_genai",
        key="google_api_key",
        variable="GOOGLE_API_KEY",
        example="google_genai:gemini-3.5-flash",
    ),
}


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the client of a hosted model."""
    known = KNOWN.get(name.provider)
    options: dict[str, Any] = {}
    if settings.temperature is not None:
        options["temperature"] = settings.temperature
    if known is not None:
        options |= _options(name, known, settings)
        options |= {"timeout": settings.timeout_s, "max_retries": retries}
    return _init(name, options)


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """Check that the package is installed and the key is set; the key is not tried."""
    del probe
    known = KNOWN.get(name.provider)
    if known is None:
        chat_model(name, settings, retries=0)
        return ModelCheck(name=str(name), usable=True, detail="LangChain can build it")
    _options(name, known, settings)
    return ModelCheck(name=str(name), usable=True, detail=f"API key for {known.title} is set")


def suggestions(settings: ModelSettings) -> list[str]:
    """Suggest a model of each provider whose key is set."""
    return [known.example for known in KNOWN.values() if getattr(settings, known.key)]


def _options(name: ModelName, known: Hosted, settings: ModelSettings) -> dict[str, Any]:
    if not installed(known.package):
        raise missing_extra(f"An `{name.provider}:` model", known.extra or name.provider)
    key: SecretStr | None = getattr(settings, known.key)
    if key is None:
        raise ModelUnavailable(
            f"{name} needs an API key ({known.variable})",
            hint=f"set {known.variable}, or choose another model (`bathysphere models`)",
        )
    options: dict[str, Any] = {"api_key": key}
    url = getattr(settings, known.url) if known.url else None
    if url:
        options["base_url"] = url
        if name.provider == "openai":
            # OpenAI-compatible servers rarely have the Responses API.
            options["use_responses_api"] = False
    return options


def _init(name: ModelName, options: dict[str, Any]) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model

    try:
        model: BaseChatModel = init_chat_model(name.name, model_provider=name.provider, **options)
    except ImportError as error:
        raise ModelUnavailable(
            f"{name} needs a package that is not installed", hint=_install_hint(error)
        ) from error
    except Exception as error:  # each provider has its own exceptions
        raise _cannot_build(name, error) from error
    return model


def _install_hint(error: ImportError) -> str:
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    package = (cause.name or "").partition(".")[0].replace("_", "-")
    return f"pip install {package}" if package else "see LangChain's page for the provider"


def _cannot_build(name: ModelName, error: Exception) -> ModelUnavailable:
    reason = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return ModelUnavailable(
        f"Cannot set up {name}: {reason[:200] or type(error).__name__}",
        hint="check the provider's name, and its API key (see its LangChain page)",
    )
