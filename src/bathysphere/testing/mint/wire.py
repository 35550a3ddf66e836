"""A faulty proxy to a mint that drops, cuts, delays and duplicates requests."""

import asyncio
import contextlib
from collections import Counter
from types import TracebackType
from typing import Literal, Self, TypeAlias, get_args

Fault: TypeAlias = Literal[
    "lose_request", "lose_response", "http_502", "http_429", "truncate", "delay", "duplicate"
]
FAULTS: tuple[Fault, ...] = get_args(Fault)
_ANSWERS = {
    "http_502": b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbad",
    "http_429": b"HTTP/1.1 429 Too Many\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
}


class FaultyWire:
    """Forwards one HTTP request per connection to the mint on `target`, and disrupts some.

    `spoil("lose_response", path="/v1/swap", times=1)` spoils the next request to that path; faults
    are used up in the order in which they were given.
    """

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[tuple[Fault, str, float]] = []
        self.seen: Counter[str] = Counter()
        """Number of requests per path."""
        self.spoiled: Counter[Fault] = Counter()
        self.port = 0

    @property
    def url(self) -> str:
        """The proxy's URL."""
        return f"http://127.0.0.1:{self.port}"

    def spoil(
        self, fault: Fault, *, path: str = "/v1/swap", times: int = 1, seconds: float = 0.2
    ) -> None:
        """Disrupt the next requests to a path."""
        self._faults += [(fault, path, seconds)] * times

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        for task in list(self._tasks):
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            request = await _message(reader)
            path = request.split(b" ", 2)[1].decode()
            self.seen[path] += 1
            await self._carry(request, path, writer)
        except (OSError, asyncio.IncompleteReadError, IndexError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _carry(self, request: bytes, path: str, writer: asyncio.StreamWriter) -> None:
        fault, seconds = self._next_fault(path)
        if fault == "lose_request":
            return
        if fault in _ANSWERS:
            writer.write(_ANSWERS[fault])
            await writer.drain()
            return
        if fault == "delay":
            await asyncio.sleep(seconds)
        answer = await self._forward(request)
        if fault == "duplicate":
            answer = await self._forward(request)
        if fault == "lose_response":
            return
        writer.write(answer[: len(answer) * 2 // 3] if fault == "truncate" else answer)
        await writer.drain()

    def _next_fault(self, path: str) -> tuple[Fault | None, float]:
        for number, (fault, where, seconds) in enumerate(self._faults):
            if path.startswith(where):
                del self._faults[number]
                self.spoiled[fault] += 1
                return fault, seconds
        return None, 0.0

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            writer.write(request)
            await writer.drain()
            return await _message(reader)
        finally:
            writer.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """Read one HTTP message with a length, as the last one of its connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head[:-4].split(b"\r\n") if not _is(line, b"connection")]
    length = next((int(line.split(b":")[1]) for line in lines if _is(line, b"content-length")), 0)
    body = await reader.readexactly(length)
    return b"\r\n".join([*lines, b"connection: close", b"", b""]) + body


def _is(line: bytes, name: bytes) -> bool:
    return line.lower().startswith(name + b":")
