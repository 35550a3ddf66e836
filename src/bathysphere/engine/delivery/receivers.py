"""Requests to receivers that people name: https, to public addresses, without redirects."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address

import httpx

from bathysphere.tools.addresses import origin_of
from bathysphere.tools.errors import FetchRefused
from bathysphere.tools.guard import GuardedTransport, Resolver


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceiverRules:
    """Which receivers are allowed, and how long one may take."""

    ports: tuple[int, ...] = (443,)
    allows_loopback: bool = False
    """Whether this machine may be a receiver, at any port and without TLS: for development."""
    timeout_seconds: float = 10.0


class Receivers:
    """Sends requests to receivers."""

    def __init__(self, rules: ReceiverRules, *, resolver: Resolver | None = None) -> None:
        self.rules = rules
        self._resolver = resolver
        self._public = GuardedTransport(ports=rules.ports, resolver=resolver)

    def check(self, url: str) -> httpx.URL:
        """Check and parse a URL; its host is not resolved.

        Raises:
            FetchRefused: It cannot be a receiver.
        """
        return self._transport(url).check(url)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Send a request and return the status of its response, whose body is not read.

        Raises:
            FetchRefused: The receiver is not allowed.
            httpx.HTTPError: It cannot be reached.
            TimeoutError: It did not respond in time.
        """
        seconds = self.rules.timeout_seconds
        request = httpx.Request(
            "POST",
            url,
            headers={"User-Agent": "Bathysphere/0.1", **headers},
            content=body,
            extensions={"timeout": httpx.Timeout(seconds).as_dict()},
        )
        transport = self._transport(url)
        try:
            async with asyncio.timeout(seconds):
                response = await transport.handle_async_request(request)
                await response.aclose()
        finally:
            if transport is not self._public:
                await transport.aclose()
        return response.status_code

    async def aclose(self) -> None:
        """Close the connections."""
        await self._public.aclose()

    def _transport(self, url: str) -> GuardedTransport:
        """The transport for a URL, after checking the URL."""
        transport = self._public
        if self.rules.allows_loopback and (origin := _loopback_origin(url)) is not None:
            transport = GuardedTransport(trusted=frozenset({origin}), resolver=self._resolver)
        elif transport.check(url).scheme != "https":
            raise FetchRefused("The URL must use https", reason="scheme")
        transport.check(url)
        return transport


def _loopback_origin(url: str) -> str | None:
    """The origin of a URL on this machine; names other than `localhost` are not."""
    try:
        parsed = httpx.URL(url)
        host = parsed.host
        is_loopback = host == "localhost" or ip_address(host).is_loopback
    except (httpx.InvalidURL, ValueError, TypeError):
        return None
    return origin_of(parsed) if is_loopback else None
