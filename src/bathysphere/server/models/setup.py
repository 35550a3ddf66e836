"""Choose the model in the browser, on a server for the one person at this machine.

Other servers have no such object, and so none of its routes: there the operator chooses.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bathysphere.core.errors import BathysphereError
from bathysphere.models import llamacpp, lm_studio, ollama
from bathysphere.models.check import Probe, installed
from bathysphere.models.downloads import Download, downloads
from bathysphere.models.hosted import KNOWN
from bathysphere.models.names import DEMO_TOUR, LLAMACPP, LM_STUDIO, OLLAMA, parse
from bathysphere.models.resolve import check
from bathysphere.models.settings import ModelSettings
from bathysphere.models.stored_choice import (
    StoredChoice,
    is_key_set,
    is_model_set,
    read_choice,
    write_choice,
)
from bathysphere.server.errors import InvalidRequest

Use = Callable[[ModelSettings], Awaitable[None]]
"""Puts changed settings to use."""
_KEY = re.compile(r"[\x21-\x7e]{8,512}")
_HOSTED_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,199}")
_EMBEDDING = re.compile(r"embed|rerank", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Program:
    """A program that runs models on this machine."""

    provider: str
    title: str
    package: str
    extra: str
    find: Callable[[ModelSettings, Probe], Awaitable[list[str]]]


PROGRAMS = (
    _Program(
        provider=OLLAMA,
        title="Ollama",
        package="langchain_ollama",
        extra="ollama",
        find=ollama.found,
    ),
    _Program(
        provider=LM_STUDIO,
        title="LM Studio",
        package="langchain_openai",
        extra="openai",
        find=lm_studio.found,
    ),
    _Program(
        provider=LLAMACPP,
        title="Built in",
        package="xllamacpp",
        extra="local",
        find=llamacpp.found,
    ),
)


class ModelSetup:
    """The person's choice, the environment's, and what follows from both."""

    def __init__(self, environment: ModelSettings, path: Path) -> None:
        self._environment = environment
        self._path = path
        self._stored = read_choice(path)
        self._lock = asyncio.Lock()
        self._use: Use = _use_nothing
        self.settings = self._stored.apply(environment)
        """The settings in use."""

    def on_change(self, use: Use) -> None:
        """Call this with the settings whenever they change."""
        self._use = use

    async def view(self) -> dict[str, Any]:
        """What is chosen, and what there is to choose from. Of keys, only whether they are set."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._program(each)) for each in PROGRAMS]
        chosen = self.settings.choice("main")
        is_fixed = is_model_set(self._environment)
        return {
            "model": chosen.name,
            "fixed_by": chosen.chosen_by if is_fixed else None,
            "programs": [task.result() for task in tasks],
            "providers": [self._provider(name) for name in KNOWN],
        }

    async def found(self) -> list[str]:
        """The models that are on this machine now; empty if the environment chooses the model."""
        if is_model_set(self._environment):
            return []
        programs = (await self.view())["programs"]
        return [each["name"] for one in programs for each in one["models"] if each["is_here"]]

    async def choose(self, model: str) -> None:
        """Use this model from now on; the scripted tour is the absence of a choice.

        Raises:
            InvalidRequest: The environment chooses the model, or this one cannot be used.
        """
        async with self._lock:
            if is_model_set(self._environment):
                variable = self._environment.choice("main").chosen_by
                raise InvalidRequest(
                    f"The model is set by {variable}", hint="remove the variable and restart"
                )
            await self._check(model)
            stored = None if model == DEMO_TOUR else model
            await self._change(replace(self._stored, model=stored))

    async def set_key(self, provider: str, key: SecretStr | None) -> None:
        """Store a provider's key, or remove it.

        Raises:
            InvalidRequest: There is no such provider, its key is set by the environment, or this
                one cannot be a key.
        """
        if provider not in KNOWN:
            raise InvalidRequest(f"Unknown provider. Available: {', '.join(KNOWN)}")
        if is_key_set(provider, self._environment):
            raise InvalidRequest(
                f"The key is set by {KNOWN[provider].variable}",
                hint="remove the variable and restart",
            )
        if key is not None and not _KEY.fullmatch(key.get_secret_value()):
            raise InvalidRequest(
                "This is not an API key", hint="copy it again, without spaces or line breaks"
            )
        async with self._lock:
            keys = {name: one for name, one in self._stored.keys.items() if name != provider}
            stored = replace(self._stored, keys=keys if key is None else {**keys, provider: key})
            if key is None and (stored.model or "").startswith(f"{provider}:"):
                stored = replace(stored, model=None)
            await self._change(stored)

    async def _change(self, stored: StoredChoice) -> None:
        """Write the choice and use it; if it cannot be used, everything stays as it was."""
        before = self._stored
        settings = stored.apply(self._environment)
        await asyncio.to_thread(write_choice, self._path, stored)
        try:
            await self._use(settings)
        except BaseException:
            await asyncio.to_thread(write_choice, self._path, before)
            raise
        self._stored, self.settings = stored, settings

    async def _check(self, model: str) -> None:
        """Refuse what is neither here, nor in the catalogue, nor a provider's with a key."""
        try:
            name = parse(model)
        except BathysphereError as error:
            raise InvalidRequest(error.message, hint=error.hint) from error
        if model == DEMO_TOUR or (name.provider in KNOWN and _HOSTED_NAME.fullmatch(name.name)):
            await self._require_usable(model)
            return
        program = next((each for each in PROGRAMS if each.provider == name.provider), None)
        if program is None:
            raise InvalidRequest("Unknown provider of models")
        known = await self._program(program)
        by_name = {each["name"]: each for each in known["models"]}
        if model not in by_name:
            raise InvalidRequest(
                f"{program.title} has no such model", hint="choose one of the list"
            )
        if by_name[model]["is_here"]:
            await self._require_usable(model)

    async def _require_usable(self, model: str) -> None:
        state = await check(model, self.settings, probe=self._probe())
        if not state.usable:
            raise InvalidRequest(state.detail, hint=state.hint)

    async def _program(self, program: _Program) -> dict[str, Any]:
        """A program with its models: those it has first, then those it can fetch."""
        problem = None
        if not installed(program.package):
            problem = f'pip install "bathysphere[{program.extra}]"'
        try:
            found = await program.find(self.settings, self._probe())
            is_running = problem is None or program.provider != LLAMACPP
        except BathysphereError:
            found, is_running = [], False
        here = [name for name in found if not _EMBEDDING.search(name)]
        fetched = {name.removesuffix(":latest") for name in here} | set(here)
        offers = [
            each
            for each in downloads(self.settings).values()
            if each.provider == program.provider and not each.for_tests
        ]
        by_name = {each.name: each for each in offers}
        models = [_model(program.provider, name, by_name.get(name), is_here=True) for name in here]
        if is_running:
            models += [
                _model(program.provider, each.name, each, is_here=False)
                for each in offers
                if each.name not in fetched
            ]
        return {
            "provider": program.provider,
            "title": program.title,
            "is_running": is_running,
            "install": problem,
            "models": models,
        }

    def _provider(self, name: str) -> dict[str, Any]:
        known = KNOWN[name]
        source = "environment" if is_key_set(name, self._environment) else "stored"
        is_set = is_key_set(name, self.settings)
        return {
            "provider": name,
            "title": known.title,
            "example": known.example,
            "key": source if is_set else None,
            "install": None
            if installed(known.package)
            else f'pip install "bathysphere[{known.extra or name}]"',
        }

    def _probe(self) -> Probe:
        return Probe(timeout_s=self.settings.check_timeout_s)


def _model(provider: str, name: str, known: Download | None, *, is_here: bool) -> dict[str, Any]:
    return {
        "name": f"{provider}:{name}",
        "is_here": is_here,
        "size": known.size if known else None,
        "licence": known.licence if known else None,
        "about": known.about if known else "",
    }


async def _use_nothing(settings: ModelSettings) -> None:
    """Nobody has asked to be told."""
