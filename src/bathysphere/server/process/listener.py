"""Listening sockets, and a uvicorn server without signal handlers."""

import asyncio
import errno
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from bathysphere.core.errors import ConfigError
from bathysphere.server.process.client_deadlines import Deadlines, protocol_with

FIRST_PORT = 8123
_TRIES = 50


class Listener(uvicorn.Server):
    """A uvicorn server that its owner stops, not a signal."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting requests, then set `is_listening`."""
        await super().startup(sockets)
        self.is_listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


def listen(host: str, port: int | None, *, flag: str = "--port") -> socket.socket:
    """Open a listening socket; without a port, the first free one from 8123.

    Args:
        host: The address to bind.
        port: The port; None to search for a free one.
        flag: The option that sets the port, for the hint.

    Raises:
        ConfigError: The address cannot be bound.
    """
    ports = range(FIRST_PORT, FIRST_PORT + _TRIES) if port is None else (port,)
    for candidate in ports:
        try:
            return _bind(host, candidate)
        except OSError as error:
            if port is not None or error.errno != errno.EADDRINUSE:
                raise ConfigError(
                    f"Cannot listen on {host} port {candidate}: {error.strerror or error}",
                    hint=f"choose another port with {flag}, or omit {flag}",
                ) from error
    raise ConfigError(
        f"Ports {FIRST_PORT} to {FIRST_PORT + _TRIES - 1} are all in use",
        hint="choose another port with --port",
    )


def _bind(host: str, port: int) -> socket.socket:
    family, kind, proto, _, address = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM
    )[0]
    listening = socket.socket(family, kind, proto)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError:
        listening.close()
        raise
    listening.setblocking(False)
    return listening


def url_of(listening: socket.socket) -> str:
    """The URL of a socket for a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104  # a wildcard address cannot be called
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listener(
    app: ASGIApp,
    *,
    trusted_proxies: tuple[str, ...] = (),
    stop_seconds: int = 3,
    deadlines: Deadlines | None = None,
    max_connections: int | None = None,
) -> Listener:
    """Create a server for an app; its owner handles logs and signals."""
    logging.getLogger("uvicorn.error").addFilter(_is_relevant)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=stop_seconds,
        http=protocol_with(deadlines or Deadlines()),
        limit_concurrency=max_connections,
    )
    return Listener(config)


def _is_relevant(record: logging.LogRecord) -> bool:
    """Drop the log line about a stream that was cut on purpose (see `server.sse`)."""
    return "without completing response" not in str(record.msg)
