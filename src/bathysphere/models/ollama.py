"""`ollama:NAME`: models of an Ollama server, over its native API."""

from typing import TYPE_CHECKING

from bathysphere.core.errors import ModelUnavailable, missing_extra
from bathysphere.models.check import ModelCheck, Probe, installed
from bathysphere.models.names import ModelName
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

HINT = "start it with `ollama serve`, or set OLLAMA_BASE_URL to its URL"


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the client; it cannot retry by itself, so `retries` is ignored."""
    del retries
    _require_package()
    from langchain_ollama import ChatOllama

    return ChatOllama(
        model=name.name,
        base_url=settings.ollama_url,
        temperature=settings.temperature,
        client_kwargs={"timeout": settings.timeout_s},
    )


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """Check that the server responds and has pulled the model."""
    _require_package()
    if not _has(name.name, await found(settings, probe)):
        raise ModelUnavailable(
            f"Ollama at {settings.ollama_url} has no model {name.name}",
            hint=f"run `ollama pull {name.name}`",
        )
    return ModelCheck(
        name=str(name), usable=True, detail=f"Ollama is running at {settings.ollama_url}"
    )


async def found(settings: ModelSettings, probe: Probe) -> list[str]:
    """List the server's models."""
    url = f"{settings.ollama_url.rstrip('/')}/api/tags"
    response = await probe.get(url, server="Ollama", hint=HINT)
    return sorted(str(model["name"]) for model in response.get("models") or () if "name" in model)


def _has(name: str, names: list[str]) -> bool:
    return name in names or f"{name}:latest" in names


def _require_package() -> None:
    if not installed("langchain_ollama"):
        raise missing_extra("An `ollama:` model", "ollama")
