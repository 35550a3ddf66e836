"""Configured and local models: the data shown by `bathysphere models`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bathysphere.core.errors import BathysphereError
from bathysphere.models import hosted, llamacpp, lm_studio, ollama
from bathysphere.models.check import ModelCheck, Probe
from bathysphere.models.names import LLAMACPP, LM_STUDIO, OLLAMA, ROLES
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings, subagent_variable


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleReport:
    """The model of a role (or fallback), the setting that chose it, and its check."""

    role: str
    chosen_by: str
    check: ModelCheck
    is_main: bool = False
    """Whether the role uses the main model because it has none of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The local models of one provider, or why they could not be listed."""

    provider: str
    names: tuple[str, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Survey:
    """Everything `bathysphere models` shows."""

    roles: tuple[RoleReport, ...]
    found: tuple[Found, ...]
    suggestions: tuple[str, ...]


async def survey(settings: ModelSettings, *, probe: Probe | None = None) -> Survey:
    """Check every role and list local models, concurrently."""
    probe = probe or Probe(timeout_s=settings.check_timeout_s)
    providers = {
        OLLAMA: ollama.found,
        LM_STUDIO: lm_studio.found,
        LLAMACPP: llamacpp.found,
    }
    async with asyncio.TaskGroup() as group:
        roles = [
            group.create_task(_report(each, settings, probe)) for each in _configured(settings)
        ]
        found = [
            group.create_task(_list_models(provider, list_models, settings, probe))
            for provider, list_models in providers.items()
        ]
    return Survey(
        roles=tuple(task.result() for task in roles),
        found=tuple(task.result() for task in found),
        suggestions=tuple(hosted.suggestions(settings)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Configured:
    role: str
    name: str
    chosen_by: str
    is_main: bool = False
    error: BathysphereError | None = None


def _configured(settings: ModelSettings) -> list[_Configured]:
    configured = []
    for role in ROLES:
        try:
            name, chosen_by, source = settings.choice(role)
            is_main = source == "main"
            configured.append(
                _Configured(role=role, name=name, chosen_by=chosen_by, is_main=is_main)
            )
        except BathysphereError as error:
            configured.append(
                _Configured(role=role, name="-", chosen_by="the environment", error=error)
            )
    configured += [
        _Configured(role=f"subagent {key}", name=name, chosen_by=subagent_variable(key))
        for key, name in settings.subagents.items()
    ]
    return configured + [
        _Configured(role=f"fallback {number}", name=name, chosen_by="BATHYSPHERE_MODEL_FALLBACK")
        for number, name in enumerate(settings.fallback, start=1)
    ]


async def _report(configured: _Configured, settings: ModelSettings, probe: Probe) -> RoleReport:
    if configured.error is not None:
        result = ModelCheck.failed(configured.name, configured.error)
    else:
        result = await check(configured.name, settings, probe=probe)
    return RoleReport(
        role=configured.role,
        chosen_by=configured.chosen_by,
        check=result,
        is_main=configured.is_main,
    )


async def _list_models(
    provider: str,
    list_models: Callable[[ModelSettings, Probe], Awaitable[list[str]]],
    settings: ModelSettings,
    probe: Probe,
) -> Found:
    try:
        return Found(provider=provider, names=tuple(await list_models(settings, probe)))
    except BathysphereError as error:
        return Found(provider=provider, problem=error.message)
