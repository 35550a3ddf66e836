"""Serve the documentation site at `/help`, under a content policy of its own.

The site is built into the package: `make docs`. Like the browser app it is the same for everyone
and needs no sign-in.
"""

from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bathysphere.server.static_files import NO_CACHE, file_response, find_file

FOLDER = Path(__file__).parent / "help"
PREFIX = "/help"
CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",  # icons in the style sheet
        "connect-src 'self'",  # the search index
        "worker-src 'self'",  # the search
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
_NOT_BUILT = "The documentation is not built here. In a checkout: make docs.\n"
_NOT_FOUND = "This page is not in the documentation of this version. Start at /help/.\n"


class HelpFiles:
    """Serves GET and HEAD requests below `/help`; passes the rest to `fallback`."""

    def __init__(self, fallback: ASGIApp, *, folder: Path = FOLDER) -> None:
        self._fallback = fallback
        self._folder = folder.resolve()  # the install path may be a symlink

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        is_help = (
            scope["type"] == "http"
            and scope["method"] in ("GET", "HEAD")
            and (scope["path"] == PREFIX or scope["path"].startswith(f"{PREFIX}/"))
        )
        if not is_help:
            await self._fallback(scope, receive, send)
            return
        path = scope["path"].removeprefix(PREFIX)
        response = await run_in_threadpool(self._respond, path, Headers(scope=scope))
        response.headers["content-security-policy"] = CONTENT_POLICY
        await response(scope, receive, send)

    def _respond(self, path: str, headers: Headers) -> Response:
        if not (self._folder / "index.html").is_file():
            return PlainTextResponse(_NOT_BUILT, 404, headers={"cache-control": NO_CACHE})
        page = find_file(self._folder, f"{path.removesuffix('/')}/index.html")
        if page is not None and not path.endswith("/"):
            # Relative, so that it is right behind a proxy that adds a prefix.
            return RedirectResponse(f"{(path or PREFIX).rpartition('/')[2]}/")
        file = page or find_file(self._folder, path)
        if file is None:
            return PlainTextResponse(_NOT_FOUND, 404, headers={"cache-control": NO_CACHE})
        return file_response(file, headers, is_hashed=False)
