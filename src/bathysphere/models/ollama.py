"""`ollama:NAME`: models that an Ollama server runs, over its own protocol."""

from typing import TYPE_CHECKING

from bathysphere.core.errors import ModelUnavailable, missing_extra
from bathysphere.models.check import ModelCheck, Probe, installed
from bathysphere.models.names import ModelName
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

HINT = "start it with `ollama serve`, or set OLLAMA_BASE_URL to where it runs"


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the client; `retries` is for clients that repeat calls themselves, which it cannot."""
    del retries
    _need_package()
    from langchain_ollama import ChatOllama

    return ChatOllama(
        model=name.name,
        base_url=settings.ollama_url,
        temperature=settings.temperature,
        client_kwargs={"timeout": settings.timeout_s},
    )


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """Usable when the server answers and has pulled the model."""
    _need_package()
    if not _has(name.name, await found(settings, probe)):
        raise ModelUnavailable(
            f"Ollama at {settings.ollama_url} has no model {name.name}",
            hint=f"ollama pull {name.name}",
        )
    return ModelCheck(
        name=str(name), usable=True, detail=f"Ollama answers at {settings.ollama_url}"
    )


async def found(settings: ModelSettings, probe: Probe) -> list[str]:
    """The models the server has."""
    url = f"{settings.ollama_url.rstrip('/')}/api/tags"
    answer = await probe.get(url, server="Ollama", hint=HINT)
    return sorted(str(model["name"]) for model in answer.get("models") or () if "name" in model)


def _has(name: str, names: list[str]) -> bool:
    return name in names or f"{name}:latest" in names


def _need_package() -> None:
    if not installed("langchain_ollama"):
        raise missing_extra("An `ollama:` model", "ollama")
