"""A stream that stays open: the app is called as a server would call it, part by part."""

import asyncio
import json
from types import TracebackType
from typing import Any, Self


class OpenStream:
    """One request whose answer is read as it comes. Use as an async context manager."""

    def __init__(
        self, app: Any, method: str, path: str, *, headers: dict[str, str], body: Any = None
    ) -> None:
        self._app = app
        self._request = json.dumps(body).encode() if body is not None else b""
        path, _, query = path.partition("?")
        names = {"content-type": "application/json", "host": "test", **headers}
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in names.items()],
            "server": ("test", 80),
            "client": ("127.0.0.1", 1),
            "state": {},
        }
        self._left = asyncio.Event()
        self._sent_body = False
        self.status: int | None = None
        self.text = ""
        self.is_complete = False
        """Whether the server said that there is no more; a cut answer never does."""
        self.is_over = asyncio.Event()
        self._began = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._serve())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def opened(self, seconds: float = 5) -> int:
        """The status, as soon as the answer begins and its first byte is there."""
        async with asyncio.timeout(seconds):
            await self._began.wait()
        assert self.status is not None
        return self.status

    async def close(self) -> None:
        """Leave, as a client that closes its connection."""
        self._left.set()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=5)
            self._task.cancel()

    async def _serve(self) -> None:
        try:
            await self._app(self._scope, self._receive, self._send)
        finally:
            self.is_over.set()
            self._began.set()

    async def _receive(self) -> dict[str, Any]:
        if not self._sent_body:
            self._sent_body = True
            return {"type": "http.request", "body": self._request, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.text += message.get("body", b"").decode(errors="replace")
            self.is_complete |= not message.get("more_body", False)
            self._began.set()
