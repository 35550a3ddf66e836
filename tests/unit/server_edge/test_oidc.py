"""Tokens: what is believed, and every forgery we know that must not be."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from functools import partial
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import BathysphereError
from bathysphere.core.identity import Owner
from bathysphere.server.identity import IdentityUnavailable, Unauthenticated
from bathysphere.server.identity.jwks import Jwks, issuer_client
from bathysphere.server.identity.oidc import Oidc, Trust

ISSUER = "https://issuer.example"
AUDIENCE = "bathysphere"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
PUBLIC_PEM = KEY.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


def jwk(key: Any, kid: str, **more: Any) -> dict[str, Any]:
    algorithm = RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else ECAlgorithm
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, **more}


class Issuer:
    """An issuer without a network: its keys, whether it is there, how often it was asked."""

    def __init__(self) -> None:
        self.keys = [jwk(KEY, "one"), jwk(CURVE, "curve")]
        self.is_there = True
        self.asked = 0
        self.jwks_uri = f"{ISSUER}/keys"
        self.urls: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.urls.append(str(request.url))
        if not self.is_there:
            raise httpx.ConnectError("refused")
        if request.url.path == "/.well-known/openid-configuration":
            return httpx.Response(200, json={"jwks_uri": self.jwks_uri})
        return httpx.Response(200, json={"keys": self.keys})


class HandClock(SystemClock):
    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def oidc(issuer, clock) -> Oidc:
    return oidc_for(issuer, clock)


def oidc_for(issuer: Issuer, clock: HandClock, **trust: Any) -> Oidc:
    http = httpx.AsyncClient(transport=httpx.MockTransport(issuer))
    values = {"issuer": ISSUER, "audience": AUDIENCE, "algorithms": ("RS256", "ES256"), **trust}
    return Oidc(Trust(**values), Jwks(http=http, clock=clock, issuer=ISSUER))


def claims(**changes: Any) -> dict[str, Any]:
    values = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": time.time() + 600, **changes}
    return {name: value for name, value in values.items() if value is not None}


def token(
    key: Any = KEY, *, algorithm: str = "RS256", kid: str | None = "one", **changes: Any
) -> str:
    return jwt.encode(
        claims(**changes), key, algorithm=algorithm, headers={"kid": kid} if kid else {}
    )


def raw(header: Any, payload: Any, signature: bytes = b"") -> str:
    def part(value: Any) -> str:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return base64.urlsafe_b64encode(body).rstrip(b"=").decode()

    return f"{part(header)}.{part(payload)}.{part(signature)}"


def signed_with_public_key_as_secret(algorithm: str) -> str:
    unsigned = raw({"alg": algorithm, "kid": "one"}, claims()).rpartition(".")[0]
    mac = hmac.new(PUBLIC_PEM, unsigned.encode(), hashlib.sha256).digest()
    return f"{unsigned}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


async def test_a_good_token_names_its_user(oidc):
    assert await oidc.owner_of(token()) == Owner(tenant="default", user="ada")


async def test_the_other_kinds_of_keys_work_too(oidc):
    good = token(CURVE, algorithm="ES256", kid="curve")
    assert (await oidc.owner_of(good)).user == "ada"


async def test_the_tenant_comes_from_the_configured_claim_and_from_nothing_else(issuer, clock):
    oidc = oidc_for(issuer, clock, tenant_claim="org", user_claim="email")
    owner = await oidc.owner_of(token(org="acme", email="ada@a", tenant="evil", user_id="root"))
    assert owner == Owner(tenant="acme", user="ada@a")


FORGERIES = {
    "no signature at all": lambda: raw({"alg": "none", "kid": "one"}, claims()),
    "no signature, spelt otherwise": lambda: raw({"alg": "nOnE", "kid": "one"}, claims()),
    "algorithm missing": lambda: raw({"kid": "one"}, claims()),
    "algorithm is a list": lambda: raw({"alg": ["RS256"], "kid": "one"}, claims()),
    "the public key as a shared secret": lambda: signed_with_public_key_as_secret("HS256"),
    "the public key as a shared secret, under a good name": lambda: (
        signed_with_public_key_as_secret("RS256")
    ),
    "an accepted algorithm of another family": lambda: token(CURVE, algorithm="ES256", kid="one"),
    "an algorithm that is not accepted": lambda: token(algorithm="RS512"),
    "somebody else's key": lambda: token(OTHER),
    "an unknown key id": lambda: token(OTHER, kid="two"),
    "a key id that is a path": lambda: token(OTHER, kid="../../dev/null"),
    "a key id that is a number": lambda: raw({"alg": "RS256", "kid": 1}, claims(), b"x"),
    "a key in the header": lambda: jwt.encode(
        claims(), OTHER, algorithm="RS256", headers={"jwk": jwk(OTHER, "three"), "kid": "three"}
    ),
    "another audience": lambda: token(aud="other"),
    "no audience": lambda: token(aud=None),
    "an audience that is a number": lambda: token(aud=7),
    "another issuer": lambda: token(iss="https://evil.example"),
    "an issuer that only starts the same": lambda: token(iss=f"{ISSUER}.evil.example"),
    "no issuer": lambda: token(iss=None),
    "out of date": lambda: token(exp=time.time() - 3600),
    "no end": lambda: token(exp=None),
    "an end that is a text": lambda: token(exp="tomorrow"),
    "an endless end": lambda: token(exp=float("inf")),
    "not yet": lambda: token(nbf=time.time() + 3600),
    "no user": lambda: token(sub=None),
    "an empty user": lambda: token(sub=""),
    "a blank user": lambda: token(sub="  "),
    "a user with a line end": lambda: token(sub="ada\nroot"),
    "an endless user": lambda: token(sub="a" * 300),
    "not a token": lambda: "hello",
    "a token of dots": lambda: "..",
    "a header that is not an object": lambda: raw([], claims(), b"x"),
    "claims that are not an object": lambda: raw({"alg": "RS256", "kid": "one"}, [], b"x"),
    "a header that is not JSON": lambda: raw(b"\xff\xfe", claims(), b"x"),
    "an empty text": lambda: "",
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
async def test_a_forgery_is_refused_with_a_hint(oidc, forge):
    with pytest.raises(Unauthenticated) as refusal:
        await oidc.owner_of(forge())
    assert refusal.value.hint


async def test_a_changed_claim_breaks_the_signature(oidc):
    header, _, signature = token().split(".")
    payload = (
        base64.urlsafe_b64encode(json.dumps(claims(sub="root")).encode()).rstrip(b"=").decode()
    )
    with pytest.raises(Unauthenticated):
        await oidc.owner_of(f"{header}.{payload}.{signature}")


@given(st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*"))
async def test_no_text_makes_it_fail_otherwise_than_by_refusing(text):
    with pytest.raises(Unauthenticated):
        await oidc_for(Issuer(), HandClock()).owner_of(text)


async def test_a_shared_secret_in_the_key_set_is_never_used(issuer, clock, oidc):
    secret = base64.urlsafe_b64encode(b"0" * 32).rstrip(b"=").decode()
    issuer.keys = [{"kty": "oct", "k": secret, "kid": "one", "alg": "HS256"}]
    forged = jwt.encode(claims(), b"0" * 32, algorithm="HS256", headers={"kid": "one"})
    with pytest.raises(Unauthenticated):
        await oidc.owner_of(forged)


async def test_without_a_key_id_there_must_be_one_fitting_key(issuer, oidc, clock):
    assert (await oidc.owner_of(token(kid=None))).user == "ada"
    issuer.keys.append(jwk(OTHER, "two"))
    clock.seconds += 700
    with pytest.raises(Unauthenticated):
        await oidc.owner_of(token(kid=None))


# ── the issuer's keys ──


async def test_keys_are_fetched_once_for_many_tokens(issuer, oidc):
    for _ in range(5):
        await oidc.owner_of(token())
    assert issuer.asked == 2  # where the keys are, and the keys


async def test_a_new_key_of_the_issuer_is_found(issuer, oidc, clock):
    await oidc.owner_of(token())
    issuer.keys.append(jwk(OTHER, "two"))
    clock.seconds += 11
    assert (await oidc.owner_of(token(OTHER, kid="two"))).user == "ada"


async def test_made_up_key_ids_do_not_make_us_ask_the_issuer_each_time(issuer, oidc):
    await oidc.owner_of(token())
    before = issuer.asked
    for number in range(20):
        with pytest.raises(Unauthenticated):
            await oidc.owner_of(token(OTHER, kid=f"made up {number}"))
    assert issuer.asked == before


async def test_a_key_the_issuer_withdrew_is_refused_when_the_set_is_out_of_date(
    issuer, oidc, clock
):
    await oidc.owner_of(token())
    issuer.keys = [jwk(OTHER, "two")]
    clock.seconds += 601
    with pytest.raises(Unauthenticated):
        await oidc.owner_of(token())


async def test_known_keys_are_used_on_while_the_issuer_is_away(issuer, oidc, clock):
    await oidc.owner_of(token())
    issuer.is_there = False
    clock.seconds += 3600
    assert (await oidc.owner_of(token())).user == "ada"


async def test_an_issuer_that_was_never_there_is_said_to_be_away_and_found_later(
    issuer, oidc, clock
):
    issuer.is_there = False
    with pytest.raises(IdentityUnavailable):
        await oidc.owner_of(token())
    issuer.is_there = True
    clock.seconds += 11
    assert (await oidc.owner_of(token())).user == "ada"


OTHER_TOKENS = {
    "a logout token by its type": ({"typ": "logout+jwt"}, {}),
    "a security event by its type": ({"typ": "secevent+jwt"}, {}),
    "a type that is no text": ({"typ": 1}, {}),
    "a logout token by its claim": ({}, {"events": {"logout": {}}}),
    "an ID token by its nonce": ({}, {"nonce": "n"}),
    "an ID token by its hash": ({}, {"at_hash": "h"}),
    "an ID token by the issuer's own word": ({}, {"typ": "ID"}),
}


@pytest.mark.parametrize("name", OTHER_TOKENS)
async def test_a_token_of_another_kind_is_refused(oidc, name):
    header, changes = OTHER_TOKENS[name]
    shown = jwt.encode(claims(**changes), KEY, algorithm="RS256", headers={"kid": "one", **header})
    with pytest.raises(Unauthenticated, match="access token"):
        await oidc.owner_of(shown)


@pytest.mark.parametrize("kind", ["at+jwt", "application/at+jwt", "JWT"])
async def test_an_access_token_is_taken_under_each_of_its_types(oidc, kind):
    shown = jwt.encode(claims(), KEY, algorithm="RS256", headers={"kid": "one", "typ": kind})
    assert (await oidc.owner_of(shown)).user == "ada"


# ── where the keys are ──


@pytest.mark.parametrize(
    "url", ["https://keys.example/jwks", "http://127.0.0.1:9/jwks", "http://localhost:9/jwks"]
)
async def test_keys_on_https_or_this_machine_are_fetched(issuer, oidc, url):
    issuer.jwks_uri = url
    assert (await oidc.owner_of(token())).user == "ada"
    assert issuer.urls[-1] == url


@pytest.mark.parametrize(
    "url",
    [
        "http://keys.example/jwks",
        "http://localhost.evil.example/jwks",
        "http://127.0.0.1.evil.example/jwks",
        "http://localhost@evil.example/jwks",
        "ftp://localhost/jwks",
        "file:///etc/passwd",
        "//keys.example/jwks",
        "",
    ],
)
async def test_keys_anywhere_else_are_never_asked_for(issuer, oidc, url):
    issuer.jwks_uri = url
    with pytest.raises(BathysphereError):
        await oidc.owner_of(token())
    assert [one for one in issuer.urls if "openid-configuration" not in one] == []


async def test_proxies_of_the_environment_are_not_used_for_the_issuer(monkeypatch):
    heard = []

    async def listen(name, reader, writer):
        await reader.readline()
        heard.append(name)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        await writer.drain()
        writer.close()

    servers = {
        name: await asyncio.start_server(partial(listen, name), "127.0.0.1", 0)
        for name in ("proxy", "issuer")
    }
    ports = {name: one.sockets[0].getsockname()[1] for name, one in servers.items()}
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, f"http://127.0.0.1:{ports['proxy']}")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    async with issuer_client() as http:
        assert (await http.get(f"http://127.0.0.1:{ports['issuer']}/")).status_code == 200
    for server in servers.values():
        server.close()
    assert heard == ["issuer"]
