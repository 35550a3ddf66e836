"""Request metrics: counts, durations and open streams."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.core.clock import Clock
from bathysphere.server.observability.metrics import Metrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Measure:
    """Measures requests. The duration of a stream ends when its response starts."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, clock: Clock) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _ResponseMetrics(self._metrics, self._clock.monotonic())

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                response.start(message, self._clock.monotonic())
            await send(message)

        try:
            await self._app(scope, receive, send_wrapper)
        finally:
            response.end(_method(scope), _route(scope))


class _ResponseMetrics:
    """Metrics of one response."""

    def __init__(self, metrics: Metrics, began: float) -> None:
        self._metrics = metrics
        self._began = began
        self._seconds = 0.0
        self._is_stream = False
        self._status = 500

    def start(self, message: Message, now: float) -> None:
        self._status = message["status"]
        self._seconds = now - self._began
        kinds = (value for name, value in message["headers"] if name.lower() == b"content-type")
        self._is_stream = next(kinds, b"").startswith(b"text/event-stream")
        if self._is_stream:
            self._metrics.open_streams.inc()

    def end(self, method: str, route: str) -> None:
        if self._is_stream:
            self._metrics.open_streams.dec()
        self._metrics.requests.labels(method, route, str(self._status)).inc()
        self._metrics.request_seconds.labels(method, route).observe(self._seconds)


def _method(scope: Scope) -> str:
    """The HTTP method, or `other`: clients can invent methods, and each would be a new series."""
    return str(scope["method"]) if scope["method"] in _METHODS else "other"


def _route(scope: Scope) -> str:
    """The route's pattern; full paths would create a new series per thread."""
    return str(getattr(scope.get("route"), "path", "unmatched"))
