"""Guarded fetching of pages from the public web.

Every URL, including redirects, is checked before and after its host is resolved. Size and time are
limited, and bytes are counted while they are decompressed. No cookies, no credentials.
"""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urljoin

import httpx

from bathysphere.core.tracing import span
from bathysphere.tools.errors import FetchFailed, FetchRefused
from bathysphere.tools.guard import GuardedTransport, Resolver
from bathysphere.tools.parser_pool import ParseLimits

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
"""Called before each URL is visited, including redirects; raises if it must not be."""


@dataclass(frozen=True)
class FetchRules:
    """Limits of fetching. `trusted` and `pinned` bypass checks, and are empty by default."""

    ports: tuple[int, ...] = (80, 443)
    max_bytes: int = 5_000_000
    timeout_s: float = 20.0
    max_redirects: int = 5
    user_agent: str = "Bathysphere/0.1 (research agent)"
    trusted: frozenset[str] = frozenset()
    """Origins of the operator's own services, as `scheme://host:port`."""
    pinned: Mapping[str, str] = field(default_factory=dict)
    """Host names mapped to an `ip:port`, for a corpus server in tests."""
    parsing: ParseLimits = field(default_factory=ParseLimits)
    """Limits of parsing a page."""


class Fetched(NamedTuple):
    """A fetched page."""

    url: str
    final_url: str
    status: int
    content_type: str
    charset: str | None
    body: bytes


class Fetcher:
    """A guarded HTTP client. Use as an async context manager, or call `aclose`.

    It uses the transport directly: httpx's client would handle cookies and redirects itself.
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
        """Fetch a URL, following redirects.

        Args:
            address: An http or https URL.
            accept: The accepted media types.
            visit: Called before each URL is visited.
            headers: Additional headers, for the first origin only.

        Raises:
            FetchRefused: The URL, or a redirect's, must not be fetched.
            FetchFailed: The page could not be fetched.
        """
        return await self._limited(
            address, self._follow(address, accept, visit, dict(headers or {}))
        )

    async def post_json(
        self, address: str, content: Mapping[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> Fetched:
        """Post JSON to an API and read its JSON response. Redirects are not followed.

        Args:
            address: An http or https URL.
            content: The JSON object to send.
            headers: Additional headers.

        Raises:
            FetchRefused: The URL must not be reached.
            FetchFailed: There is no response that could be read.
        """
        return await self._limited(address, self._post(address, content, dict(headers or {})))

    async def aclose(self) -> None:
        """Close the connections."""
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

    async def _limited(self, address: str, fetching: Coroutine[Any, Any, Fetched]) -> Fetched:
        with span("fetch") as traced:
            fetched = await self._within_time(address, fetching)
            traced.set("http.response.status_code", fetched.status)
            traced.set("http.response.body.size", len(fetched.body))
            return fetched

    async def _within_time(self, address: str, fetching: Coroutine[Any, Any, Fetched]) -> Fetched:
        try:
            async with asyncio.timeout(self.rules.timeout_s):
                return await fetching
        except TimeoutError as error:
            raise FetchFailed(f"{address} timed out", reason="timeout") from error
        except httpx.HTTPError as error:
            kind = type(error).__name__
            raise FetchFailed(f"Cannot fetch {address}: {kind}", reason="network") from error

    async def _post(
        self, address: str, content: Mapping[str, Any], headers: dict[str, str]
    ) -> Fetched:
        here = str(self._transport.check(address))
        headers = {"Content-Type": "application/json", **headers}
        request = self._request(here, JSON_TYPES, headers, posted=json.dumps(content).encode())
        response = await self._transport.handle_async_request(request)
        try:
            return await self._read(address, here, response, JSON_TYPES)
        finally:
            await response.aclose()

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
        raise FetchFailed(f"Too many redirects: {address}", reason="redirects")

    def _request(
        self,
        address: str,
        accept: tuple[str, ...],
        headers: dict[str, str],
        posted: bytes | None = None,
    ) -> httpx.Request:
        timeout = httpx.Timeout(self.rules.timeout_s)
        return httpx.Request(
            "GET" if posted is None else "POST",
            address,
            content=posted,
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
            raise FetchRefused("Invalid redirect URL", reason="form") from error
        url = self._transport.check(address)
        if here.startswith("https:") and url.scheme == "http":
            raise FetchRefused("Redirect from https to http", reason="downgrade")
        return str(url.copy_with(fragment=None))

    async def _read(
        self, address: str, here: str, response: httpx.Response, accept: tuple[str, ...]
    ) -> Fetched:
        if response.status_code != 200:
            status = response.status_code
            raise FetchFailed(f"{address} returned status {status}", reason=f"status_{status}")
        kind, charset = _media_type(response.headers.get("content-type", ""))
        if kind not in accept:
            message = f"Unsupported content type of {address}: {kind or 'none'}"
            raise FetchFailed(message, reason="content_type")
        length = response.headers.get("content-length", "")
        if length.isdigit() and int(length) > self.rules.max_bytes:
            raise FetchFailed(f"{address} is too large", reason="too_large")
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        body = await _decompress(response.aiter_raw(), encoding, self.rules.max_bytes)
        return Fetched(address, here, response.status_code, kind, charset, body)


async def _decompress(chunks: AsyncIterator[bytes], encoding: str, most: int) -> bytes:
    """Decompress the body, up to the allowed size."""
    unpacker = _decompressor(encoding)
    body, raw = bytearray(), 0
    async for chunk in chunks:
        raw += len(chunk)
        if raw > most:
            raise FetchFailed("The page is too large", reason="too_large")
        try:
            body += unpacker.decompress(chunk, most + 1 - len(body)) if unpacker else chunk
        except zlib.error as error:
            raise FetchFailed("Cannot decompress the page", reason="encoding") from error
        if len(body) > most or (unpacker and unpacker.unconsumed_tail):
            raise FetchFailed("The page is too large", reason="too_large")
    if unpacker and not unpacker.eof:
        raise FetchFailed("Cannot decompress the page", reason="encoding")
    return bytes(body)


def _decompressor(encoding: str) -> "zlib._Decompress | None":
    if encoding in ("", "identity"):
        return None
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    if encoding == "deflate":
        return zlib.decompressobj()
    raise FetchFailed(f"Unsupported content encoding: {encoding}", reason="encoding")


def _media_type(header: str) -> tuple[str, str | None]:
    kind, *parameters = (part.strip() for part in header.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind.lower(), value.strip().strip('"').lower() or None
    return kind.lower(), None
