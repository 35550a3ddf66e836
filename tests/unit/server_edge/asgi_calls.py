"""Calling an ASGI app by hand, message by message, so that nothing is buffered unseen."""

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


def scope(
    path: str = "/",
    *,
    method: str = "POST",
    headers: dict[str, str] | list[tuple[str, str]] | None = None,
    client: tuple[str, int] | None = ("127.0.0.1", 4000),
) -> dict[str, Any]:
    pairs = headers.items() if isinstance(headers, dict) else headers or []
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in pairs],
        "client": client,
        "server": ("127.0.0.1", 8123),
    }


class Answer:
    """What an app sent, in order."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    async def send(self, message: Message) -> None:
        self.messages.append(message)

    @property
    def status(self) -> int:
        starts = [m for m in self.messages if m["type"] == "http.response.start"]
        assert len(starts) == 1, "an answer has one beginning"
        return starts[0]["status"]

    @property
    def headers(self) -> dict[str, str]:
        return {n.decode(): v.decode() for n, v in self.messages[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(m.get("body", b"") for m in self.messages[1:])


async def call(app: ASGIApp, *chunks: bytes, **request: Any) -> Answer:
    """One request with its body in chunks."""
    left = list(chunks) or [b""]

    async def receive() -> Message:
        if not left:
            return {"type": "http.disconnect"}
        body = left.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    answer = Answer()
    await app(scope(**request), receive, answer.send)
    return answer


class Echo:
    """Reads the body, answers with its length; remembers how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await answer(send, 200, str(size).encode())


async def answer(send: Send, status: int, body: bytes, kind: str = "text/plain") -> None:
    headers = [(b"content-type", kind.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
