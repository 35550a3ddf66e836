"""Hold requests while their tenant moves to another cell, and refuse those of tenants elsewhere.

A tenant may also leave while the app works. What the app then says of missing rows is not true:
they are in the other cell. Such an answer is replaced by one that asks for another attempt: by the
router (421) if the request only read, because nothing is done twice then, and else by the client.
"""

import psycopg
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.core.errors import BathysphereError
from bathysphere.core.identity import Owner
from bathysphere.engine.cells.tenants import TenantElsewhere
from bathysphere.server.asgi.refusal import refuse
from bathysphere.server.cells.residence import Residences, TenantMoving
from bathysphere.server.errors import DatabaseUnavailable, status_of
from bathysphere.server.identity.identify import OWNER_KEY

_ABOUT_MISSING_ROWS = frozenset({401, 404, 500})
"""Also 500: it may be about a row that was there a moment before, or a refused write."""
_READING = ("/search", "/count", "/namespaces", "/history", "/state/checkpoint", "/versions")
"""Ends of the paths that read by POST."""


class CellGate:
    """Lets requests pass whose tenant is in this cell."""

    def __init__(self, app: ASGIApp, *, residences: Residences) -> None:
        self._app = app
        self._residences = residences

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        owner = scope.get(OWNER_KEY)
        if scope["type"] != "http" or not isinstance(owner, Owner):
            await self._app(scope, receive, send)
            return
        try:
            await self._residences.wait_until_here(owner.tenant)
        except (TenantElsewhere, TenantMoving) as error:
            await _refuse(send, error)
        except psycopg.Error:
            await _refuse(send, DatabaseUnavailable())
        else:
            await self._call(owner.tenant, scope, receive, send)

    async def _call(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        is_replaced = False

        async def send_wrapper(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start" and _needs_rows(scope, message["status"]):
                is_replaced = await self._residences.may_be_away(tenant)
                if is_replaced:
                    await _refuse(send, await self._reason(tenant, scope))
            if not is_replaced:
                await send(message)

        await self._app(scope, receive, send_wrapper)

    async def _reason(self, tenant: str, scope: Scope) -> BathysphereError:
        """Why an answer is not sent; known for a read only when its tenant has arrived."""
        if _is_read(scope):
            try:
                await self._residences.wait_until_here(tenant)
            except (TenantElsewhere, TenantMoving) as error:
                return error
            except psycopg.Error:
                return DatabaseUnavailable()
        return TenantMoving()


def _needs_rows(scope: Scope, status: int) -> bool:
    """Whether an answer is only true if no rows of the tenant are missing."""
    return status in _ABOUT_MISSING_ROWS or (status < 300 and _is_read(scope))


def _is_read(scope: Scope) -> bool:
    method = scope["method"]
    return method in ("GET", "HEAD") or (method == "POST" and scope["path"].endswith(_READING))


async def _refuse(send: Send, error: BathysphereError) -> None:
    """Send an error. The connection stays open: the router may still be sending the body."""
    headers = []
    if isinstance(error, TenantMoving):
        headers.append((b"retry-after", str(error.retry_after).encode()))
    await refuse(
        send,
        status_of(error),
        code=error.code,
        message=error.message,
        hint=error.hint or "try again in a moment",
        headers=headers,
    )
