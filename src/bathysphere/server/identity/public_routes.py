"""Requests that need no authentication. Others are refused before their body is read."""

from collections.abc import Callable

from starlette.types import Scope

PUBLIC_PATHS = frozenset({"/ok", "/info", "/verify", "/payments"})
"""Routes without user data: liveness, version, the verifier page, prices."""
_DESCRIPTIONS = frozenset({"docs", "redoc", "openapi.json"})


def public_requests(segments: frozenset[str]) -> Callable[[Scope], bool]:
    """Return a predicate: may this request be unauthenticated?

    Args:
        segments: First path segments of all routes; other paths are files of the browser app.
    """
    private = segments | _DESCRIPTIONS

    def is_public(scope: Scope) -> bool:
        if scope["method"] not in ("GET", "HEAD"):
            return False
        path = scope["path"]
        return path in PUBLIC_PATHS or path.strip("/").split("/")[0] not in private

    return is_public
