"""Counts requests and open streams. Their spans are FastAPI's own."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bathysphere.core.clock import Clock
from bathysphere.server.observability.metrics import Metrics

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Measure:
    """Measures what the app does with a request. A stream counts until its answer begins."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, clock: Clock) -> None:
        self._app = app
        self._metrics = metrics
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(self._metrics, self._clock.monotonic())

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.starts(message, self._clock.monotonic())
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            answer.ends(_method(scope), _route(scope))


class _Answer:
    """An answer while it is sent."""

    def __init__(self, metrics: Metrics, began: float) -> None:
        self._metrics = metrics
        self._began = began
        self._seconds = 0.0
        self._is_stream = False
        self._status = 500

    def starts(self, message: Message, now: float) -> None:
        self._status = message["status"]
        self._seconds = now - self._began
        kinds = (value for name, value in message["headers"] if name.lower() == b"content-type")
        self._is_stream = next(kinds, b"").startswith(b"text/event-stream")
        if self._is_stream:
            self._metrics.open_streams.inc()

    def ends(self, method: str, route: str) -> None:
        if self._is_stream:
            self._metrics.open_streams.dec()
        self._metrics.requests.labels(method, route, str(self._status)).inc()
        self._metrics.request_seconds.labels(method, route).observe(self._seconds)


def _method(scope: Scope) -> str:
    """The method, if it is one: anybody can make up others, and each would be a series."""
    return str(scope["method"]) if scope["method"] in _METHODS else "other"


def _route(scope: Scope) -> str:
    """The route's pattern; a path itself would make a new series for each thread."""
    return str(getattr(scope.get("route"), "path", "unmatched"))
