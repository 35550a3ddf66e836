"""The test double as an ASGI app: routing, latency and injected faults.

`/_fail?codes=429,-503,hang,-hang,cut&method=PUT` makes the next matching requests fail: a number
returns that status, a **negative** one commits first, `hang` never answers (`-hang` after
committing), `cut` sends half of the body and drops the connection. `/_latency?ms=25` delays every
request, `/_stats` returns counts, `/_reset` clears everything.
"""

import asyncio
from collections import Counter
from typing import Any

from bathysphere.testing.gcs.json_api import JsonApi
from bathysphere.testing.gcs.objects import Buckets, Refusal
from bathysphere.testing.gcs.wire import (
    Answer,
    Request,
    json_answer,
    query_of,
    split_path,
    xml,
    xml_answer,
)
from bathysphere.testing.gcs.xml_api import XmlApi

HANG_SECONDS = 60.0
PARTS = {b"/storage/v1/b": "json", b"/download/storage/v1/b": "download"}
UPLOAD = b"/upload/storage/v1/b"
_NO_BODY = frozenset({204, 304, 308})


class Double:
    """Serves buckets over HTTP."""

    def __init__(self, buckets: list[str]) -> None:
        self._names = buckets
        self.latency = 0.0
        self.reset()

    def reset(self) -> None:
        """Clear all objects, faults and counts."""
        self.buckets = Buckets(self._names)
        self._xml, self._json = XmlApi(self.buckets), JsonApi(self.buckets)
        self._faults: list[tuple[str, str]] = []
        self._requests: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            return
        body = await _body(receive)
        if scope["raw_path"].startswith(b"/_"):
            await _send(send, scope["method"], self._control(scope))
            return
        if self.latency:
            await asyncio.sleep(self.latency)
        self._requests[scope["method"]] += 1
        fault = self._fault(scope["method"])
        answer = _xml_error(Refusal(500, "Injected"))
        if fault is None or fault == "cut" or fault.startswith("-"):
            answer = self._answer(scope, body)
        if fault is None or fault == "cut":
            await _send(send, scope["method"], answer, is_cut=fault == "cut")
        elif fault.endswith("hang"):
            await asyncio.sleep(HANG_SECONDS)
        else:
            status = abs(int(fault))
            await _send(send, scope["method"], _xml_error(Refusal(status, "Injected")))

    def _fault(self, method: str) -> str | None:
        for place, (fault, of) in enumerate(self._faults):
            if of in ("", method):
                del self._faults[place]
                return fault
        return None

    def _answer(self, scope: Any, body: bytes) -> Answer:
        raw: bytes = scope["raw_path"].partition(b"?")[0]
        headers = {n.decode("latin-1"): v.decode("latin-1") for n, v in scope["headers"]}
        query = query_of(scope["query_string"])
        request = Request(scope["method"], [], query, headers, body)
        try:
            for start, kind in PARTS.items():
                if raw == start or raw.startswith(start + b"/"):
                    rest = raw[len(start) :]
                    request.segments = split_path(rest, 3) if rest.strip(b"/") else []
                    return self._json.answer(request, is_download=kind == "download")
            if raw.startswith(UPLOAD):
                request.segments = split_path(raw[len(UPLOAD) :], 2)
                return self._json.upload(request)
            request.segments = split_path(raw, 2)
            return self._xml.answer(request)
        except Refusal as refusal:
            return _json_error(refusal) if b"/storage/v1/" in raw else _xml_error(refusal)

    def _control(self, scope: Any) -> Answer:
        query = query_of(scope["query_string"])
        what = scope["raw_path"].partition(b"?")[0]
        if what == b"/_fail":
            method = query.get("method", "")
            self._faults += [(code, method) for code in query.get("codes", "").split(",") if code]
        elif what == b"/_latency":
            self.latency = float(query["ms"]) / 1000
        elif what == b"/_reset":
            self.reset()
        stats = {"requests": dict(self._requests), "objects": self.buckets.count()}
        return json_answer({**stats, "faults": len(self._faults)})


def _xml_error(refusal: Refusal) -> Answer:
    code = xml(refusal.code)
    return xml_answer(
        f"<Error><Code>{code}</Code><Message>{code}</Message></Error>", refusal.status
    )


def _json_error(refusal: Refusal) -> Answer:
    error = {"code": refusal.status, "message": refusal.code}
    return json_answer({"error": {**error, "errors": [{"reason": refusal.reason}]}}, refusal.status)


async def _body(receive: Any) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _send(send: Any, method: str, answer: Answer, *, is_cut: bool = False) -> None:
    body = b"" if method == "HEAD" else answer.body
    headers = dict(answer.headers)
    if answer.status not in _NO_BODY or answer.status == 308:
        headers["content-length"] = str(len(answer.body))
    raw = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": raw})
    if is_cut:
        await send(
            {"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True}
        )
        raise ConnectionAbortedError("Connection cut by an injected fault")
    await send({"type": "http.response.body", "body": body})
