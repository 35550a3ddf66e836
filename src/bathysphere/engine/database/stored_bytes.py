"""Storage limits: how many bytes a user and a tenant may keep in the database.

Stored bytes are measured per tenant, at most once per minute; in between, each process adds what it
admitted. Writes of other processes are seen at the next measurement, so a limit can be exceeded by
what they write within a minute. Before a write is refused, stored bytes are measured again, so that
deletions count.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool, storage_errors
from bathysphere.engine.errors import StorageFull
from bathysphere.engine.namespaces import owner_prefixes, tenant_prefixes

CountBytes = Callable[[int], Awaitable[None]]
"""Counts bytes that are about to be written; raises when a limit would be exceeded."""

_FRESH_SECONDS = 60.0
_RECENT_SECONDS = 1.0
_PAUSE_RATIO = 20
"""A slow measurement is repeated later: after this many times its duration."""
_MAX_TENANTS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class StorageLimits:
    """How many bytes may be kept in the database; None means unlimited."""

    per_user: int | None = 2 * 1024**3
    per_tenant: int | None = 20 * 1024**3


NO_STORAGE_LIMITS = StorageLimits(per_user=None, per_tenant=None)


@dataclass(slots=True)
class _StoredByTenant:
    """Stored bytes of a tenant: measured bytes per user, plus what was admitted since."""

    users: dict[str, int] = field(default_factory=dict)
    items: dict[str, int] = field(default_factory=dict)
    """Bytes of users who have no thread and have not been seen here, by store prefix."""
    measured_at: float = float("-inf")
    seconds: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def age(self, now: float) -> float:
        return now - self.measured_at

    def total(self) -> int:
        return sum(self.users.values()) + sum(self.items.values())

    def add_user(self, owner: Owner) -> None:
        """Count a user's items under the user's name."""
        if owner.user not in self.users:
            sizes = (self.items.pop(prefix, 0) for prefix in owner_prefixes(owner))
            self.users[owner.user] = sum(sizes)

    def is_stale(self, now: float) -> bool:
        return self.age(now) > max(_FRESH_SECONDS, _PAUSE_RATIO * self.seconds)


class StoredBytes:
    """Counts stored bytes, and refuses writes that would exceed a limit."""

    def __init__(self, pool: Pool, *, clock: Clock, limits: StorageLimits) -> None:
        self._pool = pool
        self._clock = clock
        self._limits = limits
        self._tenants: dict[str, _StoredByTenant] = {}

    async def reserve(self, owner: Owner, count: int) -> None:
        """Count bytes that are about to be written.

        Raises:
            StorageFull: The user or the tenant would exceed its limit.
        """
        if self._limits == NO_STORAGE_LIMITS:
            return
        stored = self._tenant(owner.tenant)
        now = self._clock.monotonic()
        if stored.measured_at < 0:
            async with stored.lock:  # not measured yet: all callers wait for the first measurement
                if stored.is_stale(self._clock.monotonic()):
                    await self._measure(owner.tenant, stored)
        elif stored.is_stale(now) and not stored.lock.locked():
            async with stored.lock:
                await self._measure(owner.tenant, stored)
        stored.add_user(owner)
        refusal = self._refusal(stored, owner, count)
        if refusal is not None and stored.age(self._clock.monotonic()) > _RECENT_SECONDS:
            async with stored.lock:
                await self._measure(owner.tenant, stored)
            refusal = self._refusal(stored, owner, count)
        if refusal is not None:
            raise refusal
        stored.users[owner.user] += count

    async def reserve_copy(self, owner: Owner, thread_id: UUID) -> None:
        """Count the bytes of a copy of a thread.

        Raises:
            StorageFull: The user or the tenant would exceed its limit.
        """
        if self._limits == NO_STORAGE_LIMITS:
            return
        with storage_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(_THREAD, {"thread": str(thread_id)})
                row = await cursor.fetchone()
        await self.reserve(owner, int(row["size"]) if row is not None else 0)

    def _tenant(self, tenant: str) -> _StoredByTenant:
        if tenant not in self._tenants and len(self._tenants) >= _MAX_TENANTS:
            del self._tenants[next(iter(self._tenants))]
        return self._tenants.setdefault(tenant, _StoredByTenant())

    def _refusal(self, stored: _StoredByTenant, owner: Owner, count: int) -> StorageFull | None:
        per_user, per_tenant = self._limits.per_user, self._limits.per_tenant
        if per_user is not None and stored.users[owner.user] + count > per_user:
            return StorageFull.of("user", per_user)
        if per_tenant is not None and stored.total() + count > per_tenant:
            return StorageFull.of("tenant", per_tenant)
        return None

    async def _measure(self, tenant: str, stored: _StoredByTenant) -> None:
        started_at = self._clock.monotonic()
        values = {"tenant": tenant, "roots": tenant_prefixes(tenant)}
        with storage_errors():
            async with self._pool.connection() as connection:
                rows = await (await connection.execute(_THREADS, values)).fetchall()
                rows += await (await connection.execute(_ASSISTANTS, values)).fetchall()
                item_rows = await (await connection.execute(_ITEMS, values)).fetchall()
        users: dict[str, int] = {}
        for row in rows:
            users[str(row["owner"])] = users.get(str(row["owner"]), 0) + int(row["size"])
        items = {row["root"]: int(row["size"]) for row in item_rows}
        for user in {*users, *stored.users}:
            size = sum(items.pop(p, 0) for p in owner_prefixes(Owner(tenant=tenant, user=user)))
            users[user] = users.get(user, 0) + size
        stored.users, stored.items = users, items
        stored.measured_at = self._clock.monotonic()
        stored.seconds = stored.measured_at - started_at


_SIZES = """
(SELECT COALESCE(sum(pg_column_size(c.checkpoint) + pg_column_size(c.metadata)), 0)
   FROM checkpoints c WHERE c.thread_id = {thread})
+ (SELECT COALESCE(sum(pg_column_size(b.blob)), 0)
     FROM checkpoint_blobs b WHERE b.thread_id = {thread})
+ (SELECT COALESCE(sum(pg_column_size(w.blob)), 0)
     FROM checkpoint_writes w WHERE w.thread_id = {thread})
+ (SELECT COALESCE(sum(pg_column_size(m.body) + pg_column_size(m.words)), 0)
     FROM engine.message_texts m WHERE m.thread_id = {thread}::uuid)
+ (SELECT COALESCE(sum(pg_column_size(s.messages)), 0)
     FROM engine.shares s WHERE s.thread_id = {thread}::uuid)
"""
_THREAD = f"SELECT {_SIZES.format(thread='%(thread)s')} AS size".encode()
_THREADS = f"""
SELECT t.owner,
       sum(pg_column_size(t.metadata) + {_SIZES.format(thread="t.thread_id::text")}) AS size
  FROM engine.threads t WHERE t.tenant = %(tenant)s GROUP BY t.owner
""".encode()  # noqa: S608  # our own constants
_ASSISTANTS = b"""
SELECT owner, sum(pg_column_size(config) + pg_column_size(context) + pg_column_size(metadata)
                  + pg_column_size(name) + COALESCE(pg_column_size(description), 0)) AS size
  FROM engine.assistant_versions WHERE tenant = %(tenant)s GROUP BY owner
"""
_ITEMS = b"""
SELECT array_to_string((string_to_array(prefix, '.'))[1:3], '.') AS root,
       sum(pg_column_size(value)) AS size
  FROM store
 WHERE starts_with(prefix, (%(roots)s::text[])[1])
    OR starts_with(prefix, (%(roots)s::text[])[2])
 GROUP BY 1
"""
