"""The answer to a request that does not get as far as the app."""

from collections.abc import Iterable

import orjson
from starlette.types import Send

Headers = Iterable[tuple[bytes, bytes]]


async def refuse(
    send: Send, status: int, *, code: str, message: str, hint: str, headers: Headers = ()
) -> None:
    """Send an error in the form that the app's own errors have."""
    sentence = f"{message} ({hint})"
    body = orjson.dumps({"error": code, "message": message, "hint": hint, "detail": sentence})
    start = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})
