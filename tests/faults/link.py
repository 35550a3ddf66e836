"""A link between a worker and PostgreSQL that can be reset, stalled and dropped.

Each worker has its own link, so that one can lose the network while the others keep it.
"""

import asyncio
import contextlib
import socket
import struct
from typing import Self

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER with no time to linger: closing sends RST


class Link:
    """Listens on its own port and forwards bytes to the target and back."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._is_down = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self.reset()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self) -> None:
        """Reset every connection, like a restarting router."""
        for writer in list(self._writers):
            transport = writer.transport
            with contextlib.suppress(OSError, AttributeError):
                raw = transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            transport.abort()

    async def stall(self, seconds: float) -> None:
        """Hold back every byte for a while; connections stay open."""
        self._flows.clear()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._flows.set()

    async def drop(self, seconds: float) -> None:
        """Reset every connection and refuse new ones for a while."""
        self._is_down = True
        self.reset()
        try:
            await asyncio.sleep(seconds)
        finally:
            self._is_down = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_down:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            self._writers.add(sink)
            task = asyncio.create_task(self._carry(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._flows.wait()
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            self._writers.discard(sink)
            sink.close()
