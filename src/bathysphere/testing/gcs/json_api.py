"""The JSON API and its uploads, as used by Google's client."""

import base64
import json
import re
import secrets
from dataclasses import dataclass
from email.parser import BytesParser
from typing import Any
from urllib.parse import quote

from bathysphere.testing.gcs.objects import (
    Bucket,
    Buckets,
    Object,
    Refusal,
    no_such_key,
    precondition_failed,
)
from bathysphere.testing.gcs.wire import Answer, Request, json_answer, media, object_headers


@dataclass
class _Upload:
    bucket: Bucket
    key: str
    about: dict[str, Any]
    if_generation: int | None
    data: bytes = b""


class JsonApi:
    """Handles `/storage/v1/b…`, `/download/…` and `/upload/…`."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self._resumable: dict[str, _Upload] = {}

    def answer(self, request: Request, *, is_download: bool = False) -> Answer:
        """Handle a request; `segments` start after `/b`."""
        names = request.segments
        if not names:
            return self._all(request)
        bucket = self._buckets[names[0]]
        if len(names) == 1:
            return json_answer(_about_bucket(bucket))
        if names[1] != "o":
            raise Refusal(404, "NotFound")
        if len(names) == 2 or not names[2]:
            return _list(bucket, request)
        return _one(bucket, names[2], request, is_download=is_download)

    def upload(self, request: Request) -> Answer:
        """Handle a request to `/upload/storage/v1/b/{bucket}/o`."""
        bucket = self._buckets[request.segments[0]]
        kind = request.query.get("uploadType")
        if "upload_id" in request.query:
            return self._chunk(request)
        if kind == "media":
            return self._stored(bucket, request.query["name"], request.body, {}, request)
        if kind == "multipart":
            about, data = _related(request)
            return self._stored(bucket, _name(about, request), data, about, request)
        if kind == "resumable":
            about = json.loads(request.body or b"{}")
            upload = secrets.token_hex(8)
            self._resumable[upload] = _Upload(
                bucket, _name(about, request), about, request.number("ifGenerationMatch")
            )
            host = request.headers.get("host", "")
            place = f"http://{host}/upload/storage/v1/b/{bucket.name}/o"
            location = f"{place}?uploadType=resumable&upload_id={upload}"
            return Answer(200, {"location": location, "x-guploader-uploadid": upload})
        raise Refusal(400, "BadRequest")

    def _all(self, request: Request) -> Answer:
        if request.method == "POST":
            return json_answer(
                _about_bucket(self._buckets.create(json.loads(request.body)["name"]))
            )
        items = [_about_bucket(self._buckets[name]) for name in self._buckets.names()]
        return json_answer({"kind": "storage#buckets", "items": items})

    def _chunk(self, request: Request) -> Answer:
        if (upload := self._resumable.get(request.query["upload_id"])) is None:
            raise Refusal(404, "NoSuchUpload", "notFound")
        given = re.fullmatch(
            r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)", request.headers.get("content-range", "")
        )
        if given is None or given[1] is not None or given[3] != "*":
            upload.data += request.body
        total = given[3] if given else str(len(upload.data))
        if total == "*" or int(total) > len(upload.data):
            seen = {"range": f"bytes=0-{len(upload.data) - 1}"} if upload.data else {}
            return Answer(308, seen)
        del self._resumable[request.query["upload_id"]]
        return self._made(upload, request)

    def _stored(
        self, bucket: Bucket, key: str, data: bytes, about: dict[str, Any], request: Request
    ) -> Answer:
        about = {"contentType": request.headers.get("content-type"), **about}
        match = request.number("ifGenerationMatch")
        return self._made(_Upload(bucket, key, about, match, data), request)

    def _made(self, upload: _Upload, request: Request) -> Answer:
        made = Object(
            key=upload.key,
            data=upload.data,
            generation=self._buckets.next_generation(),
            content_type=upload.about.get("contentType") or "application/octet-stream",
            metadata=upload.about.get("metadata") or {},
        )
        upload.bucket.put(made, if_generation=upload.if_generation)
        about = _about(upload.bucket, made, request)
        return json_answer(about, headers=object_headers(made) | _JSON)


_JSON = {"content-type": "application/json; charset=UTF-8"}


def _name(about: dict[str, Any], request: Request) -> str:
    return str(about.get("name") or request.query.get("name", ""))


def _related(request: Request) -> tuple[dict[str, Any], bytes]:
    """The two parts of a multipart upload: metadata and data."""
    boundary = re.search(r'boundary="?([^";]+)"?', request.headers.get("content-type", ""))
    if boundary is None:
        raise Refusal(400, "BadRequest")
    # Do not split on the boundary again: the data may contain it.
    mark = b"--" + boundary[1].encode()
    _, first, second = request.body.split(mark, 2)
    about = first.partition(b"\r\n\r\n")[2]
    head, _, content = second.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    kind = BytesParser().parsebytes(head + b"\r\n\r\n").get_content_type()
    return {"contentType": kind} | json.loads(about), content.rpartition(b"\r\n" + mark)[0]


def _one(bucket: Bucket, key: str, request: Request, *, is_download: bool) -> Answer:
    if request.method == "DELETE":
        bucket.delete(key, if_generation=request.number("ifGenerationMatch"))
        return Answer(204)
    if request.method != "GET":
        raise Refusal(405, "MethodNotAllowed")
    found = bucket.get(key)
    wanted = request.number("generation")
    if wanted is not None and wanted != found.generation:
        raise no_such_key()
    match = request.number("ifGenerationMatch")
    if match is not None and match != found.generation:
        raise precondition_failed()
    if is_download or request.query.get("alt") == "media":
        return media(request, found)
    return json_answer(_about(bucket, found, request))


def _list(bucket: Bucket, request: Request) -> Answer:
    query = request.query
    start = bytes.fromhex(query["pageToken"]).decode() if "pageToken" in query else ""
    most = min(request.number("maxResults") or 1000, 1000)
    page = bucket.page(query.get("prefix", ""), query.get("delimiter", ""), start, most)
    body: dict[str, Any] = {"kind": "storage#objects"}
    body["items"] = [_about(bucket, found, request) for found in page.objects]
    if page.prefixes:
        body["prefixes"] = page.prefixes
    if page.next_start is not None:
        body["nextPageToken"] = page.next_start.encode().hex()
    return json_answer(body)


def _about_bucket(bucket: Bucket) -> dict[str, Any]:
    return {"kind": "storage#bucket", "id": bucket.name, "name": bucket.name, "location": "US"}


def _about(bucket: Bucket, found: Object, request: Request) -> dict[str, Any]:
    place = f"http://{request.headers.get('host', '')}/download/storage/v1/b/{bucket.name}"
    at = found.modified.isoformat().replace("+00:00", "Z")
    about = {
        "kind": "storage#object",
        "id": f"{bucket.name}/{found.key}/{found.generation}",
        "name": found.key,
        "bucket": bucket.name,
        "generation": str(found.generation),
        "metageneration": "1",
        "contentType": found.content_type,
        "size": str(len(found.data)),
        "md5Hash": base64.b64encode(found.md5).decode(),
        "etag": found.etag,
        "timeCreated": at,
        "updated": at,
        "storageClass": "STANDARD",
        "metadata": found.metadata,
        "mediaLink": f"{place}/o/{quote(found.key, safe='')}?alt=media",
    }
    return about | ({"crc32c": found.crc32c} if found.crc32c is not None else {})
