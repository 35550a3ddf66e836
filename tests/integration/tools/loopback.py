"""Small real servers on loopback: one that answers as told, one that only counts, a DNS server."""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass
class Web:
    """An HTTP server: `answers` maps a path to raw bytes, or to a function of the request."""

    port: int = 0
    answers: dict[str, bytes | Callable[[str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    connections: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            self.asked.append(head)
            path = head.split(" ", 2)[1]
            answer = self.answers.get(path.partition("?")[0], response(b"", status="404 Not Found"))
            writer.write(answer(head) if callable(answer) else answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def web(host: str = "127.0.0.1"):
    """Serve on a free port."""
    here = Web()
    server = await asyncio.start_server(here.serve, host, 0)
    here.port = server.sockets[0].getsockname()[1]
    try:
        yield here
    finally:
        server.close()
        await server.wait_closed()


def response(
    body: bytes, *, kind: str = "text/html; charset=utf-8", status: str = "200 OK", **headers: str
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body


def redirect(target: str, status: str = "302 Found") -> bytes:
    return response(b"", status=status, Location=target)


class Names(asyncio.DatagramProtocol):
    """A DNS server in DNS's own words: each name has a list of answers, given in turn."""

    def __init__(self, answers: dict[str, list[list[str]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def connection_made(self, transport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += data[at] + 1
        name = ".".join(labels)
        self.asked.append(name)
        turns = self.answers.get(name, [[]])
        found = turns.pop(0) if len(turns) > 1 else turns[0]
        records = b"".join(_record(text) for text in found)
        head = data[:2] + struct.pack(">HHHHH", 0x8180, 1, len(found), 0, 0)
        self.transport.sendto(head + data[12 : at + 5] + records, address)


def _record(text: str) -> bytes:
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    packed = socket.inet_pton(family, text)
    kind = 28 if ":" in text else 1
    return b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(packed)) + packed


class WireResolver:
    """Resolves each name with a DNS server on a loopback port, without a cache."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def resolve(self, host: str, port: int) -> list[str]:
        question = b"".join(bytes([len(p)]) + p.encode() for p in host.rstrip(".").split("."))
        packet = struct.pack(">HHHHHH", 7, 0x0100, 1, 0, 0, 0) + question + b"\0\0\1\0\1"
        return await asyncio.to_thread(self._ask, packet)

    def _ask(self, packet: bytes) -> list[str]:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plug:
            plug.settimeout(5)
            plug.sendto(packet, ("127.0.0.1", self.port))
            data = plug.recv(4096)
        at = len(packet)
        found = []
        for _ in range(struct.unpack(">H", data[6:8])[0]):
            kind, _, _, size = struct.unpack(">HHIH", data[at + 2 : at + 12])
            family = socket.AF_INET6 if kind == 28 else socket.AF_INET
            found.append(socket.inet_ntop(family, data[at + 12 : at + 12 + size]))
            at += 12 + size
        return found


@asynccontextmanager
async def names(answers: dict[str, list[list[str]]]):
    """A DNS server and a resolver that asks it."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.create_datagram_endpoint(
        lambda: Names(answers), local_addr=("127.0.0.1", 0)
    )
    try:
        yield protocol, WireResolver(transport.get_extra_info("sockname")[1])
    finally:
        transport.close()
