"""A limit for request bodies that holds whether or not the client said how much is coming."""

import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.server.asgi.refusal import refuse


class _TooLarge(Exception):  # ends the reading of a body, never leaves this module
    pass


class BodyLimit:
    """Refuses a body of more than `limit` bytes with 413, without keeping any of it."""

    def __init__(self, app: ASGIApp, *, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif _declared(scope) > self._limit:
            await self._refuse(send)
        else:
            await self._counted(scope, receive, send)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        read = 0
        has_started = False

        async def counting() -> Message:
            nonlocal read
            message = await receive()
            if message["type"] == "http.request":
                read += len(message.get("body", b""))
                if read > self._limit:
                    raise _TooLarge
            return message

        async def sending(message: Message) -> None:
            nonlocal has_started
            # An app that answers the broken body with an error of its own is overruled.
            if read > self._limit and not has_started:
                return
            has_started = True
            await send(message)

        with contextlib.suppress(_TooLarge):
            await self._app(scope, counting, sending)
        if read > self._limit and not has_started:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        await refuse(
            send,
            413,
            code="body_too_large",
            message=f"The request is larger than {self._limit} bytes.",
            hint="send less; the operator sets the limit with BATHYSPHERE_MAX_BODY_BYTES",
            headers=[(b"connection", b"close")],
        )


def _declared(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0
