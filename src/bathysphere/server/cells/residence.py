"""Which tenants are in this cell, as an API process knows it.

A move closes a tenant in its database a second after it announced that the tenant is leaving. So a
process that has polled within that second knows every tenant that it must not serve; one that has
not asks the database for each request.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from typing import Protocol

import psycopg

from bathysphere.core.errors import UpstreamError
from bathysphere.engine.cells.move import SETTLE_SECONDS
from bathysphere.engine.cells.tenants import BETWEEN, Residence, TenantElsewhere

_log = logging.getLogger(__name__)
POLL_SECONDS = 0.25
WAIT_SECONDS = 10.0
"""How long a request waits for its tenant, which is several times what a move takes."""
_MAX_KNOWN = 10_000
_REMEMBER_SECONDS = 600.0
"""How long a tenant is remembered after it has left: longer than a request lasts."""


class TenantMoving(UpstreamError):
    """The tenant is moving to another cell, and takes longer than a request can wait. HTTP 503."""

    code = "tenant_moving"
    retry_after = 1

    def __init__(self) -> None:
        super().__init__("The tenant is moving to another cell", hint="try again in a second")


class TenantStates(Protocol):
    """The states of tenants in a cell's database."""

    async def find(self, tenant: str) -> Residence | None:
        """Where the tenant is; None if the database knows nothing of it."""
        ...

    async def away(self, *, left_within_seconds: float) -> Mapping[str, Residence]:
        """The tenants that are on their way, or have left lately."""
        ...


class Residences:
    """Holds requests while their tenant moves, and refuses those of tenants elsewhere."""

    def __init__(
        self,
        tenants: TenantStates,
        *,
        poll_seconds: float = POLL_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._tenants = tenants
        self._poll_seconds = poll_seconds
        self._wait_seconds = wait_seconds
        self._away: dict[str, Residence] = {}
        self._here: OrderedDict[str, None] = OrderedDict()
        self._changed = asyncio.Event()
        self._polled_at: float | None = None
        self._is_failing = False

    async def run(self) -> None:
        """Poll the database until cancelled."""
        while True:
            await self.poll()
            await asyncio.sleep(self._poll_seconds)

    async def poll(self) -> None:
        """Read once which tenants are away; if that fails, keep what is known."""
        began = asyncio.get_running_loop().time()
        try:
            away = dict(await self._tenants.away(left_within_seconds=self._window(began)))
        except psycopg.Error as error:
            if not self._is_failing:
                _log.warning("Moving tenants cannot be polled; asking for each request: %s", error)
            self._is_failing = True
            return
        self._is_failing = False
        self._polled_at = began
        for tenant in away:
            self._here.pop(tenant, None)
        if away != self._away:
            self._away = away
            self._notify()

    def _window(self, now: float) -> float:
        """How far back to look: also over what passed since the last poll."""
        return _REMEMBER_SECONDS + (now - self._polled_at if self._polled_at is not None else 0)

    async def wait_until_here(self, tenant: str) -> None:
        """Return when the tenant is in this cell, which it nearly always is.

        Raises:
            TenantElsewhere: It has left, or was never admitted.
            TenantMoving: It is still on its way.
        """
        try:
            async with asyncio.timeout(self._wait_seconds):
                while True:
                    changed = self._changed
                    if await self._is_here(tenant):
                        return
                    await changed.wait()
        except TimeoutError as error:
            raise TenantMoving from error

    async def until_left(self, tenant: str) -> None:
        """Return when the tenant is leaving, or has left."""
        while tenant not in self._away:
            await self._changed.wait()

    async def may_be_away(self, tenant: str) -> bool:
        """Whether rows of the tenant may be missing here."""
        if tenant in self._away:
            return True
        if self._is_fresh():
            return False
        try:
            found = await self._tenants.find(tenant)
        except psycopg.Error:
            return True
        return found is None or found.state != "here"

    async def _is_here(self, tenant: str) -> bool:
        if self._is_fresh():
            known = self._away.get(tenant)
            if known is None and tenant in self._here:
                self._here.move_to_end(tenant)
                return True
            if known is not None and known.state in BETWEEN:
                return False
        # Asked again also if it had left: it may have come back since the last poll.
        return await self._ask(tenant)

    async def _ask(self, tenant: str) -> bool:
        polled_at = self._polled_at
        found = await self._tenants.find(tenant)
        if self._polled_at != polled_at and tenant in self._away:
            return False  # the poll may know something newer
        if found is not None:
            self._learn(tenant, found)
        if found is None or found.state == "left":
            raise TenantElsewhere(
                "The tenant is not in this cell", hint="send the request to the router of the cells"
            )
        return found.state == "here"

    def _learn(self, tenant: str, found: Residence) -> None:
        before = self._away.pop(tenant, None)
        self._here.pop(tenant, None)
        if found.state == "here":
            self._here[tenant] = None
            if len(self._here) > _MAX_KNOWN:
                self._here.popitem(last=False)
        else:
            self._away[tenant] = found
        if self._away.get(tenant) != before:
            self._notify()

    def _is_fresh(self) -> bool:
        """Whether a tenant that has left since the last poll is still open in the database."""
        if self._polled_at is None:
            return False
        return asyncio.get_running_loop().time() - self._polled_at < SETTLE_SECONDS

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
