"""Serve the browser app: its built files, and `index.html` for any path that is not a route.

The router falls back to this only when no route matches, so it cannot shadow a route, and a wrong
API path still gets a JSON 404.
"""

import gzip
import mimetypes
from base64 import b64encode
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(__file__).parent / "static"
IMMUTABLE = "public, max-age=31536000, immutable"
NO_CACHE = "no-cache"
_COMPRESSED = (".js", ".css", ".html", ".svg", ".json", ".webmanifest", ".mjs")
_MAX_COMPRESSED = 4_000_000
_SANDBOXED_PAGE = "diagram.html"
_NOT_BUILT = "The browser app is not built here. In a checkout: make web. The API is running.\n"


class StaticFiles:
    """Serves GET and HEAD requests for the browser app; passes the rest to `fallback`."""

    def __init__(self, fallback: ASGIApp, *, routes: frozenset[str], folder: Path = FOLDER) -> None:
        self._fallback = fallback
        self._routes = routes
        self._folder = folder.resolve()  # the install path may be a symlink

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        response = None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            response = await run_in_threadpool(self._find, scope["path"], Headers(scope=scope))
        await (response or self._fallback)(scope, receive, send)

    def _find(self, path: str, headers: Headers) -> Response | None:
        file = find_file(self._folder, path)
        if file is not None:
            return file_response(file, headers, is_hashed=path.startswith("/assets/"))
        if not self._is_page(path, headers):
            return None
        index = self._folder / "index.html"
        if not index.is_file():
            return PlainTextResponse(_NOT_BUILT, headers={"cache-control": NO_CACHE})
        return file_response(index, headers, is_hashed=False)

    def _is_page(self, path: str, headers: Headers) -> bool:
        """Whether a browser is opening a page. API clients with a wrong path get a 404."""
        first = path.strip("/").split("/")[0]
        if first == "":
            return True  # the service worker requests it without `Accept: text/html`
        return first not in self._routes and "text/html" in headers.get("accept", "")


def find_file(folder: Path, path: str) -> Path | None:
    """The file of a URL's path, if the folder contains it; `folder` must be resolved."""
    parts = path.strip("/").split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        return None
    file = folder.joinpath(*parts)
    return file if file.is_file() and file.resolve().is_relative_to(folder) else None


def file_response(file: Path, headers: Headers, *, is_hashed: bool) -> Response:
    """The response with a file, compressed where that helps."""
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if file.suffix == ".webmanifest":
        media_type = "application/manifest+json"
    if file.suffix in (".js", ".mjs"):
        media_type = "text/javascript"
    cache_headers = {
        "cache-control": IMMUTABLE if is_hashed else NO_CACHE,
        "vary": "accept-encoding",
    }
    if file.name == _SANDBOXED_PAGE:
        cache_headers["content-security-policy"] = _sandbox_policy(file, file.stat().st_mtime_ns)
    size = file.stat().st_size
    if file.suffix not in _COMPRESSED or size > _MAX_COMPRESSED or not _accepts_gzip(headers):
        return FileResponse(file, media_type=media_type, headers=cache_headers)
    body = _gzipped(file, file.stat().st_mtime_ns)
    return Response(
        body, media_type=media_type, headers={**cache_headers, "content-encoding": "gzip"}
    )


def _accepts_gzip(headers: Headers) -> bool:
    return "gzip" in headers.get("accept-encoding", "")


@lru_cache(maxsize=512)
def _gzipped(file: Path, _modified: int) -> bytes:
    return gzip.compress(file.read_bytes(), 6, mtime=0)


@lru_cache(maxsize=8)
def _sandbox_policy(file: Path, _modified: int) -> str:
    """Policy of the page that draws diagrams: inline styles, but neither an origin nor requests.

    The app hands the program over as text, so its page needs scripts from blobs.
    """
    script = file.read_text("utf-8").partition("<script>")[2].partition("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return "; ".join(
        (
            "sandbox allow-scripts",
            "default-src 'none'",
            f"script-src 'sha256-{digest}' blob:",
            "style-src 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        )
    )
