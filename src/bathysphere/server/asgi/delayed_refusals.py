"""Delay the responses to callers over a limit, so that retrying at once costs them time, not us.

A client that ignores `Retry-After` sends its next request when it has read the refusal. Answering
hundreds of them per second would slow down everyone else.
"""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

DELAY_SECONDS = 1.0
_MAX_DELAYED = 500
"""Refusals delayed at a time; further ones are sent at once, because each holds a connection."""


class DelayedRefusals:
    """Delays responses with status 429."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._delayed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 429:
                await self._delay()
            await send(message)

        await self._app(scope, receive, send_wrapper)

    async def _delay(self) -> None:
        if self._delayed >= _MAX_DELAYED:
            return
        self._delayed += 1
        try:
            await asyncio.sleep(DELAY_SECONDS)
        finally:
            self._delayed -= 1
