"""Quotas: what a tenant may use in bytes, objects and runs at a time.

What is stored is counted from the store's own listing, and in between by what this process adds
and removes. Other processes' writes are seen at the next count: a tenant can exceed its quota by
what they write within `refresh_seconds`, never for longer.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bathysphere.core.clock import Clock
from bathysphere.tenancy.errors import QuotaExceeded


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """The most a tenant may use; None is no limit."""

    bytes: int | None = None
    objects: int | None = None
    runs: int | None = None

    def __post_init__(self) -> None:
        for name in ("bytes", "objects", "runs"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                message = f"the quota of {name} is a number from 0, got {value!r}"
                raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a tenant uses, or what something would add to it."""

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
    """Refuse what would pass the quota. What takes nothing, or gives back, is always allowed.

    Raises:
        QuotaExceeded: It would; the message says of what.
    """
    for name in ("bytes", "objects", "runs"):
        limit, added = getattr(quota, name), getattr(more, name)
        if limit is not None and added > 0 and getattr(used, name) + added > limit:
            raise QuotaExceeded(
                f"the tenant's quota of {limit} {name} is used up",
                hint="remove something, or ask your operator for more",
            )


@dataclass(slots=True)
class _Counted:
    usage: Usage
    pending: Usage
    at: float


class StoredMeter:
    """How much each tenant has stored, as one process knows it."""

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
        """Hold room for what is about to be stored; leave with an error where it was not.

        Raises:
            QuotaExceeded: There is no room.
        """
        if quota.bytes is None and quota.objects is None:
            yield
            return
        with self._lock:
            counted = self._fresh(tenant)
            check(quota, counted.usage + counted.pending, more)
            counted.pending += more
        is_stored = False
        try:
            yield
            is_stored = True
        finally:
            with self._lock:
                counted.pending -= more
                if is_stored:
                    counted.usage += more

    def _fresh(self, tenant: str) -> _Counted:
        now = self._clock.monotonic()
        counted = self._counted.get(tenant)
        if counted is None:
            counted = self._counted[tenant] = _Counted(self._measure(tenant), Usage(), now)
        elif now - counted.at >= self._refresh_seconds:
            counted.usage, counted.at = self._measure(tenant), now
        return counted
