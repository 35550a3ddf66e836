"""Fetching: limits, kinds, and what goes over the wire."""

import asyncio
import gzip
import tracemalloc
import zlib
from contextlib import asynccontextmanager, contextmanager

import pytest
from loopback import redirect, response, web

from bathysphere.core.clock import SystemClock
from bathysphere.core.tracing import span_factory
from bathysphere.tools.errors import FetchFailed, FetchRefused
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.pages import PageReader


@asynccontextmanager
async def site(**more):
    """A server that the name site.example leads to, and a fetcher for it."""
    async with web() as server:
        rules = FetchRules(
            **{"timeout_s": 5, "max_bytes": 20_000} | more,
            pinned={"site.example": f"127.0.0.1:{server.port}"},
        )
        async with Fetcher(rules) as fetcher:
            yield server, fetcher


async def failure(fetcher: Fetcher, path: str = "/") -> str:
    with pytest.raises(FetchFailed) as failed:
        await fetcher.get(f"http://site.example{path}")
    return failed.value.reason


async def test_a_page_comes_back_with_its_kind_and_where_it_was():
    async with site() as (server, fetcher):
        server.answers["/old"] = redirect("/new?x=1#part")
        server.answers["/new"] = response(b"<p>hi</p>", kind='text/HTML; Charset="UTF-8"')
        got = await fetcher.get("http://site.example/old")
        assert got.final_url == "http://site.example/new?x=1"
        assert (got.content_type, got.charset, got.body) == ("text/html", "utf-8", b"<p>hi</p>")
        assert "Host: site.example\r\n" in server.asked[0]


async def test_a_fetch_is_traced_by_its_status_and_size_and_nothing_else():
    seen: list[tuple[str, dict[str, object]]] = []

    class Recorded:
        def set(self, name: str, value: object) -> None:
            seen[-1][1][name] = value

    @contextmanager
    def record(name, values):
        seen.append((name, dict(values)))
        yield Recorded()

    async with site() as (server, fetcher):
        server.answers["/s3cret"] = response(b"s3cret")
        token = span_factory.set(record)
        try:
            await fetcher.get("http://site.example/s3cret")
        finally:
            span_factory.reset(token)
        await fetcher.get("http://site.example/s3cret")
    counted = {"http.response.status_code": 200, "http.response.body.size": 6}
    assert seen == [("fetch", counted)]


async def test_no_cookie_is_kept_and_extra_headers_stay_with_the_first_request():
    async with site() as (server, fetcher):
        server.answers["/a"] = response(
            b"", status="302 Found", Location="/b", Set_Cookie="id=1; Path=/"
        )
        server.answers["/b"] = response(b"x")
        await fetcher.get("http://site.example/a", headers={"X-Key": "k"})
        await fetcher.get("http://site.example/b")
        assert not any("cookie" in head.lower() for head in server.asked)
        assert ["X-Key" in head for head in server.asked] == [True, False, False]


async def test_json_is_posted_and_its_answer_is_limited_like_a_page():
    async with site() as (server, fetcher):
        server.answers["/api"] = response(b'{"ok": 1}', kind="application/json")
        server.answers["/page"] = response(b"<p>hi</p>")
        server.answers["/large"] = response(b" " * 20_001, kind="application/json")
        server.answers["/moved"] = redirect("/api", "307 Temporary Redirect")
        got = await fetcher.post_json("http://site.example/api", {"q": "ü"}, headers={"X-Key": "k"})
        assert got.body == b'{"ok": 1}'
        head = server.asked[0]
        assert head.startswith("POST /api HTTP/1.1\r\nHost: site.example\r\n")
        for field in ("X-Key: k", "Content-Type: application/json", "Content-Length: 15"):
            assert f"\r\n{field}\r\n" in head
        reasons = {"/page": "content_type", "/large": "too_large", "/moved": "status_307"}
        for path, reason in reasons.items():
            with pytest.raises(FetchFailed) as failed:
                await fetcher.post_json(f"http://site.example{path}", {})
            assert failed.value.reason == reason
        assert len(server.asked) == 4


async def test_each_address_on_the_way_is_asked_about():
    asked = []

    async def visit(address: str) -> None:
        asked.append(address)
        if address.endswith("/c"):
            raise FetchRefused("not in the plan", reason="plan")

    async with site() as (server, fetcher):
        server.answers |= {"/a": redirect("/b"), "/b": redirect("/c"), "/c": response(b"x")}
        with pytest.raises(FetchRefused, match="not in the plan"):
            await fetcher.get("http://site.example/a", visit=visit)
        assert asked == [f"http://site.example/{page}" for page in "abc"]
        assert len(server.asked) == 2


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
async def test_packed_pages_are_unpacked(pack):
    async with site() as (server, fetcher):
        encoding = "gzip" if pack is gzip.compress else "deflate"
        server.answers["/"] = response(pack(b"hello " * 100), Content_Encoding=encoding)
        assert (await fetcher.get("http://site.example/")).body == b"hello " * 100


