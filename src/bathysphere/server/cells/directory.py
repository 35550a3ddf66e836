"""The directory of the cells: which cell has a caller's tenant.

The databases of the cells are the only truth. What was found is remembered for seconds; a caller
that is sent to a cell which its tenant has left is refused there, and looked up again.
"""

import asyncio
import hashlib
import logging
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import psycopg
from starlette.requests import HTTPConnection

from bathysphere.core.circuit_breaker import CircuitBreaker
from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError, UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.cells.tenants import BETWEEN, Residence, TenantInSeveralCells
from bathysphere.server.asgi.admission import network_of
from bathysphere.server.asgi.token_bucket import Buckets
from bathysphere.server.cells.cells_file import CellAddress
from bathysphere.server.errors import TooManyRequests
from bathysphere.server.identity import Identify, IdentityUnavailable, grant_of

_log = logging.getLogger(__name__)
_MAX_KEPT = 20_000
_KEEP_SECONDS = 5.0
_ANSWER_SECONDS = 2.0
"""How long a cell's database may take, before the cell counts as unreachable."""


class CellUnreachable(UpstreamError):
    """The caller's cell cannot be found, because a cell's database does not answer."""

    code = "cell_unreachable"


class TenantsOfCell(Protocol):
    """The tenants in a cell's database."""

    async def find(self, tenant: str) -> Residence | None:
        """Where the tenant is; None if the database knows nothing of it."""
        ...

    async def admit(self, tenant: str) -> bool:
        """Let a tenant live here that is in no cell yet; return whether it is here now."""
        ...


class OpenCell:
    """A cell whose database can be asked. While it is down, nobody waits for it."""

    def __init__(
        self,
        address: CellAddress,
        *,
        tenants: TenantsOfCell,
        identify: Identify,
        clock: Clock,
        seconds: float = _ANSWER_SECONDS,
    ) -> None:
        self.address = address
        self.is_failing = False
        self._tenants = tenants
        self._identify = identify
        self._seconds = seconds
        self._breaker = CircuitBreaker(
            f"The database of cell '{address.name}'",
            errors=(psycopg.Error, OSError),
            clock=clock,
            seconds=seconds,
        )

    async def owner_of(self, connection: HTTPConnection) -> Owner:
        """Identify a caller as this cell does."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._identify(connection)
        except TimeoutError as error:
            raise IdentityUnavailable("The credential cannot be checked right now") from error

    async def find(self, tenant: str) -> Residence | None:
        """Where the tenant is, as this cell knows it.

        Raises:
            UpstreamError: The database does not answer.
        """
        try:
            found = await self._breaker.call(lambda: self._tenants.find(tenant))
        except UpstreamError:
            self.is_failing = True
            raise
        self.is_failing = False
        return found

    async def admit(self, tenant: str) -> bool:
        """Let a tenant live here that is in no cell yet; return whether it is here now."""
        return await self._breaker.call(lambda: self._tenants.admit(tenant))


class Place(NamedTuple):
    """The cell that serves a caller, and the caller's tenant if it was identified."""

    cell: CellAddress
    tenant: str | None = None


class _Caller(NamedTuple):
    tenant: str
    home: OpenCell
    """The cell that admits the tenant if no cell has it."""


@dataclass(frozen=True, slots=True)
class _Kept:
    place: Place
    until: float


