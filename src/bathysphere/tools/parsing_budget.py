"""Parsing quotas per user and tenant: concurrent pages and CPU per minute."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from bathysphere.core.errors import CallerError

MINUTE = 60.0


class Requester(NamedTuple):
    """The user for whom a page is parsed."""

    tenant: str
    user: str


LOCAL = Requester("local", "local")


@dataclass(frozen=True, kw_only=True, slots=True)
class ParsingQuota:
    """Limits per process. CPU is in seconds per minute."""

    user_at_once: int = 2
    tenant_at_once: int = 4
    user_cpu: float = 10.0
    tenant_cpu: float = 20.0


class ParsingBudgetExceeded(CallerError):
    """Parsing for this user or tenant used too much CPU in the last minute."""

    code = "parsing_budget_exceeded"


@dataclass(slots=True)
class _Account:
    """A token bucket of CPU seconds that refills over a minute."""

    per_minute: float
    left: float
    seen_at: float

    def fill(self, now: float) -> None:
        gained = (now - self.seen_at) * self.per_minute / MINUTE
        self.left = min(self.per_minute, self.left + gained)
        self.seen_at = now

    def wait(self) -> float:
        """Seconds until the account is positive again."""
        return 0.0 if self.left > 0 else (1 - self.left) * MINUTE / self.per_minute


class ParsingBudget:
    """Admits parsing and counts its CPU time. `book` may be called from any thread."""

    def __init__(
        self, quota: ParsingQuota, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._quota = quota
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._accounts: dict[str | Requester, _Account] = {}
        self._turns: dict[str | Requester, tuple[asyncio.Semaphore, list[None]]] = {}

    @asynccontextmanager
    async def turn(self, requester: Requester) -> AsyncIterator[None]:
        """Wait for a slot of the user and of their tenant.

        Raises:
            ParsingBudgetExceeded: One of the two has no CPU time left.
        """
        self._check(requester)
        user = self._turn(requester, self._quota.user_at_once)
        async with user, self._turn(requester.tenant, self._quota.tenant_at_once):
            self._check(requester)
            yield

    def book(self, requester: Requester, seconds: float) -> None:
        """Count CPU seconds."""
        with self._lock:
            for account in self._accounts_of(requester):
                account.left -= max(0.0, seconds)
            self._forget_full()

    def _check(self, requester: Requester) -> None:
        with self._lock:
            wait = max(account.wait() for account in self._accounts_of(requester))
            self._forget_full()
        if wait > 0:
            raise ParsingBudgetExceeded(
                "Parsing budget exceeded: your pages used too much CPU",
                hint=f"try again in {wait:.0f} seconds",
            )

    def _accounts_of(self, requester: Requester) -> list[_Account]:
        now, quota = self._monotonic(), self._quota
        shares = ((requester, quota.user_cpu), (requester.tenant, quota.tenant_cpu))
        found = [self._accounts.setdefault(key, _Account(cpu, cpu, now)) for key, cpu in shares]
        for account in found:
            account.fill(now)
        return found

    def _forget_full(self) -> None:
        """Drop full accounts, so that they do not accumulate."""
        if len(self._accounts) > 1_000:
            now = self._monotonic()
            for key, account in list(self._accounts.items()):
                account.fill(now)
                if account.left >= account.per_minute:
                    del self._accounts[key]

    @asynccontextmanager
    async def _turn(self, key: str | Requester, most: int) -> AsyncIterator[None]:
        semaphore, users = self._turns.setdefault(key, (asyncio.Semaphore(most), []))
        users.append(None)
        try:
            async with semaphore:
                yield
        finally:
            users.pop()
            if not users:
                del self._turns[key]
