"""A page as text for a person: with an identity, under guard, a few at a time, and nothing kept."""

import asyncio
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from loopback import redirect, response, web
from page_server import ARTICLE, door

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import BathysphereError
from bathysphere.core.identity import Owner
from bathysphere.server.pages import MAX_PER_OWNER, Pages
from bathysphere.tools.errors import FetchFailed
from bathysphere.tools.fetch import FetchRules
from bathysphere.tools.parser_pool import ParseLimits, shared_parsers


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
