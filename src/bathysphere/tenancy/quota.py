"""Quotas of a tenant: bytes, objects and concurrent runs.

Storage is measured from the store's own listing, and between measurements by what this process adds
and removes. Other processes' writes are seen at the next measurement: a tenant can exceed its quota
by what they write within `refresh_seconds`, never for longer.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bathysphere.core.clock import Clock
from bathysphere.tenancy.errors import QuotaExceeded


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The limits of a tenant; None means no limit."""

    bytes: int | None = None
    objects: int | None = None
    runs: int | None = None

    def __post_init__(self) -> None:
        for name in ("bytes", "objects", "runs"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                message = f"Quota of {name} must be a non-negative integer, got {value!r}"
                raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """The usage of a tenant, or an addition to it."""

    bytes: int = 0
    objects: int = 0
    runs: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            bytes=self.bytes + other.bytes,
            objects=self.objects + other.objects,
            runs=self.runs + other.runs,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            bytes=self.bytes - other.bytes,
            objects=self.objects - other.objects,
            runs=self.runs - other.runs,
        )


def check(quota: Quota, used: Usage, more: Usage) -> None:
    """Check an addition against the quota. Adding nothing, or freeing space, is always allowed.

    Raises:
        QuotaExceeded: The addition would exceed the quota.
    """
    for name in ("bytes", "objects", "runs"):
        limit, added = getattr(quota, name), getattr(more, name)
        if limit is not None and added > 0 and getattr(used, name) + added > limit:
            raise QuotaExceeded(
                f"Tenant quota exceeded ({limit} {name})",
                hint="delete something, or ask your operator for a larger quota",
            )


@dataclass(slots=True)
class _Counted:
    usage: Usage
    pending: Usage
    at: float | None
    lock: threading.Lock


class StoredMeter:
    """The storage used by each tenant, as known to this process.

    A tenant is measured under its own lock, so a large one does not block others.
    """

    def __init__(
        self, measure: Callable[[str], Usage], *, clock: Clock, refresh_seconds: float = 60
    ) -> None:
        self._measure = measure
        self._clock = clock
        self._refresh_seconds = refresh_seconds
        self._counted: dict[str, _Counted] = {}
        self._lock = threading.Lock()

    @contextmanager
    def storing(self, tenant: str, quota: Quota, more: Usage) -> Iterator[None]:
        """Reserve space while something is stored; released if the block raises.

        Raises:
            QuotaExceeded: There is not enough space.
        """
        if quota.bytes is None and quota.objects is None:
            yield
            return
        counted = self._of(tenant)
        with counted.lock:
            self._refresh(tenant, counted)
            check(quota, counted.usage + counted.pending, more)
            counted.pending += more
        is_stored = False
        try:
            yield
            is_stored = True
        finally:
            with counted.lock:
                counted.pending -= more
                if is_stored:
                    counted.usage += more

    def _of(self, tenant: str) -> _Counted:
        with self._lock:
            if tenant not in self._counted:
                self._counted[tenant] = _Counted(Usage(), Usage(), None, threading.Lock())
            return self._counted[tenant]

    def _refresh(self, tenant: str, counted: _Counted) -> None:
        """Measure the storage again if due; called under the tenant's lock, so once for all."""
        now = self._clock.monotonic()
        if counted.at is None or now - counted.at >= self._refresh_seconds:
            counted.usage, counted.at = self._measure(tenant), now
