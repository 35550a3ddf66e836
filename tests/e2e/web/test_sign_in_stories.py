"""Signing in at an OpenID Connect issuer, in the browser: the issuer is the only other origin."""

from collections.abc import Iterator

import httpx
import pytest
from issuer import AUDIENCE, CLIENT, issuer
from rigging import Rig, rigged, tell

from bathysphere.testing import says, slowly

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(300)]
SECONDS = 200


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with issuer() as url:
        yield url


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory, address: str) -> Iterator[Rig]:
    more = {
        "BATHYSPHERE_AUTH": "api-key,oidc",
        "BATHYSPHERE_OIDC_ISSUER": address,
        "BATHYSPHERE_OIDC_AUDIENCE": AUDIENCE,
        "BATHYSPHERE_OIDC_CLIENT_ID": CLIENT,
        "BATHYSPHERE_OIDC_SCOPES": "openid,offline_access",
        "BATHYSPHERE_OIDC_TENANT_CLAIM": "org",
        "BATHYSPHERE_OIDC_ADMIN_CLAIM": "roles",
    }
    told = {"STORY_ISSUER": address}
    with rigged(tmp_path_factory.mktemp("issuer"), more, told) as found:
        yield found


def test_the_pages_may_call_the_issuer_and_nobody_else(rig: Rig, address: str):
    answer = httpx.get(rig.url, trust_env=False)
    policy = answer.headers["content-security-policy"].split("; ")
    assert f"connect-src 'self' {address}" in policy
    offered = httpx.get(f"{rig.url}/sign-in", trust_env=False).json()["issuer"]
    assert (offered["issuer"], offered["client_id"]) == (address, CLIENT)


def test_people_sign_in_at_the_issuer_and_are_still_where_they_were(rig: Rig):
    rig.model.play([says("A squid.")])
    tell(rig, "issuer_sign_in", seconds=SECONDS)
    rig.model.assert_done()


@pytest.mark.long(
    "tests/e2e/web/test_sign_in_stories.py"
    "::test_people_sign_in_at_the_issuer_and_are_still_where_they_were"
)
def test_a_token_that_ends_in_the_middle_of_an_answer_is_renewed(rig: Rig):
    words = " ".join(f"line{n}" for n in range(60))
    rig.model.play([slowly(says(words), pause=0.4)])
    tell(rig, "issuer_renewal", seconds=SECONDS)
    rig.model.assert_done()


def test_what_the_issuer_did_not_send_for_this_tab_is_refused(rig: Rig):
    rig.model.play([])
    tell(rig, "issuer_forgery", seconds=SECONDS)


@pytest.mark.long("tests/integration/server/test_administration.py::test_everybody_else_is_refused")
def test_administrators_have_a_page_and_nobody_else_has(rig: Rig):
    rig.model.play([])
    tell(rig, "administration", seconds=SECONDS)
