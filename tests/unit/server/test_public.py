"""Which requests need no identity."""

import pytest
from fastapi.routing import APIRoute

from bathysphere.server.app import ROUTERS, first_segments
from bathysphere.server.deps import CurrentOwner
from bathysphere.server.identity.public_routes import PUBLIC_PATHS, SHARED_PREFIX, public_requests

IDENTIFY = CurrentOwner.__metadata__[0].dependency


def asks_for_an_owner(route: APIRoute) -> bool:
    waiting = [route.dependant]
    while waiting:
        dependant = waiting.pop()
        if dependant.call is IDENTIFY:
            return True
        waiting.extend(dependant.dependencies)
    return False


def test_the_public_paths_are_exactly_the_routes_that_ask_for_no_owner():
    routes = [r for router in ROUTERS for r in router.routes if isinstance(r, APIRoute)]
    without = {(m, r.path) for r in routes if not asks_for_an_owner(r) for m in r.methods}
    assert without == {("GET", path) for path in (*PUBLIC_PATHS, f"{SHARED_PREFIX}{{share_id}}")}


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/", True),
        ("HEAD", "/assets/index.js", True),
        ("GET", "/c/some-chat", True),
        ("GET", "/help/reference/settings/", True),
        ("GET", "/info", True),
        ("POST", "/info", False),
        ("POST", "/", False),
        ("GET", "/threads", False),
        ("GET", "//threads", False),
        ("GET", "/threads/x/state", False),
        ("POST", "/threads/search", False),
        ("GET", "/payments", True),
        ("GET", "/shared/some-link", True),
        ("POST", "/shared/some-link", False),
        ("GET", "/shared", False),
        ("GET", "/docs", False),
        ("GET", "/openapi.json", False),
        ("OPTIONS", "/threads", False),
    ],
)
def test_only_files_and_public_paths_need_no_identity(method, path, expected):
    is_public = public_requests(first_segments())
    assert is_public({"method": method, "path": path}) is expected
