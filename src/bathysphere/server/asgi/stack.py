"""The order of the layers around the app, in one place."""

from dataclasses import dataclass

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from bathysphere.core.clock import Clock
from bathysphere.server.asgi.access_log import AccessLog
from bathysphere.server.asgi.body_limit import BodyLimit
from bathysphere.server.asgi.buckets import Buckets
from bathysphere.server.asgi.hosts import HostGuard
from bathysphere.server.asgi.measure import Measure
from bathysphere.server.asgi.probes import Probes, Render
from bathysphere.server.asgi.rate_limit import RateLimit
from bathysphere.server.asgi.security_headers import SecurityHeaders
from bathysphere.server.identity import Identify
from bathysphere.server.observability.health import Health
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.settings import ServerSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """What the layers around an app use."""

    settings: ServerSettings
    identify: Identify
    health: Health
    metrics: Metrics
    render: Render
    clock: Clock
    buckets: Buckets | None = None


def wrap(app: ASGIApp, edge: Edge) -> ASGIApp:
    """The app as it is served. Read from the bottom: the last layer sees a request first."""
    settings = edge.settings
    app = BodyLimit(app, limit=settings.max_body_bytes)
    if edge.buckets is not None:
        app = RateLimit(app, buckets=edge.buckets, identify=edge.identify)
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
    )
    app = SecurityHeaders(app, connect=settings.csp_connect)
    return AccessLog(app, clock=edge.clock)


def _cors(app: ASGIApp, settings: ServerSettings) -> ASGIApp:
    # No credentials: who calls shows a key or a token, never a cookie.
    return CORSMiddleware(
        app,
        allow_origins=settings.cors_origins,
        allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
        allow_headers=["authorization", "content-type", "last-event-id", "x-api-key"],
        expose_headers=["content-location", "location", "retry-after", "x-request-id"],
        max_age=600,
    )


def _shows_metrics(settings: ServerSettings) -> bool:
    return settings.is_loopback or settings.metrics_token is not None


def _token(settings: ServerSettings) -> str | None:
    return settings.metrics_token.get_secret_value() if settings.metrics_token else None
