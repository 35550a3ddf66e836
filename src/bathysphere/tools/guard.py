"""An HTTP transport that connects only to checked, public IP addresses.

A host name is resolved once per request; every resolved address must be public, and the connection
goes to one of these addresses, not to the name. This defeats DNS rebinding, where a name resolves
differently between the check and the connection. TLS is still verified against the name.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Protocol

import httpx

from bathysphere.tools.addresses import check_host, check_resolved, checked_url, origin_of, port_of
from bathysphere.tools.errors import FetchRefused

MAX_TRIES = 3


class Resolver(Protocol):
    """Resolves host names."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the IP addresses of a host."""
        ...


class SystemResolver:
    """The operating system's resolver."""

    async def resolve(self, host: str, port: int) -> list[str]:
        """Return the IP addresses of a host, in the system's order of preference."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise FetchRefused(f"DNS lookup failed for {host}", reason="no_address") from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class GuardedTransport(httpx.AsyncBaseTransport):
    """Checks the URL of each request and pins its connection.

    Args:
        ports: The allowed ports.
        trusted: Origins of the operator, such as their search engine, that are not checked.
        pinned: Host names mapped to one `ip:port`, unchecked: for a corpus server in tests.
        resolver: Resolves host names.
    """

    def __init__(
        self,
        *,
        ports: tuple[int, ...] = (80, 443),
        trusted: frozenset[str] = frozenset(),
        pinned: Mapping[str, str] | None = None,
        resolver: Resolver | None = None,
    ) -> None:
        self._ports = ports
        self._trusted = trusted
        self._pinned = dict(pinned or {})
        self._resolver = resolver or SystemResolver()
        # A kept-alive connection could be reused for another name with the same IP address, without
        # verifying TLS for that name, so none is kept. Environment proxies would undo the pinning.
        limits = httpx.Limits(max_connections=50, max_keepalive_connections=0)
        self._inner = httpx.AsyncHTTPTransport(
            verify=_tls(), limits=limits, trust_env=False, retries=0
        )

    def check(self, address: str) -> httpx.URL:
        """Check and parse a URL.

        Raises:
            FetchRefused: Its form or host is not allowed.
        """
        host = _host_of(address)
        if host in self._pinned:
            return checked_url(address, ports=self._ports, trusted=_every_origin(address))
        return checked_url(address, ports=self._ports, trusted=self._trusted)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request to a checked address."""
        url = self.check(str(request.url))
        refusals: list[httpx.ConnectError] = []
        for host, port in await self._targets(url):
            try:
                return await self._inner.handle_async_request(_pinned(request, url, host, port))
            except httpx.ConnectError as error:
                refusals.append(error)
        raise refusals[-1]

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _targets(self, url: httpx.URL) -> list[tuple[str, int]]:
        name, port = url.raw_host.decode("ascii"), port_of(url)
        if place := self._pinned.get(name):
            address, _, pinned_port = place.rpartition(":")
            return [(address, int(pinned_port))]
        if origin_of(url) in self._trusted:
            return [(name, port)]
        spelled = check_host(name)
        if spelled is not None:
            return [(str(spelled), port)]
        found = check_resolved(name, await self._resolver.resolve(name, port))
        return [(str(address), port) for address in found[:MAX_TRIES]]


@cache
def _tls() -> ssl.SSLContext:
    """The default TLS context, loaded once."""
    return httpx.create_ssl_context(trust_env=False)


def _pinned(request: httpx.Request, url: httpx.URL, host: str, port: int) -> httpx.Request:
    headers = [(key, value) for key, value in request.headers.raw if key.lower() != b"host"]
    default = 443 if url.scheme == "https" else 80
    name = url.raw_host.decode("ascii")
    shown = name if port_of(url) == default else f"{name}:{port_of(url)}"
    return httpx.Request(
        request.method,
        url.copy_with(host=host, port=port, fragment=None),
        headers=[(b"Host", shown.encode("ascii")), *headers],
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": name.removesuffix(".")},
    )


def _host_of(address: str) -> str:
    try:
        return httpx.URL(address).raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError, TypeError):
        return ""


def _every_origin(address: str) -> frozenset[str]:
    return frozenset({origin_of(httpx.URL(address))})
