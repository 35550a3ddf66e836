"""One contract for every search engine, against servers that speak each engine's own format."""

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.search.corpus import Corpus, Document
from bathysphere.tools.search.duckduckgo import DuckDuckGo
from bathysphere.tools.search.duckduckgo import parse as parse_duckduckgo
from bathysphere.tools.search.google_cse import GoogleCSE
from bathysphere.tools.search.searxng import SearXNG
from bathysphere.tools.settings import FetchSettings, SearchSettings, search_engine

FOUND = [
    ("https://example.org/dam?a=1&b=2", "The Aurora dam & its wall", "Finished in 1974, it holds…"),
    ("https://example.net/ü", "Dams <of> the north", "A list of dams."),
    ("https://example.org/dam?a=1&b=2", "The same again", "The dam, again."),
    ("https://example.com/three", "A third dam", ""),
]
EXPECTED = [FOUND[0], FOUND[1], FOUND[3]]


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def duckduckgo_page(found) -> str:
    """A page in the form that html.duckduckgo.com has."""
    blocks = [
        '<div class="result results_links results_links_deep result--ad "><div class="links_main">'
        '<h2 class="result__title"><a rel="nofollow" class="result__a" '
        'href="https://duckduckgo.com/y.js?ad_domain=shop.example&amp;u3=x">Buy a dam</a></h2>'
        '<a class="result__snippet" href="https://duckduckgo.com/y.js">Cheap!</a></div></div>'
    ]
    for url, title, snippet in found:
        link = f"//duckduckgo.com/l/?uddg={quote(url, safe='')}&amp;rut=0123abcd"
        bold = escaped(title).replace("dam", "<b>dam</b>", 1)
        blocks.append(
            '<div class="result results_links results_links_deep web-result ">\n'
            '<div class="links_main links_deep result__body">\n<h2 class="result__title">\n'
            f'<a rel="nofollow" class="result__a" href="{link}">{bold}</a>\n</h2>\n'
            '<div class="result__extras"><div class="result__extras__url">'
            '<span class="result__icon"><img class="result__icon__img" src="//x/i.ico"></span>'
            f'<a class="result__url" href="{link}">example.org</a></div></div>\n'
            + (
                f'<a class="result__snippet" href="{link}">{escaped(snippet)}</a>'
                if snippet
                else ""
            )
            + '<div class="clear"></div>\n</div></div>'
        )
    if not found:
        blocks.append(
            '<div class="result results_links result--no-result"><div class="no-results">'
            "No results.</div></div>"
        )
    body = "\n".join(blocks)
    head = "<!DOCTYPE html><html><head><title>x at DuckDuckGo</title></head>"
    return f"{head}<body>{body}</body></html>"


def google_answer(found) -> str:
    items = [
        {"kind": "customsearch#result", "title": t, "link": u, "snippet": s} for u, t, s in found
    ]
    answer = {"kind": "customsearch#search", "searchInformation": {"totalResults": str(len(items))}}
    return json.dumps(answer | ({"items": items} if items else {}))


def searxng_answer(found) -> str:
    results = [
        {"url": u, "title": t, "content": s, "engine": "x", "engines": ["x"], "score": 1.0}
        for u, t, s in found
    ]
    return json.dumps({"query": "q", "results": results, "unresponsive_engines": []})


