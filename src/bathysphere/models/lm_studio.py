"""`lm-studio:NAME`: models of LM Studio, or another server with OpenAI-style chat completions."""

from typing import TYPE_CHECKING

from bathysphere.core.errors import ModelUnavailable, missing_extra
from bathysphere.models.check import ModelCheck, Probe, installed
from bathysphere.models.names import ModelName
from bathysphere.models.settings import ModelSettings

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

HINT = "start the server in LM Studio, or set LM_STUDIO_BASE_URL to its URL"


def chat_model(name: ModelName, settings: ModelSettings, *, retries: int) -> "BaseChatModel":
    """Build the client."""
    _require_package()
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=name.name,
        base_url=settings.lm_studio_url,
        api_key=settings.lm_studio_api_key,
        temperature=settings.temperature,
        timeout=settings.timeout_s,
        max_retries=retries,
        stream_usage=True,
        use_responses_api=False,
    )


async def check(name: ModelName, settings: ModelSettings, probe: Probe) -> ModelCheck:
    """Check that the server responds and lists the model."""
    _require_package()
    if name.name not in await found(settings, probe):
        raise ModelUnavailable(
            f"LM Studio at {settings.lm_studio_url} has no model {name.name}",
            hint=f"run `lms get {name.name}`, or choose one listed by `bathysphere models`",
        )
    return ModelCheck(
        name=str(name),
        usable=True,
        detail=f"LM Studio is running at {settings.lm_studio_url}",
    )


async def found(settings: ModelSettings, probe: Probe) -> list[str]:
    """List the server's models."""
    key = settings.lm_studio_api_key.get_secret_value()
    response = await probe.get(
        f"{settings.lm_studio_url.rstrip('/')}/models",
        server="LM Studio",
        hint=HINT,
        headers={"Authorization": f"Bearer {key}"},
    )
    return sorted(str(model["id"]) for model in response.get("data") or () if "id" in model)


def _require_package() -> None:
    if not installed("langchain_openai"):
        raise missing_extra("An `lm-studio:` model", "openai")
