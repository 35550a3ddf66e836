"""List the configured models: names, whether they are local, whether they are usable."""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from bathysphere.core.errors import BathysphereError
from bathysphere.models.names import DEMO, LLAMACPP, LM_STUDIO, OLLAMA, ROLES, parse
from bathysphere.models.offered import OfferedModel
from bathysphere.models.prices import Price, all_prices
from bathysphere.models.profiles import profile_of
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings

OFFERED_ROLE = "offered"
"""The role of models that people can choose for a conversation."""
_CHECK_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCard:
    """The model configured for a role, or offered for conversations."""

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
    label: str | None = None
    """What people see of a model that they can choose."""
    price: Price | None = None
    agents: tuple[str, ...] = ()
    """The agents that can be asked with it, if it can be chosen."""

    def json(self) -> dict[str, Any]:
        """The card as JSON."""
        price = self.price.model_dump() if self.price is not None else None
        return asdict(self) | {"price": price}


ListModels = Callable[[], Awaitable[list[ModelCard]]]


async def list_cards(
    settings: ModelSettings, offered: Sequence[OfferedModel] = (), agents: Iterable[str] = ()
) -> list[ModelCard]:
    """Check the models of all roles, then those that people can choose, each with its price."""
    by_role = {role: settings.choice(role).name for role in ROLES}
    names = {*by_role.values(), *(each.name for each in offered)}
    async with asyncio.TaskGroup() as group:
        checks = {name: group.create_task(_card("", name, settings)) for name in names}
    cards = {name: task.result() for name, task in checks.items()}
    prices = all_prices(settings) if offered else {}
    return [
        *(_for_role(role, cards[name]) for role, name in by_role.items()),
        *(
            replace(
                cards[name],
                role=OFFERED_ROLE,
                label=label,
                price=prices.get(name),
                agents=tuple(sorted(agents)),
            )
            for name, label in offered
        ),
    ]


def _for_role(role: str, card: ModelCard) -> ModelCard:
    return replace(card, role=role)


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
