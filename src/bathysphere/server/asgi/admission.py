"""Authenticate and rate limit requests before a body is read or a route is matched.

A rate limit token is taken before any lookup. A credential that was recently valid spends its
owner's tokens; any other spends those of its address, which are returned when the credential turns
out to be valid. So invented credentials cause few lookups, and callers with a known credential are
not refused because others misuse their address.
"""

import asyncio
import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import NamedTuple
from weakref import WeakValueDictionary

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.core.errors import BathysphereError
from bathysphere.server.asgi.refusal import has_body, refuse
from bathysphere.server.asgi.token_bucket import Buckets
from bathysphere.server.errors import TooManyRequests, status_of
from bathysphere.server.identity import Identify

CHARGE_KEY = "bathysphere.charge"
"""Scope key of the function that takes additional tokens for a request that counts as several."""

IsPublic = Callable[[Scope], bool]
_MAX_KNOWN = 20_000
_MAX_CONCURRENT = 8
"""Requests with the same credential that are identified concurrently."""
_BEARER = (b"www-authenticate", b"Bearer")
_FIRST_ATTEMPT = (b"x-attempt", b"1")


@dataclass(frozen=True, kw_only=True, slots=True)
class RateLimits:
    """Buckets for requests, by owner or address, and for credentials not known to be valid."""

    requests: Buckets
    guesses: Buckets


class _TakenToken(NamedTuple):
    """The bucket from which a token was taken."""

    buckets: Buckets
    key: str


class Admission:
    """Refuses unauthenticated requests and callers over their rate limit.

    After a refusal the connection is closed, so that the rest of the body need not be read. In a
    cell it stays open: the router must have sent a body before it reads the refusal. There, an
    unknown credential is no error yet on the first attempt (`X-Attempt: 1`), because its tenant may
    be in another cell: 421 asks the router to look again.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        identify: Identify,
        is_public: IsPublic,
        limits: RateLimits | None = None,
        is_cell: bool = False,
    ) -> None:
        self._app = app
        self._identify = identify
        self._is_public = is_public
        self._limits = limits
        self._is_cell = is_cell
        self._known: OrderedDict[bytes, str] = OrderedDict()
        self._semaphores: WeakValueDictionary[bytes, asyncio.Semaphore] = WeakValueDictionary()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            await self._admit_limited(HTTPConnection(scope))
        except BathysphereError as error:
            await self._refuse(scope, send, error)
            return
        await self._app(scope, receive, send)

    async def _refuse(self, scope: Scope, send: Send, error: BathysphereError) -> None:
        status = status_of(error)
        if status == 401 and self._is_cell and _FIRST_ATTEMPT in scope["headers"]:
            status = 421
        headers = [_BEARER] if status == 401 else []
        if isinstance(error, TooManyRequests):
            headers.append((b"retry-after", str(error.retry_after).encode()))
        if has_body(scope) and not self._is_cell:
            headers.append((b"connection", b"close"))
        hint = error.hint or "see docs/serve.md"
        await refuse(
            send, status, code=error.code, message=error.message, hint=hint, headers=headers
        )

    async def _admit_limited(self, connection: HTTPConnection) -> None:
        """Limit how many requests with the same credential are identified concurrently."""
        digest = _credential_digest(connection)
        if digest is None:
            await self._admit(connection, None)
            return
        semaphore = self._semaphores.get(digest) or asyncio.Semaphore(_MAX_CONCURRENT)
        self._semaphores[digest] = semaphore
        async with semaphore:
            await self._admit(connection, digest)

    async def _admit(self, connection: HTTPConnection, digest: bytes | None) -> None:
        known = self._known.get(digest) if digest is not None else None
        taken = await self._take_before_lookup(connection, digest, known)
        try:
            owner = await self._identify(connection)
        except BathysphereError:
            if digest is not None:
                self._known.pop(digest, None)
            if not self._is_public(connection.scope):
                raise
            return
        if self._limits is None or taken is None:
            return
        key = f"owner:{owner.digest}"
        if digest is not None:
            self._remember(digest, key)
        if key != taken.key:
            await taken.buckets.give_back(taken.key)
            await _take(self._limits.requests, key)
        connection.scope[CHARGE_KEY] = partial(_take, self._limits.requests, key)

    async def _take_before_lookup(
        self, connection: HTTPConnection, digest: bytes | None, known: str | None
    ) -> _TakenToken | None:
        """Take a token before any lookup."""
        if self._limits is None:
            return None
        if known is not None:
            taken = _TakenToken(self._limits.requests, known)
        else:
            buckets = self._limits.requests if digest is None else self._limits.guesses
            taken = _TakenToken(buckets, f"address:{network_of(connection)}")
        await _take(taken.buckets, taken.key)
        return taken

    def _remember(self, digest: bytes, key: str) -> None:
        self._known[digest] = key
        self._known.move_to_end(digest)
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)


async def _take(buckets: Buckets, key: str, count: int = 1) -> None:
    wait = await buckets.take(key, count)
    if wait:
        raise TooManyRequests("Too many requests", retry_after=math.ceil(wait))


def _credential_digest(connection: HTTPConnection) -> bytes | None:
    """Digest of the credential headers; None when there are none."""
    found = [
        value
        for name, value in connection.scope["headers"]
        if name in (b"authorization", b"x-api-key")
    ]
    return hashlib.sha256(b"\0".join(found)).digest() if found else None


def network_of(connection: HTTPConnection) -> str:
    """The caller's IPv4 address, or its IPv6 /64 network, within which it can choose addresses."""
    host = connection.client.host if connection.client is not None else "unknown"
    try:
        address = ip_address(host)
    except ValueError:
        return host[:64]
    if address.version == 6:
        return address.exploded[:19]
    return str(address)
