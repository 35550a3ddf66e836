"""List the configured models: names, whether they are local, whether they are usable."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from bathysphere.core.errors import BathysphereError
from bathysphere.models.names import DEMO, LLAMACPP, LM_STUDIO, OLLAMA, ROLES, parse
from bathysphere.models.profiles import profile_of
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings

_CHECK_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """The model configured for a role."""

    role: str
    name: str
    provider: str
    is_local: bool
    """Whether its input stays on the server's machine."""
    is_demo: bool
    is_usable: bool
    detail: str
    hint: str | None
    profile: str
    """How much agents ask of it: `full` or `lean`."""
    trust: str | None
    """What it can be trusted with, if it was tested."""

    def json(self) -> dict[str, Any]:
        """The card as JSON."""
        return asdict(self)


ListModels = Callable[[], Awaitable[list[ModelCard]]]


def model_lister(settings: ModelSettings) -> ListModels:
    """Return a function that checks the configured models on each call."""

    async def list_models() -> list[ModelCard]:
        names = {settings.choice(role).name for role in ROLES}
        async with asyncio.TaskGroup() as group:
            checks = {name: group.create_task(_card("", name, settings)) for name in names}
        cards = {name: task.result() for name, task in checks.items()}
        return [_for_role(role, cards[settings.choice(role).name]) for role in ROLES]

    return list_models


def _for_role(role: str, card: ModelCard) -> ModelCard:
    return ModelCard(**{**asdict(card), "role": role})


async def _card(role: str, name: str, settings: ModelSettings) -> ModelCard:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            result = await check(name, settings)
        usable, detail, hint = result.usable, result.detail, result.hint
    except TimeoutError:
        usable, detail, hint = False, "The model's server does not respond", "try again in a moment"
    try:
        provider = parse(name).provider
    except BathysphereError:
        provider = ""
    choice = profile_of(name, settings)
    return ModelCard(
        role=role,
        name=name,
        provider=provider,
        is_local=_is_local(provider, settings),
        is_demo=provider == DEMO,
        is_usable=usable,
        detail=detail,
        hint=hint,
        profile=choice.profile,
        trust=choice.trust,
    )


def _is_local(provider: str, settings: ModelSettings) -> bool:
    if provider in (DEMO, LLAMACPP):
        return True
    addresses = {
        OLLAMA: settings.ollama_url,
        LM_STUDIO: settings.lm_studio_url,
        "openai": settings.openai_url,
        "anthropic": settings.anthropic_url,
    }
    host = urlsplit(addresses.get(provider) or "").hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
