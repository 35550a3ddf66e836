"""Server-sent events as a pure ASGI response.

One task writes; another waits for the client to disconnect and sends a comment when the stream has
been silent for a while, so that both sides notice a dead connection. At each heartbeat the caller
is identified again: a revoked key, an expired token or a lost membership ends the stream, and so
do its maximum duration and the move of its tenant to another cell.

Such a stream is cut: the connection closes before the response is complete. LangGraph's clients
treat a complete response as the end of the events, and reconnect after a cut one with their current
credential.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from bathysphere.core.errors import CallerError, UpstreamError

_log = logging.getLogger(__name__)

_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
}
_HEARTBEAT = b": beat\n\n"
_MAX_FAILURES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamRules:
    """Heartbeat interval, maximum duration and authorization check of a stream."""

    heartbeat_seconds: float
    max_seconds: float
    check: Callable[[], Awaitable[None]]
    """Raises `CallerError` when the caller may no longer read the stream."""
    until_left: Callable[[], Awaitable[None]] | None = None
    """Returns when the tenant is leaving its cell; None if there is only one."""

    def with_check(self, also: Callable[[], Awaitable[object]]) -> "StreamRules":
        """Return these rules with an additional check."""

        async def check() -> None:
            await self.check()
            await also()

        return replace(self, check=check)


def frame(data: bytes, *, event: str = "message", id: int | str | None = None) -> bytes:
    """Encode one event; `data` must be a single line."""
    head = f"id: {id}\nevent: {event}\n" if id is not None else f"event: {event}\n"
    return b"%bdata: %b\n\n" % (head.encode(), data)


class EventStream(Response):
    """Streams a generator until it ends, the client disconnects or the rules cut it."""

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        rules: StreamRules,
        headers: Mapping[str, str] | None = None,
        on_disconnect: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self._on_disconnect = on_disconnect
        self._chunks = chunks
        self._rules = rules
        self._is_quiet = True
        self.status_code = 200
        self.background = None
        self.body = b""
        self.init_headers({**_HEADERS, **(headers or {})})
        del self.headers["content-length"]

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        writer = asyncio.current_task()
        watchers = [asyncio.create_task(self._watch(writer, receive, send))]
        if self._rules.until_left is not None:
            cutting = self._cut_after(self._rules.until_left, writer)
            watchers.append(asyncio.create_task(cutting))
        try:
            async with aclosing(self._chunks):
                async for chunk in self._chunks:
                    self._is_quiet = False
                    await send(_chunk(chunk))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            finished = [task for task in watchers if task.done() and not task.cancelled()]
            if not finished:
                raise
            self._uncancel(len(finished))
        except CallerError as error:  # the resource was deleted, or now has another owner
            _log.debug("Stream cut: %s", error.code)
        except (UpstreamError, psycopg.Error) as error:
            # The response has started, so no handler can report this; the client reconnects.
            _log.warning("Stream cut: %s", error, exc_info=error)
        except Exception:
            _log.exception("Stream failed")
            raise
        finally:
            for task in watchers:
                task.cancel()

    async def _watch(self, writer: Any, receive: Receive, send: Send) -> None:
        # Proxies and clients wait for the first byte before they report the stream as open.
        if self._is_quiet:
            await send(_chunk(_HEARTBEAT))
        ends_at = asyncio.get_running_loop().time() + self._rules.max_seconds
        failures = 0
        while failures < _MAX_FAILURES:
            left = ends_at - asyncio.get_running_loop().time()
            if left <= 0:
                break
            try:
                async with asyncio.timeout(min(self._rules.heartbeat_seconds, left)):
                    message = await receive()
            except TimeoutError:
                if self._is_quiet:
                    await send(_chunk(_HEARTBEAT))
                self._is_quiet = True
                try:
                    await self._rules.check()
                    failures = 0
                except UpstreamError:  # the caller cannot be identified right now
                    failures += 1
                except CallerError:
                    break
                continue
            if message["type"] == "http.disconnect":
                if self._on_disconnect is not None:
                    await self._on_disconnect()
                break
        writer.cancel()

    @staticmethod
    async def _cut_after(until_left: Callable[[], Awaitable[None]], writer: Any) -> None:
        await until_left()
        writer.cancel()

    @staticmethod
    def _uncancel(times: int) -> None:
        if (task := asyncio.current_task()) is not None:
            for _ in range(times):
                task.uncancel()


def _chunk(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}
