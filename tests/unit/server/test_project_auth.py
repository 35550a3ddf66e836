"""A project's authentication: who a caller is, and that no route escapes authorization."""

import asyncio
from types import SimpleNamespace

import pytest
from langgraph_sdk import Auth
from starlette.requests import HTTPConnection

from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.registry.errors import LoadError
from bathysphere.registry.targets import parse_attribute
from bathysphere.server.app import ROUTERS
from bathysphere.server.identity import IdentityUnavailable, Unauthenticated
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.project_options import ProjectOptions, with_project_auth
from bathysphere.server.process.settings import ServerSettings
from bathysphere.server.project_auth.authenticate import ProjectIdentity, load_auth
from bathysphere.server.project_auth.filters import AccessDenied
from bathysphere.server.project_auth.operations import OPERATIONS

NO_USER_DATA = {"/shared/{share_id}", "/ok", "/info", "/docs", "/sign-in", "/verify"}


def identify(handler) -> Owner:
    auth = Auth()
    auth.authenticate(handler)
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/threads",
        "query_string": b"a=1",
        "headers": [(b"authorization", b"Bearer x"), (b"x-team", b"red")],
    }
    return asyncio.run(ProjectIdentity(auth).identify(HTTPConnection(scope)))


def returning(value):
    async def authenticate():
        return value

    return authenticate


@pytest.mark.parametrize(
    ("value", "owner"),
    [
        ("ada", Owner(tenant="default", user="ada")),
        ({"identity": "ada"}, Owner(tenant="default", user="ada")),
        ({"identity": "ada", "tenant": "acme"}, Owner(tenant="acme", user="ada")),
        (SimpleNamespace(identity="ada", tenant="acme"), Owner(tenant="acme", user="ada")),
    ],
)
def test_an_identity_is_the_user_of_a_tenant(value, owner):
    assert identify(returning(value)) == owner


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        " ",
        {},
        {"identity": None},
        {"identity": 5},
        {"identity": "a\nb"},
        {"identity": "a" * 256},
        {"identity": "ada", "tenant": ""},
        {"identity": "ada", "tenant": None},
    ],
)
def test_what_is_not_an_identity_lets_nobody_in(value):
    with pytest.raises(Unauthenticated):
        identify(returning(value))


def test_a_handler_gets_what_it_names():
    def authenticate(method, path, headers, query_params, authorization):
        return f"{method} {path} {headers[b'x-team'].decode()} {query_params['a']} {authorization}"

    assert identify(authenticate).user == "GET /threads red 1 Bearer x"


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        (Auth.exceptions.HTTPException(status_code=401, detail="no"), Unauthenticated),
        (Auth.exceptions.HTTPException(status_code=403, detail="no"), AccessDenied),
        (AssertionError("no"), Unauthenticated),
        (RuntimeError("no"), IdentityUnavailable),
    ],
)
def test_a_handler_that_raises_lets_nobody_in(raised, seen):
    async def authenticate():
        raise raised

    with pytest.raises(seen):
        identify(authenticate)


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("auth = 5", "an object of type int"),
        ("from langgraph_sdk import Auth\nauth = Auth()", "no authentication handler"),
        (
            "from langgraph_sdk import Auth\nauth = Auth()\n"
            "@auth.authenticate\nasync def who(body): ...",
            "body",
        ),
    ],
)
def test_an_object_that_cannot_identify_is_an_error_at_the_start(tmp_path, code, problem):
    name = f"own_auth_{abs(hash(code))}.py"  # a module is imported once per process
    (tmp_path / name).write_text(code)
    with pytest.raises(LoadError, match=problem) as refused:
        load_auth(parse_attribute(f"./{name}:auth", folder=tmp_path))
    assert refused.value.hint


def test_the_settings_and_the_project_agree_on_authentication():
    own = ProjectOptions(auth=Auth())
    assert with_project_auth(ServerSettings(), own).auth == ("project",)
    assert with_project_auth(ServerSettings(auth="project"), own).auth == ("project",)
    assert with_project_auth(ServerSettings(), ProjectOptions()).is_anonymous
    for asked in ("api-key", "anonymous"):
        with pytest.raises(ConfigError, match=asked):
            with_project_auth(ServerSettings(auth=asked), own)
    with pytest.raises(ConfigError, match="no authentication"):
        with_project_auth(ServerSettings(auth="project"), ProjectOptions())


def test_every_route_with_data_asks_the_authorization():
    routes = [route for router in ROUTERS for route in router.routes]
    unasked = {route.path for route in routes if not isinstance(route, StrictRoute)}
    assert unasked == NO_USER_DATA


def test_every_operation_that_is_listed_exists():
    routes = [route for router in ROUTERS for route in router.routes]
    names = {f"{route.tags[0]}-{route.name}".replace("_", "-") for route in routes}
    assert OPERATIONS.keys() <= names
    langgraph = ("threads-", "state-", "runs-", "stateless-", "crons-", "assistants-", "store-")
    assert {name for name in names if name.startswith((*langgraph, "protocol-"))} <= (
        OPERATIONS.keys()
    )
