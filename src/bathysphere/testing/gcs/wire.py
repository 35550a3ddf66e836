"""Requests and responses of the test double, independent of ASGI."""

import base64
import json
from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes
from xml.sax.saxutils import escape

from bathysphere.testing.gcs.objects import Object, Refusal

XMLNS = "http://doc.s3.amazonaws.com/2006-03-01"


@dataclass
class Request:
    """One request, decoded strictly."""

    method: str
    segments: list[str]
    """Percent-decoded path segments; the last may contain slashes."""
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def number(self, name: str) -> int | None:
        """A number from the query, or None."""
        return integer(self.query.get(name))


@dataclass
class Answer:
    """A response."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def integer(text: str | None) -> int | None:
    """Parse a number from a client, or None."""
    if text is None:
        return None
    if not text.isdigit():
        raise Refusal(400, "InvalidArgument", "invalid")
    return int(text)


def decode(raw: bytes) -> str:
    """Percent-decode UTF-8; rejects anything else."""
    try:
        return unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise Refusal(400, "InvalidURI", "invalid") from None


def split_path(raw: bytes, most: int) -> list[str]:
    """Decode the segments of a raw path, up to a maximum; the last keeps its slashes."""
    return [decode(part) for part in raw.removeprefix(b"/").split(b"/", most - 1)]


def query_of(raw: bytes) -> dict[str, str]:
    """Values of the query string; the last of each name wins."""
    return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))


def object_headers(found: Object) -> dict[str, str]:
    """Headers of every response about an object."""
    hashes = [f"md5={base64.b64encode(found.md5).decode()}"]
    if found.crc32c is not None:
        hashes.insert(0, f"crc32c={found.crc32c}")
    return {
        "etag": found.etag,
        "x-goog-generation": str(found.generation),
        "x-goog-metageneration": "1",
        "last-modified": format_datetime(found.modified, usegmt=True),
        "content-type": found.content_type,
        "x-goog-hash": ",".join(hashes),
        **{f"x-goog-meta-{name}": value for name, value in found.metadata.items()},
    }


def media(request: Request, found: Object) -> Answer:
    """The object's data, or the part requested by a `Range` header."""
    headers = object_headers(found)
    asked = request.headers.get("range")
    if asked is None:
        return Answer(200, headers, found.data)
    start, end = _range(asked, len(found.data))
    headers["content-range"] = f"bytes {start}-{end}/{len(found.data)}"
    return Answer(206, headers, found.data[start : end + 1])


def _range(asked: str, size: int) -> tuple[int, int]:
    first, _, last = asked.removeprefix("bytes=").partition("-")
    if not first:
        start, end = max(0, size - int(last)), size - 1
    else:
        start, end = int(first), min(int(last), size - 1) if last else size - 1
    if start > end or start >= size:
        raise Refusal(416, "InvalidRange", "requestedRangeNotSatisfiable")
    return start, end


def xml(text: str) -> str:
    """Escape text for XML; unsupported characters become references."""
    return "".join(c if c >= " " else f"&#{ord(c)};" for c in escape(text))


def xml_answer(body: str, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """An XML document."""
    whole = f'<?xml version="1.0" encoding="UTF-8"?>{body}'
    return Answer(status, {"content-type": "application/xml", **(headers or {})}, whole.encode())


def json_answer(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """A JSON document."""
    kind = {"content-type": "application/json; charset=UTF-8"}
    return Answer(status, {**kind, **(headers or {})}, json.dumps(body).encode())
