"""Which models answer here: their names, whether they are local, whether they can be used."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from bathysphere.core.errors import BathysphereError
from bathysphere.models.names import DEMO, LLAMACPP, LM_STUDIO, OLLAMA, ROLES, parse
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings

_CHECK_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """The model of a role."""

    role: str
    name: str
    provider: str
    is_local: bool
    """Whether what is sent to it stays on the server's machine."""
    is_demo: bool
    is_usable: bool
    detail: str
    hint: str | None

    def json(self) -> dict[str, Any]:
        """The card as it is sent."""
        return asdict(self)


Look = Callable[[], Awaitable[list[ModelCard]]]


def look_at(settings: ModelSettings) -> Look:
    """A function that looks at the models of the settings, each time it is called."""

    async def look() -> list[ModelCard]:
        names = {settings.choice(role).name for role in ROLES}
        async with asyncio.TaskGroup() as group:
            checks = {name: group.create_task(_card("", name, settings)) for name in names}
        cards = {name: task.result() for name, task in checks.items()}
        return [_of(role, cards[settings.choice(role).name]) for role in ROLES]

    return look


def _of(role: str, card: ModelCard) -> ModelCard:
    return ModelCard(**{**asdict(card), "role": role})


async def _card(role: str, name: str, settings: ModelSettings) -> ModelCard:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            found = await check(name, settings)
        usable, detail, hint = found.usable, found.detail, found.hint
    except TimeoutError:
        usable, detail, hint = False, "the model's server does not answer", "try again in a moment"
    try:
        provider = parse(name).provider
    except BathysphereError:
        provider = ""
    return ModelCard(
        role=role,
        name=name,
        provider=provider,
        is_local=_is_local(provider, settings),
        is_demo=provider == DEMO,
        is_usable=usable,
        detail=detail,
        hint=hint,
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