@asynccontextmanager
async def engine(name: str, found, *, answer: str | None = None, status: str = "200 OK"):
    """The engine, before a server that answers in its format."""
    if name == "corpus":
        documents = {u: Document(u, t, f"{t}. {s} dam") for u, t, s in reversed(found)}
        yield Corpus(documents.values()), []
        return
    make = {"duckduckgo": duckduckgo_page, "google_cse": google_answer, "searxng": searxng_answer}
    body = (make[name](found) if answer is None else answer).encode()
    kind = "text/html; charset=UTF-8" if name == "duckduckgo" else "application/json"
    asked: list[str] = []

    async def serve(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        writer.write(f"{head}Connection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    rules = FetchRules(pinned={"engine.example": f"127.0.0.1:{port}"}, timeout_s=5)
    async with Fetcher(rules) as fetcher:
        engines = {
            "duckduckgo": lambda: DuckDuckGo(fetcher, endpoint="http://engine.example/html/"),
            "google_cse": lambda: GoogleCSE(
                fetcher, key="k-secret", cx="cx1", endpoint="http://engine.example/customsearch/v1"
            ),
            "searxng": lambda: SearXNG(fetcher, base_url="http://engine.example/"),
        }
        yield engines[name](), asked
    server.close()
    await server.wait_closed()


ENGINES = ["duckduckgo", "google_cse", "searxng", "corpus"]
WIRED = ENGINES[:3]


@pytest.mark.parametrize("name", ENGINES)
async def test_results_come_back_tidy_and_none_twice(name):
    async with engine(name, FOUND) as (searcher, _):
        assert searcher.name == name
        results = await searcher.search("dam")
        assert {result.url for result in results} == {url for url, _, _ in EXPECTED}
        if name != "corpus":
            assert [tuple(result) for result in results] == EXPECTED
        else:
            assert all(result.title and result.snippet for result in results)


@pytest.mark.parametrize("name", ENGINES)
async def test_no_more_than_asked_for(name):
    async with engine(name, FOUND) as (searcher, _):
        assert len(await searcher.search("dam", limit=2)) == 2
        assert await searcher.search("dam", limit=0) == []


@pytest.mark.parametrize("name", ENGINES)
async def test_nothing_found_is_an_empty_list(name):
    async with engine(name, []) as (searcher, _):
        assert await searcher.search("dam") == []


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "query", ['"', "a AND (", "*", "x" * 5_000, "naïve ünï ☃", "a\nb: c", "' OR 1"]
)
async def test_any_query_is_only_words(name, query):
    async with engine(name, FOUND) as (searcher, asked):
        assert isinstance(await searcher.search(query), list)
        if asked:
            sent = parse_qs(urlsplit(asked[0].split(" ")[1]).query)["q"][0]
            assert sent == " ".join(query.split())[:500]


@pytest.mark.parametrize("name", WIRED)
@pytest.mark.parametrize("status", ["403 Forbidden", "429 Too Many", "500 Oops", "202 Accepted"])
async def test_an_engine_that_refuses_has_failed(name, status):
    async with engine(name, FOUND, status=status) as (searcher, _):
        with pytest.raises(SearchFailed) as failed:
            await searcher.search("dam")
        assert "k-secret" not in str(failed.value)


@pytest.mark.parametrize("name", WIRED)
@pytest.mark.parametrize(
    "answer", ["", "<html><body>Hello</body></html>", "{}", "[]", "null", '{"a": 1}']
)
async def test_what_is_no_answer_has_failed(name, answer):
    async with engine(name, FOUND, answer=answer) as (searcher, _):
        with pytest.raises(SearchFailed):
            await searcher.search("dam")


@pytest.mark.parametrize(
    "page",
    [
        '<div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div>',
        '<form id="challenge-form" action="//duckduckgo.com/anomaly.js">',
        duckduckgo_page(FOUND) + '<div class="anomaly-modal__mask">',
    ],
)
def test_a_challenge_of_duckduckgo_is_no_empty_answer(page):
    with pytest.raises(SearchFailed, match="bot challenge"):
        parse_duckduckgo(page)


def test_duckduckgo_links_that_are_no_pages_are_left_out():
    page = "".join(
        f'<div class="result"><a class="result__a" href="{href}">t</a></div>'
        for href in (
            "javascript:alert(1)",
            "//duckduckgo.com/l/?rut=1",
            "https://links.duckduckgo.com/y.js?x",
            "/l/?uddg=https%3A%2F%2Fa.example%2F",
            "https://b.example/",
            "",
        )
    )
    urls = [result.url for result in parse_duckduckgo(page)]
    assert [url for url in urls if url.startswith("http")] == [
        "https://a.example/",
        "https://b.example/",
    ]


async def test_google_key_is_in_no_address():
    async with engine("google_cse", FOUND) as (searcher, asked):
        await searcher.search("dam", limit=50)
        line, *headers = asked[0].split("\r\n")
        assert "k-secret" not in line
        assert "num=10" in line
        assert any(header.lower() == "x-goog-api-key: k-secret" for header in headers)


async def test_searxng_without_an_engine_that_answers_has_failed():
    answer = json.dumps({"results": [], "unresponsive_engines": [["x", "timeout"]]})
    async with engine("searxng", [], answer=answer) as (searcher, _):
        with pytest.raises(SearchFailed, match="None of"):
            await searcher.search("dam")


class AtNoon:
    def now(self):
        from datetime import UTC, datetime

        return datetime(2026, 11, 15, 12, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0


async def test_the_corpus_ranks_reads_and_is_the_same_each_time(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.md").write_text(
        "# Dams of the north\n\nAurora is a dam. A dam it is.\n"
    )
    (tmp_path / "b.txt").write_text("Rivers, and one dam among many other words that say little.\n")
    (tmp_path / "c.txt").write_text("Nothing of the kind.\n")
    (tmp_path / "d.png").write_bytes(b"no text")
    corpus = Corpus.of_folder(tmp_path)
    assert len(corpus) == 3
    results = await corpus.search("Which DAMS?")
    assert [result.url for result in results] == ["corpus:deep/a.md", "corpus:b.txt"]
    assert results[0].title == "Dams of the north"
    assert await corpus.search("Which DAMS?") == results
    snapshot = corpus.read("corpus:b.txt", AtNoon())
    assert (snapshot.info.origin, snapshot.text[:6]) == ("corpus", "Rivers")
    with pytest.raises(Exception, match="Not in the corpus"):
        corpus.read("corpus:nope", AtNoon())
    corpus.close()


async def test_the_settings_choose_the_engine(monkeypatch):
    for name in ("GOOGLE_CSE_API_KEY", "GOOGLE_CSE_CX"):
        monkeypatch.delenv(name, raising=False)
    fetcher = Fetcher()
    assert search_engine(SearchSettings(), fetcher).name == "duckduckgo"
    near = SearchSettings(searxng_url="http://127.0.0.1:8888")
    assert search_engine(near, fetcher).name == "searxng"
    monkeypatch.setenv("GOOGLE_CSE_API_KEY", "k")
    monkeypatch.setenv("GOOGLE_CSE_CX", "c")
    assert search_engine(SearchSettings(), fetcher).name == "google_cse"
    assert "SecretStr" in repr(SearchSettings())
    assert search_engine(SearchSettings(engine="duckduckgo"), fetcher).name == "duckduckgo"
    with pytest.raises(ConfigError, match="not configured"):
        search_engine(SearchSettings(engine="searxng"), fetcher)
    monkeypatch.delenv("GOOGLE_CSE_CX")
    with pytest.raises(ConfigError, match="not configured"):
        search_engine(SearchSettings(engine="google_cse"), fetcher)


def test_hosts_are_pinned_only_by_an_explicit_setting(monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_FETCH_PINNED_HOSTS", raising=False)
    assert dict(FetchSettings().rules().pinned) == {}
    monkeypatch.setenv(
        "BATHYSPHERE_FETCH_PINNED_HOSTS", "a.example=127.0.0.1:1, b.example=127.0.0.1:2"
    )
    pinned = FetchSettings().rules().pinned
    assert pinned == {"a.example": "127.0.0.1:1", "b.example": "127.0.0.1:2"}
