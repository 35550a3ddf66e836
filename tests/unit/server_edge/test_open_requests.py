"""How many requests an identity may have open."""

import asyncio
import json

from asgi_calls import Answer, answer, call, scope

from bathysphere.core.identity import Owner
from bathysphere.server.asgi.open_requests import OpenLimits, OpenRequests
from bathysphere.server.identity.identify import OWNER_KEY

ADA = Owner(tenant="acme", user="ada")
BEA = Owner(tenant="acme", user="bea")
BOB = Owner(tenant="other", user="bob")


class Held:
    """An app that answers when it is let go."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def __call__(self, scope, receive, send):
        await self.go.wait()
        await answer(send, 200, b"")


async def ask(app: OpenRequests, owner: Owner) -> int:
    got = Answer()
    await app({**scope(), OWNER_KEY: owner}, None, got.send)
    if got.status == 429:
        assert json.loads(got.body)["error"] == "too_many_open_requests"
    return got.status


async def test_a_user_and_a_tenant_have_so_many_requests_open_and_no_more():
    held = Held()
    app = OpenRequests(held, limits=OpenLimits(per_user=2, per_tenant=3))
    open_ones = [asyncio.create_task(ask(app, who)) for who in (ADA, ADA, BEA)]
    await asyncio.sleep(0)
    assert await ask(app, ADA) == 429
    assert await ask(app, BEA) == 429
    other = asyncio.create_task(ask(app, BOB))
    await asyncio.sleep(0)
    held.go.set()
    assert await asyncio.gather(*open_ones, other) == [200] * 4
    assert await ask(app, ADA) == 200
    assert not app._users
    assert not app._tenants


async def test_who_is_nobody_yet_is_not_counted():
    app = OpenRequests(Held(), limits=OpenLimits(per_user=0, per_tenant=0))
    app._app.go.set()
    assert (await call(app)).status == 200
