"""Limit the requests, including streams, that an identity may have open at a time.

They are counted before the app runs, so that a refusal leaves nothing half done.
"""

from collections import Counter
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.core.identity import Owner
from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.identity.identify import OWNER_KEY


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenLimits:
    """Open requests per API process; None means unlimited."""

    per_user: int | None = 64
    per_tenant: int | None = 256


class OpenRequests:
    """Responds with 429 when a user or tenant has too many open requests."""

    def __init__(self, app: ASGIApp, *, limits: OpenLimits) -> None:
        self._app = app
        self._limits = limits
        self._users: Counter[str] = Counter()
        self._tenants: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        owner = scope.get(OWNER_KEY)
        if scope["type"] != "http" or not isinstance(owner, Owner):
            await self._app(scope, receive, send)
        elif _is_full(self._users[owner.digest], self._limits.per_user):
            await _refuse(send, "user", self._limits.per_user)
        elif _is_full(self._tenants[owner.tenant], self._limits.per_tenant):
            await _refuse(send, "tenant", self._limits.per_tenant)
        else:
            await self._call_counted(owner, scope, receive, send)

    async def _call_counted(self, owner: Owner, scope: Scope, receive: Receive, send: Send) -> None:
        self._users[owner.digest] += 1
        self._tenants[owner.tenant] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            _release(self._users, owner.digest)
            _release(self._tenants, owner.tenant)


def _is_full(count: int, limit: int | None) -> bool:
    return limit is not None and count >= limit


def _release(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]


async def _refuse(send: Send, kind: str, limit: int | None) -> None:
    await refuse(
        send,
        429,
        code="too_many_open_requests",
        message=f"Too many open requests for this {kind} (limit: {limit})",
        hint="close unused streams; the limits are BATHYSPHERE_MAX_OPEN_PER_USER and …_PER_TENANT",
        headers=[(b"retry-after", b"5")],
    )
