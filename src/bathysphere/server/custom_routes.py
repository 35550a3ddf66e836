"""Routes of the operator's own app (`http.app` of a `langgraph.json`), beside ours.

They come after our routes and before the browser app, so they cannot shadow the API. Every request
to them is authenticated; the caller is `request.user`.
"""

from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.core.run_context import RunContext, RunUser
from bathysphere.registry.errors import LoadError
from bathysphere.registry.modules import import_target
from bathysphere.registry.targets import AttributeTarget
from bathysphere.server.identity import Identify
from bathysphere.server.identity.identify import USER_KEY


def load_app(target: AttributeTarget) -> Starlette:
    """Import the app.

    Raises:
        LoadError: It cannot be imported, or is not a Starlette or FastAPI app.
    """
    app = import_target(target)
    if not isinstance(app, Starlette):
        raise LoadError(
            f"{target.text} is an object of type {type(app).__name__}",
            hint="'http.app' must be a Starlette or FastAPI app",
        )
    return app


class CustomRoutes:
    """Passes a request to the operator's app if one of its routes matches, else to `fallback`."""

    def __init__(self, app: Starlette, fallback: ASGIApp, *, identify: Identify) -> None:
        self._app = app
        self._fallback = fallback
        self._identify = identify

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http" or not self._matches(scope):
            await self._fallback(scope, receive, send)
            return
        owner = await self._identify(HTTPConnection(scope))
        own = RunUser(RunContext(tenant=owner.tenant, user=owner.user))
        user = scope.get(USER_KEY, own)
        await self._app({**scope, "user": user}, receive, send)

    def _matches(self, scope: Scope) -> bool:
        return any(route.matches(scope)[0] is not Match.NONE for route in self._app.routes)
