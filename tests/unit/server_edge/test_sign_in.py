"""What the server says about signing in, what its pages may call for it, and who is an admin."""

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import HTTPConnection
from test_oidc import HandClock, Issuer, oidc_for, token

from bathysphere.server import errors
from bathysphere.server.app import describe_app
from bathysphere.server.asgi.security_headers import SecurityHeaders
from bathysphere.server.asgi.stack import _connect
from bathysphere.server.deps import CurrentAdmin
from bathysphere.server.identity import identify_again, once, roles_of
from bathysphere.server.identity.identify import ROLES_KEY, anonymous
from bathysphere.server.identity.sign_in import IssuerOffer
from bathysphere.server.process.addresses import origin_of
from bathysphere.server.process.settings import ServerSettings

ISSUER = "https://login.example.com:8443/realms/acme"


def settings(**changes) -> ServerSettings:
    values = {
        "auth": "oidc",
        "oidc_issuer": ISSUER,
        "oidc_audience": "us",
        "oidc_client_id": "browser",
        **changes,
    }
    return ServerSettings(**values)


async def offered(chosen: ServerSettings) -> dict:
    app = describe_app()
    app.state.sign_in = IssuerOffer.from_settings(chosen)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://us") as client:
        return (await client.get("/sign-in")).json()


async def test_the_browser_learns_where_to_sign_in_and_nothing_else():
    found = await offered(settings(oidc_scopes="offline_access,openid"))
    assert found == {
        "issuer": {
            "issuer": ISSUER,
            "client_id": "browser",
            "scopes": ["openid", "offline_access"],
            "audience": "us",
        }
    }


@pytest.mark.parametrize("changes", [{"oidc_client_id": None}, {"auth": "api-key"}])
async def test_nothing_is_offered_without_a_client_or_without_oidc(changes):
    chosen = settings(**changes)
    assert await offered(chosen) == {"issuer": None}
    assert _connect(chosen) == ()


async def test_pages_may_call_the_origin_of_the_issuer_and_no_other():
    chosen = settings(csp_connect="https://mint.example")
    transport = httpx.ASGITransport(app=SecurityHeaders(describe_app(), connect=_connect(chosen)))
    async with httpx.AsyncClient(transport=transport, base_url="http://us") as client:
        policy = (await client.get("/ok")).headers["content-security-policy"]
    allowed = "connect-src 'self' https://mint.example https://login.example.com:8443"
    assert allowed in policy.split("; ")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://a.example/x?y#z", "https://a.example"),
        ("https://ada:secret@A.example/", "https://a.example"),
        ("http://[::1]:9/x", "http://[::1]:9"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
    ],
)
def test_an_origin_has_no_path_and_no_password(url, origin):
    assert origin_of(url) == origin


def connection(credential: str, **scope: object) -> HTTPConnection:
    headers = [
        (b"authorization", f"Bearer {credential}".encode()),
        (b"x-roles", b"admin"),
        (b"x-user-role", b"admin"),
    ]
    return HTTPConnection({"type": "http", "headers": headers, **scope})


async def roles(claim: str | None, **claims: object) -> frozenset[str]:
    oidc = oidc_for(Issuer(), HandClock(), admin_claim=claim)
    asking = connection(token(**claims))
    await oidc.identify(asking)
    return roles_of(asking)


@pytest.mark.parametrize(
    ("claim", "value"),
    [
        ("role", "admin"),
        ("roles", ["user", "admin"]),
        ("https://acme.example/role", "admin"),
        ("realm_access.roles", None),
    ],
)
async def test_one_claim_of_the_token_makes_an_admin(claim, value):
    claims = {claim: value} if value else {"realm_access": {"roles": ["admin"]}}
    assert await roles(claim, **claims) == {"admin"}


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"roles": "administrator"},
        {"roles": ["administrator", ["admin"]]},
        {"roles": {"admin": True}},
        {"roles": True},
        {"role": "admin", "groups": ["admin"], "is_admin": True},
    ],
)
async def test_nothing_else_makes_an_admin(claims):
    assert await roles("roles", **claims) == frozenset()


async def test_without_the_setting_nobody_is_an_admin():
    assert await roles(None, roles=["admin"], role="admin") == frozenset()
    local = connection("")
    await anonymous(local)
    assert roles_of(local) == frozenset()


async def test_a_role_that_was_taken_away_is_not_found_when_identified_again():
    oidc = oidc_for(Issuer(), HandClock(), admin_claim="roles")
    asking = connection(token(), **{ROLES_KEY: frozenset({"admin"})})
    seen = []

    async def identify(again: HTTPConnection):
        seen.append(roles_of(again))
        return await oidc.identify(again)

    await identify_again(once(identify), asking)
    assert seen == [frozenset()]


async def test_a_route_for_admins_refuses_everybody_else():
    oidc = oidc_for(Issuer(), HandClock(), admin_claim="roles")
    app = FastAPI()
    errors.install(app)
    app.state.identify = once(oidc.identify)

    @app.get("/admin")
    async def admin(owner: CurrentAdmin) -> str:
        return owner.user

    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://us") as client:

        async def get(credential: str) -> httpx.Response:
            headers = {"authorization": f"Bearer {credential}", "x-roles": "admin"}
            return await client.get("/admin?roles=admin", headers=headers)

        assert (await get(token(roles=["admin"]))).json() == "ada"
        refused = await get(token(roles=["user"]))
        assert (refused.status_code, refused.json()["error"]) == (403, "not_allowed")
        assert (await get("nothing")).status_code == 401
