"""A server that fetches pages for people, and a site on loopback for it to fetch from."""

from contextlib import asynccontextmanager

import httpx
from loopback import web

from bathysphere.core.clock import SystemClock
from bathysphere.core.identity import Owner
from bathysphere.server.app import create_app
from bathysphere.server.identity.identify import Unauthenticated
from bathysphere.server.pages import Pages
from bathysphere.tools.fetch import FetchRules

ARTICLE = b"""<html><head><title>The reef</title></head><body><nav>Home</nav><article><h1>The reef
</h1><p>The reef is old, and it holds: so say all who have seen it from below.</p><p>Fish are many
there, and nobody has counted them in the forty years since the first dive.</p></article></body>"""


async def identify(connection) -> Owner:
    name = connection.headers.get("x-test-user")
    if name is None:
        raise Unauthenticated("who is there?")
    return Owner(tenant=name, user=name)


@asynccontextmanager
async def door(**rules):
    """A site that the name site.example leads to, and a server that fetches from it."""
    async with web() as site:
        pinned = {"site.example": f"127.0.0.1:{site.port}"}
        fetching = Pages(FetchRules(pinned=pinned, **rules), clock=SystemClock())
        app = create_app(services=None, identify=identify, page_fetcher=fetching)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:

            async def ask(url, *, user="ada"):
                headers = {"x-test-user": user} if user else {}
                return await client.post("/api/pages", json={"url": url}, headers=headers)

            yield site, ask