class Directory:
    """Finds the cell of a caller."""

    def __init__(
        self,
        cells: Sequence[OpenCell],
        *,
        default: str,
        clock: Clock,
        guesses: Buckets | None = None,
        keep_seconds: float = _KEEP_SECONDS,
    ) -> None:
        self._cells = tuple(cells)
        self._default = next(cell for cell in cells if cell.address.name == default)
        self._clock = clock
        self._guesses = guesses
        self._keep_seconds = keep_seconds
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    async def find(self, connection: HTTPConnection, *, again: bool = False) -> Place:
        """Return the cell of a caller; `again` ignores what is remembered.

        A caller that cannot be identified gets the default cell, which refuses it.

        Raises:
            CellUnreachable: A database is needed that does not answer.
            TenantInSeveralCells: Two cells say that they have the tenant.
            TooManyRequests: The caller's address has sent too many unknown credentials.
        """
        digest = _credential_digest(connection)
        known = self._kept.get(digest) if digest is not None else None
        kept = None if again else known
        if kept is not None and self._clock.monotonic() < kept.until:
            return kept.place
        # Asked again, a cell has refused the caller: there it has been counted.
        is_guess = digest is not None and known is None and not again
        try:
            caller = await (self._guess(connection) if is_guess else self._identify(connection))
            place = await self._place_of(caller)
        except UpstreamError:
            if kept is None:
                raise
            return kept.place
        if digest is not None:
            self._keep(digest, place)
        return place

    async def _guess(self, connection: HTTPConnection) -> _Caller | None:
        """Identify a caller whose credential may be invented: its address may send only so many."""
        if self._guesses is None:
            return await self._identify(connection)
        address = network_of(connection)
        if wait := await self._guesses.take(address):
            raise TooManyRequests("Too many unknown credentials", retry_after=math.ceil(wait))
        caller = await self._identify(connection)
        if caller is not None:
            await self._guesses.give_back(address)
        return caller

    async def _place_of(self, caller: _Caller | None) -> Place:
        if caller is None:
            return Place(self._default.address)
        # Twice: a tenant that arrives while the cells are asked may be seen in none of them.
        cell = await self._cell_of(caller) or await self._cell_of(caller)
        if cell is None:
            raise CellUnreachable(
                f"Tenant '{caller.tenant}' has left a cell and is in no other",
                hint="see `bathysphere cells list` for each cell",
            )
        return Place(cell.address, caller.tenant)

    async def _identify(self, connection: HTTPConnection) -> _Caller | None:
        """Identify the caller in one cell after the other: a tenant's keys move with it."""
        unavailable: IdentityUnavailable | None = None
        for cell in sorted(self._cells, key=lambda cell: cell.is_failing):
            try:
                owner = await cell.owner_of(connection)
            except IdentityUnavailable as error:
                unavailable = error
            except CallerError:
                continue
            else:
                has_key = grant_of(connection).key_id is not None
                return _Caller(owner.tenant, cell if has_key else self._default)
        if unavailable is not None:
            raise CellUnreachable("The caller cannot be identified now") from unavailable
        return None

    async def _cell_of(self, caller: _Caller) -> OpenCell | None:
        """The tenant's cell, which may be its first; None if it is between two."""
        async with asyncio.TaskGroup() as group:
            tasks = {cell: group.create_task(_ask(cell, caller.tenant)) for cell in self._cells}
        found = {cell: task.result() for cell, task in tasks.items()}
        if cell := _cell_in(found, caller.tenant):
            return cell
        if any(isinstance(each, UpstreamError) for each in found.values()):
            raise CellUnreachable(
                f"The cell of tenant '{caller.tenant}' cannot be found: a database is unavailable"
            )
        # Only a tenant that no cell knows: one that has left is on its way to another.
        is_new = not any(found.values())
        return caller.home if is_new and await caller.home.admit(caller.tenant) else None

    def _keep(self, digest: bytes, place: Place) -> None:
        if place.tenant is None:
            self._kept.pop(digest, None)
            return
        self._kept[digest] = _Kept(place, self._clock.monotonic() + self._keep_seconds)
        self._kept.move_to_end(digest)
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)


Answer = Residence | UpstreamError | None


async def _ask(cell: OpenCell, tenant: str) -> Answer:
    try:
        return await cell.find(tenant)
    except UpstreamError as error:
        return error


def _cell_in(found: Mapping[OpenCell, Answer], tenant: str) -> OpenCell | None:
    """The cell that has the tenant, or from which it is leaving."""
    states = {cell: each.state for cell, each in found.items() if isinstance(each, Residence)}
    here = [cell for cell, state in states.items() if state == "here"]
    if len(here) > 1:
        names = " and ".join(f"'{cell.address.name}'" for cell in here)
        _log.error("Tenant %r is in several cells: %s", tenant, names)
        raise TenantInSeveralCells(
            f"Tenant '{tenant}' is in cells {names}",
            hint="see `bathysphere cells list` for each of them, and stop writes to one",
        )
    between = [cell for cell, state in states.items() if state in BETWEEN]
    return next(iter((*here, *between)), None)


def _credential_digest(connection: HTTPConnection) -> bytes | None:
    found = [
        value
        for name, value in connection.scope["headers"]
        if name in (b"authorization", b"x-api-key")
    ]
    return hashlib.sha256(b"\0".join(found)).digest() if found else None
