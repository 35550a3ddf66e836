"""Listening: a socket before anything else is started, and uvicorn without its own signals."""

import asyncio
import errno
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from bathysphere.core.errors import ConfigError

FIRST_PORT = 8123
_TRIES = 50


class Listener(uvicorn.Server):
    """A server that is stopped by its owner and not by a signal."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        await super().startup(sockets)
        self.is_listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket; without a port the first that is free from 8123 on.

    Raises:
        ConfigError: The address cannot be had.
    """
    wanted = range(FIRST_PORT, FIRST_PORT + _TRIES) if port is None else (port,)
    for candidate in wanted:
        try:
            return _bound(host, candidate)
        except OSError as error:
            if port is not None or error.errno != errno.EADDRINUSE:
                raise ConfigError(
                    f"cannot listen on {host} port {candidate}: {error.strerror or error}",
                    hint="choose another with --port, or leave --port out",
                ) from error
    raise ConfigError(
        f"the ports from {FIRST_PORT} to {FIRST_PORT + _TRIES - 1} are all taken",
        hint="choose another with --port",
    )


def _bound(host: str, port: int) -> socket.socket:
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
    """Where a browser on this machine finds it."""
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104  # where one listens is not where one calls
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listener(
    app: ASGIApp, *, trusted_proxies: tuple[str, ...] = (), stop_seconds: int = 3
) -> Listener:
    """A server for an app; logs and signals are its owner's."""
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(trusted_proxies),
        forwarded_allow_ips=list(trusted_proxies),
        timeout_graceful_shutdown=stop_seconds,
    )
    return Listener(config)
