"""Limit the size of request bodies, with or without a Content-Length header."""

import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.core.identity import Owner
from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.identity.identify import OWNER_KEY

UNIDENTIFIED_LIMIT = 64 * 1024
"""Body limit of unauthenticated requests, in bytes."""


class _TooLarge(Exception):  # stops reading a body; never leaves this module
    pass


class BodyLimit:
    """Refuses a body of more than `limit` bytes with 413, without buffering it."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit
        if not isinstance(scope.get(OWNER_KEY), Owner):
            limit = min(limit, UNIDENTIFIED_LIMIT)
        if _content_length(scope) > limit:
            await self._refuse(send, limit)
        else:
            await self._call_limited(scope, receive, send, limit)

    async def _call_limited(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        read = 0
        has_started = False

        async def receive_wrapper() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > limit:
                    raise _TooLarge
            return message

        async def send_wrapper(message: Message) -> None:
            nonlocal has_started
            # Drop the app's own error about the truncated body.
            if read > limit and not has_started:
                return
            has_started = True
            await send(message)

        with contextlib.suppress(_TooLarge):
            await self._app(scope, receive_wrapper, send_wrapper)
        if read > limit and not has_started:
            await self._refuse(send, limit)

    async def _refuse(self, send: Send, limit: int) -> None:
        await refuse(
            send,
            413,
            code="body_too_large",
            message=f"Request body exceeds {limit} bytes",
            hint="send less; the server's limit is BATHYSPHERE_MAX_BODY_BYTES",
            headers=[(b"connection", b"close")],
        )


def _content_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0
