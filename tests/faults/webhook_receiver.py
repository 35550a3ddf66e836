"""A receiver of webhooks on loopback: records what it gets, and fails or stalls as it is told."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks import Webhook

from bathysphere.core.cancellation import cancel_all
from bathysphere.engine.webhooks.signing import tenant_secret

MASTER = b"a secret of thirty-two characters"


@dataclass(frozen=True)
class Received:
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def json(self) -> Any:
        return json.loads(self.body)

    def verified(self, tenant: str = "alice") -> Any:
        """The body, if its signature is valid."""
        return Webhook(tenant_secret(MASTER, tenant)).verify(self.body, self.headers)


@dataclass
class Receiver:
    """Responds to `/ok`; stalls at `/slow`, and responds to others with the statuses given."""

    port: int = 0
    received: list[Received] = field(default_factory=list)
    statuses: dict[str, list[int]] = field(default_factory=dict)
    connections: int = 0
    handling: set[asyncio.Task[Any]] = field(default_factory=set)

    def url(self, path: str = "/ok") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def wait_for(self, count: int, path: str = "/ok", seconds: float = 20) -> list[Received]:
        """Wait until so many requests have arrived at a path."""
        async with asyncio.timeout(seconds):
            while len(found := [one for one in self.received if one.path == path]) < count:  # noqa: ASYNC110  # a test
                await asyncio.sleep(0.02)
        return found

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.handling.add(asyncio.current_task())
        with suppress(ConnectionError, asyncio.IncompleteReadError), closing(writer):
            request = await self._read(reader)
            self.received.append(request)
            if request.path.startswith("/slow"):
                await asyncio.sleep(60)
            planned = self.statuses.get(request.path, [])
            status = planned.pop(0) if planned else 200
            place = f"Location: {self.url('/elsewhere')}\r\n" if 300 <= status < 400 else ""
            writer.write(f"HTTP/1.1 {status} X\r\n{place}Content-Length: 0\r\n\r\n".encode())
            await writer.drain()

    async def _read(self, reader: asyncio.StreamReader) -> Received:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = (line.partition(": ") for line in head[1:] if line)
        headers = {name.lower(): value for name, _, value in pairs}
        body = await reader.readexactly(int(headers["content-length"]))
        return Received(head[0].split()[1], headers, body)


@asynccontextmanager
async def open_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.handle, "127.0.0.1", 0)
    receiver.port = server.sockets[0].getsockname()[1]
    others = [f"127.0.0.{number}" for number in range(2, 8)]  # each a receiver of its own
    beside = await asyncio.start_server(receiver.handle, others, receiver.port)
    try:
        yield receiver
    finally:
        server.close()
        beside.close()
        await cancel_all(receiver.handling)
