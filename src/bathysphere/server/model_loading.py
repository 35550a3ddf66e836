"""Getting the operator's model ready, once a process, told step by step to whoever asks.

A GGUF file that is known by its hash is fetched where it is missing, and served; for any other
model, ready means that it can be reached as configured. Nobody can ask for another model than the
operator's: a download is not a stranger's to start.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Any

from bathysphere.core.errors import BathysphereError
from bathysphere.models.catalog import DOWNLOADS
from bathysphere.models.download import fetch
from bathysphere.models.llamacpp import SUFFIX
from bathysphere.models.names import LLAMACPP, parse
from bathysphere.models.resolve import check, resolve
from bathysphere.models.settings import ModelSettings
from bathysphere.server.errors import NotSupported

Progress = dict[str, Any]
_QUANT = re.compile(r"(?i)(?:^|[.\-_])(q\d\w*|f16|bf16|f32)(?:\.gguf)?$")


class ModelLoading:
    """The one loading of this process; started by the first who asks, followed by all."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._told: list[Progress] = []
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    @property
    def model_id(self) -> str:
        """The model that the operator chose."""
        return self._settings.choice("main").name

    async def follow(self, wanted: str | None = None) -> AsyncGenerator[Progress, None]:
        """Load, unless somebody did or does, and tell how it goes up to its end.

        Raises:
            NotSupported: Another model than the operator's is wanted.
        """
        if wanted not in (None, self.model_id):
            raise NotSupported(f"only {self.model_id} can be loaded", hint="the operator chose it")
        if self._task is None or (self._task.done() and self._told[-1]["status"] == "error"):
            self._told = []
            self._task = asyncio.create_task(self._load())
        return self._follow()

    async def _follow(self) -> AsyncGenerator[Progress, None]:
        told, seen = self._told, 0
        while not seen or told[seen - 1]["status"] not in ("ready", "error"):
            async with self._news:
                while len(told) == seen:
                    await self._news.wait()
            yield told[seen]
            seen += 1

    async def _load(self) -> None:
        try:
            await self._tell({"status": "loading", "progress": 0})
            await self._fetch()
            state = await check(self.model_id, self._settings)
            if not state.usable:
                await self._tell({"status": "error", "error": state.detail, "hint": state.hint})
                return
            await asyncio.to_thread(resolve, self.model_id, self._settings)
        except BathysphereError as error:
            await self._tell({"status": "error", "error": error.message, "hint": error.hint})
        else:
            await self._tell({"status": "ready", "progress": 100, "dtype": self._dtype()})

    async def _fetch(self) -> None:
        name = parse(self.model_id)
        known = DOWNLOADS.get(name.name) if name.provider == LLAMACPP else None
        if known is None:
            return
        target = self._settings.folder / f"{known.name}{SUFFIX}"
        loop = asyncio.get_running_loop()

        def progress(done: int, total: int | None) -> None:
            share = min(99, 100 * done // (total or known.size or 1))
            news = {"status": "downloading", "progress": share, "file": target.name}
            asyncio.run_coroutine_threadsafe(self._tell(news, only_new=True), loop)

        await asyncio.to_thread(fetch, known.url, target, sha256=known.sha256, progress=progress)

    async def _tell(self, news: Progress, *, only_new: bool = False) -> None:
        async with self._news:
            if only_new and self._told and self._told[-1] | news == self._told[-1]:
                return
            self._told.append({**news, "modelId": self.model_id})
            self._news.notify_all()

    def _dtype(self) -> str | None:
        found = _QUANT.search(parse(self.model_id).name)
        return found.group(1).lower() if found else None
