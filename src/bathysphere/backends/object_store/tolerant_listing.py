"""Listing without obstore, for buckets that contain keys obstore rejects.

A single key with an empty or dot segment or a control character makes obstore reject the whole page
of a listing. This module lists over HTTP, returns the valid keys and reports the rest.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import httpx

from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.backends.object_store.objects import Listing, Meta, StorageFailed, Version
from bathysphere.core.clock import Clock, SystemClock

RawList = Callable[[str, bool], Listing]
"""A function of a prefix and whether to descend into folders, to the listing."""
_TRIES = 4


def raw_lister(config: BucketConfig, *, clock: Clock | None = None) -> RawList | None:
    """Return the HTTP lister of a bucket; None if it needs none, or there are no credentials."""
    ask: Callable[[dict[str, str]], httpx.Request] | None = None
    signer = _Signer(config, clock or SystemClock())
    if config.kind == "gcs" and config.service_account_key:
        ask = signer.gcs
    elif config.kind == "s3" and config.access_key and config.secret_key:
        ask = signer.s3
    elif config.kind == "azure" and config.access_key and config.secret_key:
        ask = signer.azure
    if ask is None:
        return None
    is_azure, timeout = config.kind == "azure", config.timeout_seconds
    asked = ask

    def listed(prefix: str, is_deep: bool) -> Listing:
        found = Listing([], [], [])
        with httpx.Client(timeout=timeout, trust_env=False) as client:
            for page in _pages(client, asked, f"{prefix}/", is_deep=is_deep, is_azure=is_azure):
                _keep(page, found)
        found.metas.sort(key=lambda meta: meta.key)
        return found

    return listed


def is_sound(key: str) -> bool:
    """Whether obstore accepts this key."""
    segments = key.split("/")
    controls = any(ord(c) < 32 or 127 <= ord(c) < 160 for c in key)
    return not controls and not any(segment in ("", ".", "..") for segment in segments)


@dataclass(frozen=True, slots=True)
class _Page:
    metas: list[Meta]
    folders: list[str]
    next_token: str | None


def _keep(page: _Page, found: Listing) -> None:
    for meta in page.metas:
        if is_sound(meta.key):
            found.metas.append(meta)
        else:
            found.strange.append(meta.key)
    for folder in page.folders:
        name = folder.removesuffix("/")
        (found.folders if is_sound(name) else found.strange).append(name)


def _pages(
    client: httpx.Client,
    ask: Callable[[dict[str, str]], httpx.Request],
    prefix: str,
    *,
    is_deep: bool,
    is_azure: bool,
) -> Iterator[_Page]:
    token: str | None = None
    while True:
        query = {"prefix": prefix} | ({} if is_deep else {"delimiter": "/"})
        if is_azure:
            query |= {"restype": "container", "comp": "list"} | ({"marker": token} if token else {})
        else:
            query |= {"list-type": "2"} | ({"continuation-token": token} if token else {})
        page = _read_page(_answer(client, ask, query))
        yield page
        if not page.next_token:
            return
        token = page.next_token


def _answer(
    client: httpx.Client, ask: Callable[[dict[str, str]], httpx.Request], query: dict[str, str]
) -> bytes:
    for attempt in range(_TRIES):
        try:
            answer = client.send(ask(query))
            answer.raise_for_status()
        except httpx.HTTPError as error:
            if attempt == _TRIES - 1:
                raise StorageFailed(f"storage error: {type(error).__name__}") from error
        else:
            return answer.content
    raise AssertionError("unreachable")


def _read_page(body: bytes) -> _Page:
    # S3 escapes control characters in a way that is not valid XML. Any invalid character will do.
    text = body.decode("utf-8", "replace")
    for number in (n for n in range(32) if n not in (9, 10, 13)):
        for form in (f"&#{number};", f"&#x{number:x};", f"&#x{number:X};", chr(number)):
            text = text.replace(form, "\x7f")
    try:
        tree = ElementTree.fromstring(text)  # noqa: S314  # from the operator's own store
    except ElementTree.ParseError as error:
        raise StorageFailed("invalid response to a listing request") from error
    metas, folders = [], []
    for element in tree.iter():
        name = _tag(element)
        if name in ("Contents", "Blob"):
            metas.append(_meta(_texts(element)))
        elif name in ("CommonPrefixes", "BlobPrefix"):
            given = _texts(element)
            folders.append(given.get("Prefix") or given.get("Name", ""))
    texts = {_tag(child): child.text for child in tree}
    return _Page(metas, folders, texts.get("NextContinuationToken") or texts.get("NextMarker"))


def _meta(given: dict[str, str]) -> Meta:
    modified = given.get("LastModified") or given.get("Last-Modified", "")
    is_rfc = "," in modified
    at = parsedate_to_datetime(modified) if is_rfc else datetime.fromisoformat(modified)
    version = Version(given.get("ETag") or given.get("Etag"), given.get("Generation"))
    size = int(given.get("Size") or given.get("Content-Length") or 0)
    return Meta(given.get("Key") or given.get("Name", ""), size, version, at)


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _texts(element: Any) -> dict[str, str]:
    return {_tag(child): child.text or "" for child in element.iter()}


# ── asking, signed as each store wants it ──


class _Signer:
    def __init__(self, config: BucketConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock

    def gcs(self, query: dict[str, str]) -> httpx.Request:
        key = json.loads(self._config.service_account_key or "{}")
        base = key.get("gcs_base_url") or "https://storage.googleapis.com"
        headers = {}
        if not key.get("disable_oauth"):
            headers["authorization"] = f"Bearer {self._self_signed(key)}"
        url = f"{base}/{self._config.name}"
        return httpx.Request("GET", url, params=query, headers=headers)

    def _self_signed(self, key: dict[str, str]) -> str:
        """Create a self-signed JWT, which Google accepts without a token request."""
        import jwt  # comes with the server extra

        now = int(self._clock.now().timestamp())
        name, scope = key["client_email"], "https://www.googleapis.com/auth/devstorage.read_only"
        claims = {"iss": name, "sub": name, "scope": scope, "iat": now, "exp": now + 3600}
        return jwt.encode(
            claims, key["private_key"], "RS256", headers={"kid": key["private_key_id"]}
        )

    def s3(self, query: dict[str, str]) -> httpx.Request:
        config = self._config
        endpoint = config.endpoint or f"https://s3.{config.region}.amazonaws.com"
        now = self._clock.now()
        day, stamp = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
        empty = hashlib.sha256(b"").hexdigest()
        headers = {
            "host": urlsplit(endpoint).netloc,
            "x-amz-content-sha256": empty,
            "x-amz-date": stamp,
        }
        asked = "&".join(f"{_q(name)}={_q(query[name])}" for name in sorted(query))
        named = ";".join(sorted(headers))
        path = f"/{config.name}"
        listed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        canonical = f"GET\n{path}\n{asked}\n{listed}\n{named}\n{empty}"
        scope = f"{day}/{config.region}/s3/aws4_request"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        signing = f"AWS4{config.secret_key}".encode()
        for part in (day, config.region, "s3", "aws4_request"):
            signing = hmac.new(signing, part.encode(), hashlib.sha256).digest()
        text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{digest}"
        signature = hmac.new(signing, text.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={config.access_key}/{scope},"
            f"SignedHeaders={named},Signature={signature}"
        )
        return httpx.Request("GET", f"{endpoint}{path}?{asked}", headers=headers)

    def azure(self, query: dict[str, str]) -> httpx.Request:
        config = self._config
        endpoint = config.endpoint or f"https://{config.access_key}.blob.core.windows.net"
        when = format_datetime(self._clock.now().astimezone(UTC), usegmt=True)
        headers = {"x-ms-date": when, "x-ms-version": "2023-11-03"}
        listed = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        asked = "".join(f"\n{name}:{query[name]}" for name in sorted(query))
        path = f"{urlsplit(endpoint).path}/{config.name}"
        text = "GET" + "\n" * 12 + f"{listed}/{config.access_key}{path}{asked}"
        key = base64.b64decode(config.secret_key or "")
        signature = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest())
        headers["authorization"] = f"SharedKey {config.access_key}:{signature.decode()}"
        return httpx.Request("GET", f"{endpoint}/{config.name}", params=query, headers=headers)


def _q(text: str) -> str:
    return quote(text, safe="-_.~")
