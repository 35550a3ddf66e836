"""Share the scarce resources of a process (event loop, connections) equally among tenants.

Active tenants share the permits equally. A request that gets none waits, and the users of a tenant
are served in turn. A tenant that has lately used the resource more than the others did also waits,
because a busy processor or database slows everyone down, unless another has more requests open.
So a tenant with hundreds of requests slows down only itself, and the next request of another
tenant finds few ahead of it.
"""

import asyncio
import math
from collections import OrderedDict, deque
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Self

from bathysphere.core.identity import Owner

_ACTIVE_SECONDS = 1.0
"""How long a tenant's share is kept for its next request."""
_USAGE_SECONDS = 1.0
"""Time constant with which past usage is forgotten."""
_MARGIN = 1.25
"""How far a tenant's usage may be above that of the others."""
_MIN_RETRY_SECONDS = 0.02

acting_owner: ContextVar[Owner | None] = ContextVar("acting_owner", default=None)
"""The owner that the current task works for; None means the process itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareLimits:
    """How many permits the active tenants share (at least one each), and how long one may be held.

    A holder that takes longer waits more than it works, or waits for another permit: its permit
    expires, so that two holders cannot deadlock.
    """

    at_once: int
    hold_seconds: float = 0.25
    free_usage: float = math.inf
    """Seconds per second for which a tenant may use the resource, however little others use it."""


@dataclass(slots=True)
class _Tenant:
    """The permits that a tenant holds, and its waiting requests by user."""

    held: int = 0
    waiting: OrderedDict[str, deque[asyncio.Future[None]]] = field(default_factory=OrderedDict)
    last_active: float = 0.0
    usage: float = 0.0
    usage_at: float = 0.0
    retry: asyncio.TimerHandle | None = None

    def current_usage(self, now: float) -> float:
        """Seconds of use per second in the last moments."""
        return self.usage * math.exp((self.usage_at - now) / _USAGE_SECONDS)

    def add_usage(self, seconds: float, now: float) -> None:
        """Record for how long the resource was used."""
        self.usage = self.current_usage(now) + seconds / _USAGE_SECONDS
        self.usage_at = now

    def open_requests(self) -> int:
        """How many requests hold a permit or wait for one."""
        return self.held + sum(map(len, self.waiting.values()))

    def pop_next(self) -> asyncio.Future[None]:
        """Remove the next waiting request; its user moves to the end of the line."""
        user, line = self.waiting.popitem(last=False)
        first = line.popleft()
        if line:
            self.waiting[user] = line
        return first

    def remove(self, user: str, request: asyncio.Future[None]) -> None:
        """Remove a cancelled request, unless `pop_next` has met it first."""
        line = self.waiting.get(user, deque())
        if request in line:
            line.remove(request)
            if not line:
                del self.waiting[user]


class TenantShares:
    """The permits for one resource of a process."""

    def __init__(self, limits: ShareLimits) -> None:
        self.limits = limits
        self._tenants: OrderedDict[str, _Tenant] = OrderedDict()

    async def acquire(self, owner: Owner) -> None:
        """Wait for a permit."""
        tenant = self._activate(owner.tenant)
        if not tenant.waiting and self._may_start(tenant):
            tenant.held += 1
            return
        granted = asyncio.get_running_loop().create_future()
        tenant.waiting.setdefault(owner.user, deque()).append(granted)
        self._grant(tenant)
        try:
            await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                tenant.remove(owner.user, granted)
            else:
                self.release(owner)
            raise

    def add_usage(self, owner: Owner, seconds: float) -> None:
        """Record for how long a tenant used the resource."""
        tenant = self._activate(owner.tenant)
        tenant.add_usage(seconds, asyncio.get_running_loop().time())

    def release(self, owner: Owner) -> None:
        """Release a permit and grant free ones to the tenant's waiting requests."""
        tenant = self._activate(owner.tenant)
        tenant.held -= 1
        self._grant(tenant)

    def _grant(self, tenant: _Tenant) -> None:
        while tenant.waiting and tenant.held < self._share():
            if seconds := self._seconds_over(tenant):
                self._retry_later(tenant, seconds)
                return
            granted = tenant.pop_next()
            if not granted.cancelled():
                tenant.held += 1
                granted.set_result(None)

    def _retry_later(self, tenant: _Tenant, seconds: float) -> None:
        if tenant.retry is None:
            loop = asyncio.get_running_loop()
            tenant.retry = loop.call_later(max(seconds, _MIN_RETRY_SECONDS), self._retry, tenant)

    def _retry(self, tenant: _Tenant) -> None:
        tenant.retry = None
        self._grant(tenant)

    def _may_start(self, tenant: _Tenant) -> bool:
        return tenant.held < self._share() and not self._seconds_over(tenant)

    def _seconds_over(self, tenant: _Tenant) -> float:
        """About how long the tenant's usage stays above that of the others; 0 if it is not."""
        now = asyncio.get_running_loop().time()
        usage, free = tenant.current_usage(now), self.limits.free_usage
        if usage <= free or len(self._tenants) == 1 or not self._has_most_requests(tenant):
            return 0.0
        total = sum(other.current_usage(now) for other in self._tenants.values())
        allowed = max(free, _MARGIN * (total - usage) / (len(self._tenants) - 1))
        return max(0.0, _USAGE_SECONDS * math.log(usage / allowed))

    def _has_most_requests(self, tenant: _Tenant) -> bool:
        mine = tenant.open_requests()
        return all(other.open_requests() <= mine for other in self._tenants.values())

    def _activate(self, name: str) -> _Tenant:
        now = asyncio.get_running_loop().time()
        tenant = self._tenants.setdefault(name, _Tenant())
        tenant.last_active = now
        self._tenants.move_to_end(name)
        while (first := next(iter(self._tenants.values()))).last_active < now - _ACTIVE_SECONDS:
            idle, _ = self._tenants.popitem(last=False)
            if first.held or first.waiting:
                first.last_active = now
                self._tenants[idle] = first
        return tenant

    def _share(self) -> int:
        return max(1, self.limits.at_once // len(self._tenants))


class Permit:
    """The permit of one request or connection: acquired once, released once."""

    def __init__(
        self, shares: TenantShares, owner: Owner, *, counts_held_time: bool = True
    ) -> None:
        self._shares = shares
        self._owner = owner
        self._counts_held_time = counts_held_time
        self._was_acquired = False
        self._expiry: asyncio.TimerHandle | None = None
        self._began = 0.0

    async def acquire(self) -> None:
        """Wait for the permit; a second call does nothing."""
        if self._was_acquired:
            return
        self._was_acquired = True
        await self._shares.acquire(self._owner)
        loop = asyncio.get_running_loop()
        self._began = loop.time()
        self._expiry = loop.call_later(self._shares.limits.hold_seconds, self.release)

    def release(self) -> None:
        """Release the permit, if it is held, to the tenant's next request."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
            if self._counts_held_time:
                held_seconds = asyncio.get_running_loop().time() - self._began
                self._shares.add_usage(self._owner, held_seconds)
            self._shares.release(self._owner)

    async def __aenter__(self) -> Self:
        """Acquire the permit."""
        await self.acquire()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Release the permit."""
        self.release()
