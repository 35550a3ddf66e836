"""Requests that need no authentication. Others are refused before their body is read."""

from collections.abc import Callable

from starlette.types import Scope

PUBLIC_PATHS = frozenset({"/ok", "/info", "/sign-in", "/verify", "/payments"})
"""Routes without user data: liveness, version, how to sign in, the verifier page, prices."""
SHARED_PREFIX = "/shared/"
"""Shared conversations: whoever has the link may read."""
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
        if path.startswith(SHARED_PREFIX):
            return True
        return path in PUBLIC_PATHS or path.strip("/").split("/")[0] not in private

    return is_public
