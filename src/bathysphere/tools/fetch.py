"""Fetch a page from the public web, under guard.

Each address, the first and every redirect's, is checked before and after it is looked up; bytes
and seconds are bounded, and bytes are counted as they are unpacked. No cookies, no credentials.
"""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import urljoin

import httpx

from bathysphere.tools.errors import FetchFailed, FetchRefused
from bathysphere.tools.guard import GuardedTransport, Resolver

PAGE_TYPES = (
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "text/markdown",
    "text/csv",
    "application/pdf",
)
JSON_TYPES = ("application/json",)
REDIRECTS = frozenset({301, 302, 303, 307, 308})

Visit = Callable[[str], Awaitable[None]]
"""Asked before each address, the first and every redirect's; raises where it may not be visited."""


@dataclass(frozen=True)
class FetchRules:
    """What fetching may do. `trusted` and `pinned` open doors: nothing is in them by default."""

    ports: tuple[int, ...] = (80, 443)
    max_bytes: int = 5_000_000
    timeout_s: float = 20.0
    max_redirects: int = 5
    user_agent: str = "Bathysphere/0.1 (research agent)"
    trusted: frozenset[str] = frozenset()
    """Origins, as `scheme://host:port`, of the operator's own services."""
    pinned: Mapping[str, str] = field(default_factory=dict)
    """Host names and the `ip:port` each leads to, for a corpus server in tests."""


class Fetched(NamedTuple):
    """What came back."""

    url: str
    final_url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes


class Fetcher:
    """A guarded client. Use as an async context manager, or call `aclose`.

    It speaks to the transport itself: httpx's client would read cookies and redirects first.
    """

    def __init__(
        self,
        rules: FetchRules | None = None,
        *,
        resolver: Resolver | None = None,
    ) -> None:
        self.rules = rules or FetchRules()
        self._transport = GuardedTransport(
            ports=self.rules.ports,
            trusted=self.rules.trusted,
            pinned=self.rules.pinned,
            resolver=resolver,
        )

    async def get(
        self,
        address: str,
        *,
        accept: tuple[str, ...] = PAGE_TYPES,
        visit: Visit | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Fetch one address, through its redirects.

        Args:
            address: An http or https address.
            accept: The media types that may come back.
            visit: Asked before each address is visited.
            headers: More headers, for the first origin only.

        Raises:
            FetchRefused: an address on the way must not be fetched.
            FetchFailed: it did not work out.
        """
        try:
            async with asyncio.timeout(self.rules.timeout_s):
                return await self._follow(address, accept, visit, dict(headers or {}))
        except TimeoutError as error:
            raise FetchFailed(f"{address} took too long", reason="timeout") from error
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise FetchFailed(f"{address} cannot be read: {kind}", reason="network") from error

    async def aclose(self) -> None:
        """Close what is open."""
        await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def _follow(
        self, address: str, accept: tuple[str, ...], visit: Visit | None, headers: dict[str, str]
    ) -> Fetched:
        here = str(self._transport.check(address))
        for _ in range(self.rules.max_redirects + 1):
            if visit is not None:
                await visit(here)
            request = self._request(here, accept, headers)
            response = await self._transport.handle_async_request(request)
            try:
                target = response.headers.get("location")
                if response.status_code not in REDIRECTS or not target:
                    return await self._read(address, here, response, accept)
            finally:
                await response.aclose()
            here, headers = self._next(here, target), {}
        raise FetchFailed(f"{address} leads around in circles", reason="redirects")

    def _request(
        self, address: str, accept: tuple[str, ...], headers: dict[str, str]
    ) -> httpx.Request:
        timeout = httpx.Timeout(self.rules.timeout_s)
        return httpx.Request(
            "GET",
            address,
            headers={
                "User-Agent": self.rules.user_agent,
                "Accept": ", ".join((*accept, "*/*;q=0.1")),
                "Accept-Encoding": "gzip, deflate",
                **headers,
            },
            extensions={"timeout": timeout.as_dict()},
        )

    def _next(self, here: str, target: str) -> str:
        try:
            address = urljoin(here, target)
        except ValueError as error:
            raise FetchRefused("a redirect leads nowhere", reason="form") from error
        url = self._transport.check(address)
        if here.startswith("https:") and url.scheme == "http":
            raise FetchRefused("a redirect leads from https to http", reason="downgrade")
        return str(url.copy_with(fragment=None))

    async def _read(
        self, address: str, here: str, response: httpx.Response, accept: tuple[str, ...]
    ) -> Fetched:
        if response.status_code != 200:
            status = response.status_code
            raise FetchFailed(f"{address} answered {status}", reason=f"status_{status}")
        kind, charset = _media_type(response.headers.get("content-type", ""))
        if kind not in accept:
            raise FetchFailed(f"{address} is {kind or 'of no kind'}", reason="content_type")
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) > self.rules.max_bytes:
            raise FetchFailed(f"{address} is too large", reason="too_large")
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        body = await _unpacked(response.aiter_raw(), encoding, self.rules.max_bytes)
        return Fetched(address, here, response.status_code, kind, charset, body)


async def _unpacked(chunks: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """The body, unpacked no further than what is allowed."""
    unpacker = _unpacker(encoding)
    body, raw = bytearray(), 0
    async for chunk in chunks:
        raw += len(chunk)
        if raw > most:
            raise FetchFailed("the page is too large", reason="too_large")
        try:
            body += unpacker.decompress(chunk, most + 1 - len(body)) if unpacker else chunk
        except zlib.error as error:
            raise FetchFailed("the page is packed in a broken way", reason="encoding") from error
        if len(body) > most or (unpacker and unpacker.unconsumed_tail):
            raise FetchFailed("the page is too large", reason="too_large")
    if unpacker and not unpacker.eof:
        raise FetchFailed("the page is packed in a broken way", reason="encoding")
    return bytes(body)


def _unpacker(encoding: str) -> "zlib._Decompress | None":
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    if encoding == "deflate":
        return zlib.decompressobj()
    raise FetchFailed(f"the page is packed as {encoding}", reason="encoding")


def _media_type(header: str) -> tuple[str, str | None]:
    kind, *parameters = (part.strip() for part in header.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind.lower(), value.strip().strip('"').lower() or None
    return kind.lower(), None
