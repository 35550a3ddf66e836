"""The browser app: the files of its build, and its page for every address that is not a route's.

This is the router's last resort, asked only when no route has the path. So it can shadow nothing,
and a wrong path of the interface is still a 404 in JSON.
"""

import gzip
import mimetypes
from functools import lru_cache
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"
_ASK = "no-cache"
_COMPRESSED = (".js", ".css", ".html", ".svg", ".json", ".webmanifest", ".mjs")
_LARGEST = 2_000_000
_NOT_BUILT = "The browser app is not built here. In a checkout: make web. The interface answers.\n"


class StaticFiles:
    """Answers GET and HEAD with the app; everything else is `otherwise`'s."""

    def __init__(
        self, otherwise: ASGIApp, *, routes: frozenset[str], folder: Path = FOLDER
    ) -> None:
        self._otherwise = otherwise
        self._routes = routes
        self._folder = folder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        response = None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            response = await run_in_threadpool(self._find, scope["path"], Headers(scope=scope))
        await (response or self._otherwise)(scope, receive, send)

    def _find(self, path: str, headers: Headers) -> Response | None:
        file = self._file(path)
        if file is not None:
            return _served(file, headers, is_hashed=path.startswith("/assets/"))
        if not self._is_page(path, headers):
            return None
        index = self._folder / "index.html"
        if not index.is_file():
            return PlainTextResponse(_NOT_BUILT, headers={"cache-control": _ASK})
        return _served(index, headers, is_hashed=False)

    def _file(self, path: str) -> Path | None:
        parts = path.strip("/").split("/")
        if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
            return None
        file = self._folder.joinpath(*parts)
        return file if file.is_file() and file.resolve().is_relative_to(self._folder) else None

    def _is_page(self, path: str, headers: Headers) -> bool:
        """A person's browser opens a page; a client that mistyped an address gets its 404."""
        first = path.strip("/").split("/")[0]
        if first == "":
            return True  # the app's own cache asks for it without saying that it wants a page
        return first not in self._routes and "text/html" in headers.get("accept", "")


def _served(file: Path, headers: Headers, *, is_hashed: bool) -> Response:
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if file.suffix == ".webmanifest":
        kind = "application/manifest+json"
    if file.suffix in (".js", ".mjs"):
        kind = "text/javascript"
    own = {"cache-control": _FOREVER if is_hashed else _ASK, "vary": "accept-encoding"}
    size = file.stat().st_size
    if file.suffix not in _COMPRESSED or size > _LARGEST or not _takes_gzip(headers):
        return FileResponse(file, media_type=kind, headers=own)
    body = _zipped(file, file.stat().st_mtime_ns)
    return Response(body, media_type=kind, headers={**own, "content-encoding": "gzip"})


def _takes_gzip(headers: Headers) -> bool:
    return "gzip" in headers.get("accept-encoding", "")


@lru_cache(maxsize=512)
def _zipped(file: Path, _changed: int) -> bytes:
    return gzip.compress(file.read_bytes(), 6, mtime=0)
