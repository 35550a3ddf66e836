"""The XML API, as used by obstore."""

import secrets
from xml.etree.ElementTree import fromstring

from bathysphere.testing.gcs.objects import (
    Bucket,
    Buckets,
    Object,
    Refusal,
    no_such_key,
    precondition_failed,
)
from bathysphere.testing.gcs.wire import (
    XMLNS,
    Answer,
    Request,
    decode,
    integer,
    media,
    object_headers,
    xml,
    xml_answer,
)

MOST = 1000


class XmlApi:
    """Handles `/{bucket}` and `/{bucket}/{key}`."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets
        self._uploads: dict[str, dict[int, bytes]] = {}

    def answer(self, request: Request) -> Answer:
        """Handle a request; errors are raised."""
        bucket = self._buckets[request.segments[0]]
        key = request.segments[1] if len(request.segments) > 1 else ""
        if not key:
            if request.method == "GET":
                return _list(bucket, request)
            raise Refusal(405, "MethodNotAllowed")
        if "uploads" in request.query or "uploadId" in request.query:
            return self._multipart(bucket, key, request)
        if request.method in ("GET", "HEAD"):
            return _get(bucket.get(key), request)
        if request.method == "PUT":
            return self._put(bucket, key, request)
        if request.method == "DELETE":
            bucket.delete(key, if_generation=_if_generation(request))
            return Answer(204)
        raise Refusal(405, "MethodNotAllowed")

    def _put(self, bucket: Bucket, key: str, request: Request) -> Answer:
        source = request.headers.get("x-goog-copy-source")
        if source is None:
            made = self._store(bucket, key, request.body, request)
            return Answer(200, object_headers(made))
        from_bucket, _, from_key = decode(source.encode()).removeprefix("/").partition("/")
        found = self._buckets[from_bucket].get(from_key)
        made = self._store(bucket, key, found.data, request)
        return xml_answer(
            f"<CopyObjectResult><ETag>{xml(made.etag)}</ETag></CopyObjectResult>",
            headers={"x-goog-generation": str(made.generation)},
        )

    def _store(self, bucket: Bucket, key: str, data: bytes, request: Request) -> Object:
        meta = "x-goog-meta-"
        made = Object(
            key=key,
            data=data,
            generation=self._buckets.next_generation(),
            content_type=request.headers.get("content-type", "application/octet-stream"),
            metadata={n.removeprefix(meta): v for n, v in request.headers.items() if meta in n},
        )
        return bucket.put(made, if_generation=_if_generation(request))

    def _multipart(self, bucket: Bucket, key: str, request: Request) -> Answer:
        if "uploads" in request.query and request.method == "POST":
            upload = secrets.token_hex(8)
            self._uploads[upload] = {}
            return xml_answer(
                "<InitiateMultipartUploadResult>"
                f"<Bucket>{xml(bucket.name)}</Bucket><Key>{xml(key)}</Key>"
                f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
            )
        upload = request.query.get("uploadId", "")
        if upload not in self._uploads:
            raise Refusal(404, "NoSuchUpload", "notFound")
        if request.method == "PUT":
            number = request.number("partNumber") or 0
            self._uploads[upload][number] = request.body
            return Answer(200, {"etag": f'"{upload}-{number}"'})
        parts = self._uploads.pop(upload)
        if request.method == "DELETE":
            return Answer(204)
        data = b"".join(parts[number] for number in _numbers(request.body))
        made = self._store(bucket, key, data, request)
        return xml_answer(
            f"<CompleteMultipartUploadResult><ETag>{xml(made.etag)}</ETag>"
            "</CompleteMultipartUploadResult>",
            headers={"x-goog-generation": str(made.generation)},
        )


def _numbers(body: bytes) -> list[int]:
    found = [e.text for e in fromstring(body).iter() if e.tag.endswith("PartNumber")]  # noqa: S314  # our own tests' XML
    return [int(text) for text in found if text]


def _if_generation(request: Request) -> int | None:
    return integer(request.headers.get("x-goog-if-generation-match"))


def _get(found: Object, request: Request) -> Answer:
    match, none_match = request.headers.get("if-match"), request.headers.get("if-none-match")
    if match is not None and match not in ("*", found.etag):
        raise precondition_failed()
    if none_match is not None and none_match in ("*", found.etag):
        return Answer(304, object_headers(found))
    wanted = request.number("generation")
    if wanted is not None and wanted != found.generation:
        raise no_such_key()
    return media(request, found)


def _list(bucket: Bucket, request: Request) -> Answer:
    query = request.query
    start = ""
    if (token := query.get("continuation-token")) is not None:
        start = bytes.fromhex(token).decode()
    elif (after := query.get("start-after")) is not None:
        start = bucket.after(after)
    most = min(request.number("max-keys") or MOST, MOST)
    prefix = query.get("prefix", "")
    page = bucket.page(prefix, query.get("delimiter", ""), start, most)
    more = ""
    if page.next_start is not None:
        token = page.next_start.encode().hex()
        more = f"<NextContinuationToken>{token}</NextContinuationToken>"
    return xml_answer(
        f'<ListBucketResult xmlns="{XMLNS}"><Name>{xml(bucket.name)}</Name>'
        f"<Prefix>{xml(prefix)}</Prefix><KeyCount>{len(page.objects)}</KeyCount>"
        f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}"
        + "".join(map(_contents, page.objects))
        + "".join(f"<CommonPrefixes><Prefix>{xml(p)}</Prefix></CommonPrefixes>"
                  for p in page.prefixes)
        + "</ListBucketResult>"
    )  # fmt: skip


def _contents(found: Object) -> str:
    modified = found.modified.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    return (
        f"<Contents><Key>{xml(found.key)}</Key><Generation>{found.generation}</Generation>"
        f"<MetaGeneration>1</MetaGeneration><LastModified>{modified}</LastModified>"
        f"<ETag>{xml(found.etag)}</ETag><Size>{len(found.data)}</Size></Contents>"
    )
