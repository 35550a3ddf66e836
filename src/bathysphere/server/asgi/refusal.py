"""Error responses of the middleware, for requests that do not reach the app."""

from collections.abc import Iterable

import orjson
from starlette.types import Scope, Send

Headers = Iterable[tuple[bytes, bytes]]


async def refuse(
    send: Send, status: int, *, code: str, message: str, hint: str, headers: Headers = ()
) -> None:
    """Send an error in the same format as the app's errors."""
    sentence = f"{message} ({hint})"
    body = orjson.dumps({"error": code, "message": message, "hint": hint, "detail": sentence})
    start = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


def has_body(scope: Scope) -> bool:
    """Whether a request has a body."""
    return any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )
