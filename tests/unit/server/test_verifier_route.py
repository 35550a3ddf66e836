"""The page that checks a proof, as the server hands it out."""

import httpx

from bathysphere.evidence.proof.page import verifier_page
from bathysphere.server.app import describe_app
from bathysphere.server.asgi.security_headers import SecurityHeaders


async def test_the_page_comes_with_a_policy_that_lets_it_reach_nothing():
    transport = httpx.ASGITransport(app=SecurityHeaders(describe_app()))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/verify")
    policy = answer.headers.get_list("content-security-policy")
    assert answer.status_code == 200
    assert answer.text == verifier_page()
    assert len(policy) == 1  # the app's own would refuse the page's script
    assert policy[0].startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in policy[0]
    assert policy[0].endswith("frame-ancestors 'none'")
