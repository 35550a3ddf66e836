"""Security response headers."""

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send


def content_security_policy(connect: Iterable[str] = ()) -> str:
    """Content-Security-Policy of our pages: own origin, plus `connect` for requests."""
    origins = " ".join(("'self'", *connect))
    return "; ".join(
        (
            "default-src 'self'",
            # Semantic search compiles WebAssembly; `eval` of text stays forbidden.
            "script-src 'self' 'wasm-unsafe-eval'",
            f"connect-src {origins}",
            "img-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """Adds the headers to every response; headers set by the app take precedence."""

    def __init__(self, app: ASGIApp, *, connect: Iterable[str] = ()) -> None:
        self._app = app
        self._headers = (
            (b"content-security-policy", content_security_policy(connect).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_wrapper(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(header for header in self._headers if header[0] not in present),
                ]
            await send(message)

        await self._app(scope, receive, send_wrapper)
