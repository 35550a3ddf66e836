"""The operator's own routes: beside ours, behind the same authentication."""

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from bathysphere.core.identity import Owner
from bathysphere.registry.errors import LoadError
from bathysphere.registry.targets import parse_attribute
from bathysphere.server.app import describe_app
from bathysphere.server.custom_routes import CustomRoutes, load_app
from bathysphere.server.identity import Unauthenticated


async def who(request):
    return JSONResponse({"user": request.user.identity, "tenant": request.user["tenant"]})


OWN = Starlette(routes=[Route("/{desk}/who", who, methods=["GET", "POST"]), Route("/ok", who)])


def client(identify) -> httpx.AsyncClient:
    app = describe_app()
    app.router.default = CustomRoutes(OWN, app.router.default, identify=identify)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test")


async def ada(connection):
    return Owner(tenant="acme", user="ada")


async def nobody(connection):
    raise Unauthenticated("No credential")


async def test_a_route_of_the_project_knows_the_caller():
    async with client(ada) as caller:
        answer = await caller.get("/help/who")
    assert answer.json() == {"user": "ada", "tenant": "acme"}


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_without_an_identity_there_is_no_way_in(method):
    async with client(nobody) as caller:
        answer = await caller.request(method, "/help/who")
    assert answer.status_code == 401


async def test_our_routes_come_first_and_unknown_ones_stay_unknown():
    async with client(ada) as caller:
        assert "user" not in (await caller.get("/ok")).json()
        assert (await caller.get("/nothing/at/all")).status_code == 404


def test_only_an_app_is_served(tmp_path):
    (tmp_path / "routes_a.py").write_text("app = 5")
    with pytest.raises(LoadError, match="is an object of type int"):
        load_app(parse_attribute("routes_a.py:app", folder=tmp_path))
