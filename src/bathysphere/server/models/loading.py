"""Load the operator's model once per process, and report the progress.

A GGUF file with a known hash is downloaded if missing, and served; a model that Ollama or LM Studio
does not have yet is pulled by them; any other model is ready when it can be reached as configured.
Only the operator's model can be loaded: callers must not be able to start arbitrary downloads.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

from bathysphere.core.errors import BathysphereError
from bathysphere.models import lm_studio, ollama
from bathysphere.models.check import Probe
from bathysphere.models.download import Progress as DownloadProgress
from bathysphere.models.download import fetch
from bathysphere.models.downloads import downloads
from bathysphere.models.llamacpp import SUFFIX
from bathysphere.models.names import LLAMACPP, LM_STUDIO, OLLAMA, ModelName, parse
from bathysphere.models.pulling import pull
from bathysphere.models.resolve import check, resolve
from bathysphere.models.settings import ModelSettings
from bathysphere.server.errors import NotSupported

Progress = dict[str, Any]
LISTS = {OLLAMA: ollama.found, LM_STUDIO: lm_studio.found}
"""Providers that pull their models themselves, with how to list those that they have."""
LAST = ("ready", "error")
"""The final states."""
_QUANT = re.compile(r"(?i)(?:^|[.\-_])(q\d\w*|f16|bf16|f32)(?:\.gguf)?$")


class ModelLoading:
    """The single model load of this process; started by the first caller, followed by all."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._load: _Load | None = None

    def use(self, settings: ModelSettings) -> None:
        """Load the model of these settings from now on; the load of another model is given up."""
        if self._load is not None:
            self._load.give_up()
        self._settings, self._load = settings, None

    @property
    def model_id(self) -> str:
        """The model chosen by the operator."""
        return self._settings.choice("main").name

    async def follow(self, wanted: str | None = None) -> AsyncGenerator[Progress, None]:
        """Load the model unless it is loaded or loading, and yield progress events to the end.

        Raises:
            NotSupported: A model other than the operator's was requested.
        """
        if wanted not in (None, self.model_id):
            raise NotSupported(
                f"Only {self.model_id} can be loaded", hint="the operator chooses the model"
            )
        if self._load is None or self._load.has_failed:
            self._load = _Load(self.model_id, self._settings)
        return self._load.follow()


class _Load:
    """One load of one model: its task, and the events so far."""

    def __init__(self, model_id: str, settings: ModelSettings) -> None:
        self._model_id = model_id
        self._settings = settings
        self._changed = asyncio.Condition()
        self._events: list[Progress] = []
        self._add({"status": "loading", "progress": 0})
        self._task = asyncio.create_task(self._run())

    @property
    def has_failed(self) -> bool:
        return self._task.done() and bool(self._events[-1]["status"] == "error")

    def give_up(self) -> None:
        """Stop, and tell those who follow."""
        self._task.cancel()
        event = {"status": "error", "error": "Another model was chosen", "hint": None}
        self._telling = asyncio.create_task(self._emit(event))

    async def follow(self) -> AsyncGenerator[Progress, None]:
        events, seen = self._events, 0
        while not seen or events[seen - 1]["status"] not in LAST:
            async with self._changed:
                while len(events) == seen:
                    await self._changed.wait()
            yield events[seen]
            seen += 1

    async def _run(self) -> None:
        try:
            await self._fetch()
            state = await check(self._model_id, self._settings)
            if not state.usable:
                await self._emit({"status": "error", "error": state.detail, "hint": state.hint})
                return
            await asyncio.to_thread(resolve, self._model_id, self._settings)
        except BathysphereError as error:
            await self._emit({"status": "error", "error": error.message, "hint": error.hint})
        except asyncio.CancelledError:
            raise  # by `give_up`, which tells
        else:
            await self._emit({"status": "ready", "progress": 100, "dtype": self._dtype()})
        finally:
            # Whatever failed, followers wait for a final event.
            if self._events[-1]["status"] not in LAST and not self._task.cancelling():
                hint = "try again; the server's log has the cause"
                event = {"status": "error", "error": "The model could not be loaded", "hint": hint}
                await self._emit(event)

    async def _fetch(self) -> None:
        name = parse(self._model_id)
        if name.provider in LISTS:
            await self._pull(name)
            return
        known = downloads(self._settings).get(name.name) if name.provider == LLAMACPP else None
        if known is None or known.url is None or known.sha256 is None:
            return
        target = self._settings.folder / f"{known.name}{SUFFIX}"
        progress = self._downloading(target.name, known.size)
        await asyncio.to_thread(fetch, known.url, target, sha256=known.sha256, progress=progress)

    async def _pull(self, name: ModelName) -> None:
        known = await LISTS[name.provider](self._settings, Probe())
        if name.name in known or f"{name.name}:latest" in known:
            return
        await pull(name, self._settings, progress=self._downloading(name.name, None))

    def _downloading(self, file: str, size: int | None) -> DownloadProgress:
        """A function that reports the progress of a download, from any thread."""
        loop = asyncio.get_running_loop()

        def progress(done: int, total: int | None) -> None:
            share = min(99, 100 * done // (total or size or max(done, 1)))
            event = {"status": "downloading", "progress": share, "file": file}
            asyncio.run_coroutine_threadsafe(self._emit(event, only_new=True), loop)

        return progress

    async def _emit(self, event: Progress, *, only_new: bool = False) -> None:
        async with self._changed:
            last = self._events[-1]
            if last["status"] in LAST or (only_new and last | event == last):
                return
            self._add(event)
            self._changed.notify_all()

    def _add(self, event: Progress) -> None:
        self._events.append({**event, "modelId": self._model_id})

    def _dtype(self) -> str | None:
        found = _QUANT.search(parse(self._model_id).name)
        return found.group(1).lower() if found else None
