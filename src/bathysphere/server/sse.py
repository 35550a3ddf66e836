"""Server-sent events as a pure ASGI response: cheap to hold open, quick to notice a lost client.

One task writes, one waits for the client to leave and sends a comment when nothing else was sent
for a while, so that both sides notice a dead connection.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}
_BEAT = b": beat\n\n"


def frame(data: bytes, *, event: str = "message", id: int | str | None = None) -> bytes:
    """One event; `data` is one line."""
    head = f"id: {id}\nevent: {event}\n" if id is not None else f"event: {event}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


class EventStream(Response):
    """Sends what a generator gives, until it ends or the client leaves."""

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        heartbeat: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._chunks = chunks
        self._heartbeat = heartbeat
        self._is_quiet = True
        self.status_code = 200
        self.background = None
        self.body = b""
        self.init_headers({**_HEADERS, **(headers or {})})
        del self.headers["content-length"]

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        watcher = asyncio.create_task(self._watch(asyncio.current_task(), receive, send))
        try:
            async with aclosing(self._chunks):
                async for chunk in self._chunks:
                    self._is_quiet = False
                    await send(_part(chunk))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            if not watcher.done() or watcher.cancelled():
                raise
            self._uncancel()
        finally:
            watcher.cancel()

    async def _watch(self, writer: Any, receive: Receive, send: Send) -> None:
        # Proxies and clients wait for the first byte before they say that the stream is open.
        if self._is_quiet:
            await send(_part(_BEAT))
        while True:
            try:
                async with asyncio.timeout(self._heartbeat):
                    message = await receive()
            except TimeoutError:
                if self._is_quiet:
                    await send(_part(_BEAT))
                self._is_quiet = True
                continue
            if message["type"] == "http.disconnect":
                break
        writer.cancel()

    @staticmethod
    def _uncancel() -> None:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()


def _part(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}
