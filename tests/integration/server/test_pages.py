"""A page as text for a person: with an identity, under guard, a few at a time, and nothing kept."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from loopback import redirect, response, web

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import BathysphereError
from bathysphere.core.identity import Owner
from bathysphere.server.app import create_app
from bathysphere.server.identity.identify import Unauthenticated
from bathysphere.server.pages import MAX_PER_OWNER, Pages
from bathysphere.tools.errors import FetchFailed
from bathysphere.tools.fetch import FetchRules
from bathysphere.tools.parser_pool import ParseLimits, shared_parsers
from bathysphere.tools.parsing_budget import ParsingQuota

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


async def test_a_page_comes_back_as_its_text():
    async with door() as (site, ask):
        site.answers["/old"] = redirect("/reef")
        site.answers["/reef"] = response(ARTICLE)
        answer = await ask(" http://site.example/old ")
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["title"] == "The reef"
        assert "Fish are many" in page["text"]
        assert "Home" not in page["text"]
        assert page["final_url"] == "http://site.example/reef"
        assert "ada" not in "".join(site.asked)


async def test_nobody_comes_in_without_an_identity():
    async with door() as (site, ask):
        answer = await ask("http://site.example/", user=None)
        assert answer.status_code == 401
        assert site.asked == []


@pytest.mark.parametrize(
    ("url", "status", "error"),
    [
        ("http://127.0.0.1/", 403, "fetch_refused"),
        ("http://169.254.169.254/latest", 403, "fetch_refused"),
        ("http://site.example/inwards", 403, "fetch_refused"),
        ("file:///etc/passwd", 403, "fetch_refused"),
        ("http://user:word@site.example/", 403, "fetch_refused"),
        ("http://site.example/nothing", 422, "fetch_failed"),
        ("http://site.example/picture", 422, "fetch_failed"),
        ("http://site.example/large", 422, "fetch_failed"),
        ("x" * 5_000, 422, "invalid_request"),
        ("", 422, "invalid_request"),
    ],
)
async def test_what_is_not_to_be_fetched_is_refused_in_words(url, status, error):
    async with door(max_bytes=2_000) as (site, ask):
        site.answers["/inwards"] = redirect("http://127.0.0.1/secret")
        site.answers["/picture"] = response(b"\x89PNG", kind="image/png")
        site.answers["/large"] = response(b"a" * 3_000, kind="text/plain")
        answer = await ask(url)
        assert (answer.status_code, answer.json()["error"]) == (status, error)
        assert answer.json()["message"]


async def test_one_person_has_two_at_a_time_and_others_do_not_wait():
    gate = asyncio.Event()

    class Slow(Pages):
        async def read(self, address, *, owner):
            with self._slot(owner):
                await gate.wait()
                raise BathysphereError("done")

    pages = Slow(FetchRules(), clock=SystemClock())
    ada, bob = Owner(tenant="a", user="a"), Owner(tenant="b", user="b")
    first = [asyncio.ensure_future(pages.read("x", owner=ada)) for _ in range(MAX_PER_OWNER)]
    await asyncio.sleep(0)
    with pytest.raises(BathysphereError, match="being fetched"):
        await pages.read("x", owner=ada)
    other = asyncio.ensure_future(pages.read("x", owner=bob))
    gate.set()
    told = await asyncio.gather(*first, other, return_exceptions=True)
    assert [str(error) for error in told] == ["done"] * 3
    assert not pages._busy
    with pytest.raises(BathysphereError, match="done"):
        await pages.read("x", owner=ada)


async def test_hostile_pages_of_three_accounts_do_not_delay_another_person_page():
    """What took the process's threads for minutes is refused; each hostile account pays itself."""
    slow = b"<html><body>" + b"<p>a word</p>" * 70_000
    parsing = ParseLimits(deadline_s=9.0, cpu_s=3, quota=ParsingQuota(user_cpu=4, tenant_cpu=8))
    async with door(parsing=parsing) as (site, ask):
        site.answers["/many"] = response(b"<html><body>" + b"<p>" * 600_000)
        site.answers["/charset"] = response(b"a-" * 40_000, kind="text/html; charset=punycode")
        site.answers["/slow"] = response(slow)
        site.answers["/reef"] = response(ARTICLE)
        assert (await ask("http://site.example/reef", user="bob")).status_code == 200

        async def attack(user):
            return [
                (await ask(f"http://site.example/{path}", user=user)).status_code
                for path in ("many", "slow", "charset", "slow", "slow")
            ]

        accounts = ("mallory", "mallory", "trudy", "trudy", "oscar", "oscar")
        attacks = [asyncio.create_task(attack(user)) for user in accounts]
        took = []
        while not all(task.done() for task in attacks):
            began = asyncio.get_running_loop().time()
            answer = await ask("http://site.example/reef", user="bob")
            took.append(asyncio.get_running_loop().time() - began)
            assert answer.status_code == 200, answer.text
            await asyncio.sleep(0.2)  # bob's own budget is as small as theirs
        statuses = [status for task in attacks for status in task.result()]
        assert set(statuses) <= {200, 422, 429}
        assert 429 in statuses
        assert max(took) < 10, took  # a process that is started while both cores are busy
        assert sorted(took)[len(took) // 2] < 2, took


@pytest.mark.parametrize("charset", ["undefined", "idna", "punycode", "hex"])
async def test_an_odd_charset_is_no_server_error(charset):
    async with door() as (site, ask):
        site.answers["/odd"] = response(b"plain words", kind=f"text/plain; charset={charset}")
        answer = await ask("http://site.example/odd")
        assert (answer.status_code, answer.json().get("text")) == (200, "plain words")


async def test_a_client_that_leaves_ends_the_parsing(monkeypatch):
    """A request that is given up kills its process; nothing goes on behind it."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "tools"))
    limits = ParseLimits(deadline_s=60.0, cpu_s=60, target="hostile_parsers:obey", preload=())
    async with web() as site:
        site.answers["/"] = response(b"loop", kind="text/plain")
        rules = FetchRules(pinned={"site.example": f"127.0.0.1:{site.port}"}, parsing=limits)
        pages = Pages(rules, clock=SystemClock())
        owner = Owner(tenant="a", user="a")
        reading = asyncio.create_task(pages.read("http://site.example/", owner=owner))
        await asyncio.sleep(1.0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        parsers = shared_parsers(limits)
        with pytest.raises(FetchFailed, match="too much"):
            await asyncio.wait_for(parsers.read(b"crash", "text/plain", None, "x"), 10)
        assert not pages._busy
        parsers.close()
