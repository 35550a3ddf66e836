"""The middleware around the app, and its order."""

from dataclasses import dataclass

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from bathysphere.core.clock import Clock
from bathysphere.server.asgi.access_log import AccessLog
from bathysphere.server.asgi.admission import Admission, IsPublic, RateLimits
from bathysphere.server.asgi.body_limit import BodyLimit
from bathysphere.server.asgi.delayed_refusals import DelayedRefusals
from bathysphere.server.asgi.hosts import HostGuard
from bathysphere.server.asgi.measure import Measure
from bathysphere.server.asgi.open_requests import OpenLimits, OpenRequests
from bathysphere.server.asgi.peers import PeerGuard
from bathysphere.server.asgi.probes import Probes, Render
from bathysphere.server.asgi.security_headers import SecurityHeaders
from bathysphere.server.asgi.tenant_gate import TenantGate
from bathysphere.server.cells.gate import CellGate
from bathysphere.server.cells.residence import Residences
from bathysphere.server.identity import Identify
from bathysphere.server.identity.sign_in import IssuerOffer
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.settings import ServerSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """Dependencies of the middleware."""

    settings: ServerSettings
    identify: Identify
    health: Health
    metrics: Metrics
    render: Render
    clock: Clock
    is_public: IsPublic
    limits: RateLimits | None = None
    checks_peers: bool = False
    """Whether other users of this machine are refused."""
    residences: Residences | None = None
    """Which tenants are in this cell; None if there is only one."""


def wrap(app: ASGIApp, edge: Edge) -> ASGIApp:
    """Wrap the app in its middleware. Read from the bottom: the last one sees a request first."""
    settings = edge.settings
    if settings.requests_at_once:
        app = TenantGate(app, at_once=settings.requests_at_once)
    app = BodyLimit(app, limit=settings.max_body_bytes)
    if edge.residences is not None:
        # Inside the limit of open requests: those that wait for their tenant are bounded, too.
        app = CellGate(app, residences=edge.residences)
    app = OpenRequests(
        app,
        limits=OpenLimits(
            per_user=settings.max_open_per_user or None,
            per_tenant=settings.max_open_per_tenant or None,
        ),
    )
    app = Admission(
        app,
        identify=edge.identify,
        is_public=edge.is_public,
        limits=edge.limits,
        is_cell=edge.residences is not None,
    )
    app = DelayedRefusals(app)
    app = Measure(app, metrics=edge.metrics, clock=edge.clock)
    if settings.cors_origins:
        app = _cors(app, settings)
    app = Probes(
        app,
        health=edge.health,
        metrics=edge.render if _shows_metrics(settings) else None,
        metrics_token=_token(settings),
    )
    app = HostGuard(
        app,
        hosts=settings.hosts(),
        same_origin=settings.is_anonymous,
        origins=settings.cors_origins,
        any_address=settings.is_anonymous and not settings.is_loopback,
        is_public=edge.is_public,
    )
    if edge.checks_peers:
        app = PeerGuard(app)
    app = SecurityHeaders(app, connect=_connect(settings))
    return AccessLog(app, clock=edge.clock)


def _connect(settings: ServerSettings) -> tuple[str, ...]:
    """Other origins that the browser app may call: the operator's, and the issuer's."""
    offer = IssuerOffer.from_settings(settings)
    return (*settings.csp_connect, *((offer.origin,) if offer is not None else ()))


def _cors(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    # Without `allow_credentials`: callers send a key or a token, never a cookie.
    return CORSMiddleware(
        app,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=[
            "authorization",
            "content-type",
            "idempotency-key",
            "last-event-id",
            "mcp-protocol-version",
            "mcp-session-id",
            "x-api-key",
        ],
        expose_headers=[
            "content-location",
            "location",
            "mcp-session-id",
            "retry-after",
            "x-request-id",
        ],
        max_age=600,
    )


def _shows_metrics(settings: ServerSettings) -> bool:
    # Loopback is not enough: a local proxy, or any user of the machine, can reach it too.
    return settings.metrics_token is not None


def _token(settings: ServerSettings) -> str | None:
    return settings.metrics_token.get_secret_value() if settings.metrics_token else None
