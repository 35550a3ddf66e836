"""Share an API process among tenants: each has a limited number of requests in progress.

A request holds a permit from the arrival of its body until its response is ready, a stream until
its response starts. `OpenRequests` limits how many may wait; later work of a stream is bounded by
its tenant's share of the PostgreSQL connections (`engine.database.pool`). What counts as usage is
the time for which a tenant's requests occupy the event loop.
"""

from contextvars import ContextVar
from functools import partial

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.core.identity import Owner
from bathysphere.engine.tenant_shares import Permit, ShareLimits, TenantShares, acting_owner
from bathysphere.server.asgi.loop_time import LoopTime
from bathysphere.server.asgi.refusal import has_body
from bathysphere.server.identity.identify import OWNER_KEY

_FREE_LOOP_USAGE = 0.4
"""Part of the event loop's time that a tenant may use, however little the others use."""

_permit: ContextVar[Permit | None] = ContextVar("permit", default=None)


def release_permit() -> None:
    """Let the tenant's next request proceed, because this one is about to wait."""
    if (permit := _permit.get()) is not None:
        permit.release()


class TenantGate:
    """Limits a tenant's requests in progress, and sets the acting owner."""

    def __init__(self, app: ASGIApp, *, at_once: int) -> None:
        self._app = app
        self._shares = TenantShares(ShareLimits(at_once=at_once, free_usage=_FREE_LOOP_USAGE))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        owner = scope.get(OWNER_KEY)
        if scope["type"] != "http" or not isinstance(owner, Owner):
            await self._app(scope, receive, send)
            return
        permit = Permit(self._shares, owner, counts_held_time=False)

        async def receive_wrapper() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                await permit.acquire()
            return message

        async def send_wrapper(message: Message) -> None:
            if _is_ready(message):
                permit.release()
            await send(message)

        owner_token, permit_token = acting_owner.set(owner), _permit.set(permit)
        try:
            if not has_body(scope):
                await permit.acquire()
            await LoopTime(
                self._app(scope, receive_wrapper, send_wrapper),
                partial(self._shares.add_usage, owner),
            )
        finally:
            permit.release()
            _permit.reset(permit_token)
            acting_owner.reset(owner_token)


def _is_ready(message: Message) -> bool:
    """Whether a response only has to be sent: it is complete, a stream, or refused for now."""
    if message["type"] == "http.response.start":
        if message["status"] == 429:
            return True
        kinds = (value for name, value in message["headers"] if name.lower() == b"content-type")
        return next(kinds, b"").startswith(b"text/event-stream")
    return not message.get("more_body", False)