async def test_a_bomb_is_not_unpacked():
    async with site() as (server, fetcher):
        bomb = gzip.compress(b"\0" * 50_000_000)
        server.answers["/"] = response(bomb[:15_000], Content_Encoding="gzip")
        assert await failure(fetcher) == "too_large"
    async with site(max_bytes=100_000) as (server, fetcher):
        server.answers["/"] = response(bomb, Content_Encoding="gzip")
        assert len(bomb) < 100_000
        tracemalloc.start()
        try:
            assert await failure(fetcher) == "too_large"
            assert tracemalloc.get_traced_memory()[1] < 3_000_000
        finally:
            tracemalloc.stop()


async def test_sizes_kinds_and_states():
    async with site() as (server, fetcher):
        server.answers |= {
            "/long": response(b"x" * 20_001),
            "/lies": response(b"x" * 30_000).replace(b"Content-Length: 30000\r\n", b""),
            "/just": response(b"x" * 20_000),
            "/image": response(b"x", kind="image/png"),
            "/none": response(b"x", kind=""),
            "/brotli": response(b"x", Content_Encoding="br"),
            "/broken": response(b"not gzip at all", Content_Encoding="gzip"),
            "/cut": response(gzip.compress(b"x" * 999)[:-5], Content_Encoding="gzip"),
            "/gone": response(b"x", status="410 Gone"),
            "/oops": response(b"x", status="500 Oops"),
            "/nowhere": response(b"", status="302 Found"),
            "/noise": b"what is this\r\n\r\n",
        }
        reasons = {path: await failure(fetcher, path) for path in server.answers if path != "/just"}
        assert reasons == {
            "/long": "too_large",
            "/lies": "too_large",
            "/image": "content_type",
            "/none": "content_type",
            "/brotli": "encoding",
            "/broken": "encoding",
            "/cut": "encoding",
            "/gone": "status_410",
            "/oops": "status_500",
            "/nowhere": "status_302",
            "/noise": "network",
        }
        assert len((await fetcher.get("http://site.example/just")).body) == 20_000


async def test_a_server_that_drips_or_says_nothing_is_left():
    async def drip(reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            for _ in range(100):
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.05)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = FetchRules(timeout_s=0.4, pinned={"site.example": f"127.0.0.1:{port}"})
    async with Fetcher(rules) as fetcher:
        assert await failure(fetcher) == "timeout"
    server.close()


async def test_https_does_not_become_http():
    async with Fetcher() as fetcher:
        with pytest.raises(FetchRefused) as refused:
            fetcher._next("https://site.example/a", "http://site.example/b")
        assert refused.value.reason == "downgrade"


PAGE = (
    "<html><head><title>The dam</title>"
    '<meta property="article:published_time" content="2020-03-04"></head><body>'
    "<nav><a href='/'>Home</a> <a href='/about'>About</a></nav><article><h1>The dam</h1>"
    "<p>The Aurora dam was finished in 1974 after nine years of work – “a small sea”.</p>"
    "<p>It feeds three towns, and has done so since the first winter.</p></article>"
    "<script>alert('no')</script></body></html>"
)


async def test_a_page_becomes_a_snapshot_of_its_text():
    async with site() as (server, fetcher):
        server.answers["/dam"] = response(PAGE.encode())
        snapshot = await PageReader(fetcher, SystemClock()).read("http://site.example/dam")
        snapshot.check()
        assert "nine years of work – “a small sea”." in snapshot.text
        assert "alert" not in snapshot.text
        assert (snapshot.info.title, snapshot.info.published) == ("The dam", "2020-03-04")
        assert snapshot.body == PAGE.encode()


async def test_a_page_in_another_charset_and_a_plain_text():
    async with site() as (server, fetcher):
        server.answers["/l1"] = response(
            PAGE.replace("three", "drei Städte,")
            .replace("–", "-")
            .replace("“", "'")
            .replace("”", "'")
            .encode("latin-1"),
            kind="text/html; charset=iso-8859-1",
        )
        server.answers["/txt"] = response("Grüße".encode(), kind="text/plain")
        server.answers["/odd"] = response("Grüße".encode(), kind="text/plain; charset=klingon")
        server.answers["/empty"] = response(b"<html><body></body></html>")
        reader = PageReader(fetcher, SystemClock())
        assert "drei Städte" in (await reader.read("http://site.example/l1")).text
        assert (await reader.read("http://site.example/txt")).text == "Grüße"
        assert (await reader.read("http://site.example/odd")).text == "Grüße"
        with pytest.raises(FetchFailed) as failed:
            await reader.read("http://site.example/empty")
        assert failed.value.reason == "no_text"


def pdf_of(*pages: str) -> bytes:
    from io import BytesIO

    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out, invariant=1)
    canvas.setTitle("On dams")
    for page in pages:
        canvas.drawString(72, 700, page)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


async def test_a_pdf_becomes_a_snapshot_of_its_pages():
    async with site() as (server, fetcher):
        body = pdf_of("The Aurora dam was finished in 1974.", "It feeds three towns.")
        server.answers["/dam.pdf"] = response(body, kind="application/pdf")
        server.answers["/bad.pdf"] = response(b"%PDF-1.7 nothing", kind="application/pdf")
        reader = PageReader(fetcher, SystemClock())
        snapshot = await reader.read("http://site.example/dam.pdf")
        assert snapshot.text == "The Aurora dam was finished in 1974.\n\nIt feeds three towns."
        assert snapshot.info.title == "On dams"
        with pytest.raises(FetchFailed) as failed:
            await reader.read("http://site.example/bad.pdf")
        assert failed.value.reason == "broken_pdf"
