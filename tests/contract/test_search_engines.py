"""One contract for every search engine, against servers that speak each engine's own format."""

import asyncio
import json
import sys
import traceback
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from pydantic import ValidationError

from bathysphere.core.errors import ConfigError
from bathysphere.tools.errors import SearchFailed
from bathysphere.tools.fetch import Fetcher, FetchRules
from bathysphere.tools.search.brave import Brave
from bathysphere.tools.search.contract import SearchResult
from bathysphere.tools.search.corpus import Corpus, Document
from bathysphere.tools.search.duckduckgo import DuckDuckGo
from bathysphere.tools.search.duckduckgo import parse as parse_duckduckgo
from bathysphere.tools.search.google_cse import GoogleCSE
from bathysphere.tools.search.searxng import SearXNG
from bathysphere.tools.search.tavily import Tavily
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


def tavily_answer(found) -> str:
    results = [
        {"title": t, "url": u, "content": s, "score": 0.81, "raw_content": None}
        for u, t, s in found
    ]
    answer = {"query": "q", "follow_up_questions": None, "answer": None, "images": []}
    return json.dumps(answer | {"results": results, "response_time": 0.94, "request_id": "1-2"})


def brave_answer(found) -> str:
    results = [
        {
            "type": "search_result",
            "title": escaped(t),
            "url": u,
            "description": escaped(s).replace("dam", "<strong>dam</strong>", 1),
            "profile": {"name": "Example", "url": u, "long_name": "example.org", "img": "x"},
            "meta_url": {"scheme": "https", "netloc": "example.org", "path": ""},
        }
        for u, t, s in found
    ]
    answer = {"type": "search", "query": {"original": "q", "more_results_available": False}}
    if results:
        answer["web"] = {"type": "search", "results": results, "family_friendly": True}
    return json.dumps(answer | {"mixed": {"type": "mixed", "main": [], "top": [], "side": []}})


def tavily_refusal(line, headers, body) -> tuple[str, str] | None:
    """How Tavily refuses a request that is not in its format."""
    asked = json.loads(body)
    if line != "POST /search HTTP/1.1" or headers["content-type"] != "application/json":
        return "405 Method Not Allowed", '{"detail": "Method Not Allowed"}'
    if headers.get("authorization") != "Bearer k-secret":
        error = "Unauthorized: missing or invalid API key."
        return "401 Unauthorized", json.dumps({"detail": {"error": error}})
    if len(asked["query"]) > 400 or not 0 <= asked["max_results"] <= 20:
        error = "Query is too long. Max query length is 400 characters."
        return "400 Bad Request", json.dumps({"detail": {"error": error}})
    return None


def brave_refusal(line, headers, body) -> tuple[str, str] | None:
    """How Brave refuses a request that is not in its format."""
    method, address, _ = line.split(" ")
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    is_valid = (
        method == "GET"
        and headers.get("x-subscription-token") == "k-secret"
        and headers["accept"] in ("application/json", "*/*")
        and headers.get("cache-control", "no-cache") == "no-cache"
        and 0 < len(asked.get("q", "")) <= 400
        and len(asked["q"].split()) <= 50
        and 1 <= int(asked["count"]) <= 20
    )
    detail = "Unable to validate request parameter(s)"
    error = {"status": 422, "code": "VALIDATION", "detail": detail, "meta": {}}
    refusal = json.dumps({"type": "ErrorResponse", "error": error, "time": 1754364294})
    return None if is_valid else ("422 Unprocessable Entity", refusal)


ANSWERS = {
    "brave": brave_answer,
    "duckduckgo": duckduckgo_page,
    "google_cse": google_answer,
    "searxng": searxng_answer,
    "tavily": tavily_answer,
}
REFUSALS = {"brave": brave_refusal, "tavily": tavily_refusal}


def searcher_of(name: str, fetcher: Fetcher, key: str):
    site = "http://engine.example"
    engines = {
        "brave": lambda: Brave(fetcher, key=key, endpoint=f"{site}/res/v1/web/search"),
        "duckduckgo": lambda: DuckDuckGo(fetcher, endpoint=f"{site}/html/"),
        "google_cse": lambda: GoogleCSE(
            fetcher, key=key, cx="cx1", endpoint=f"{site}/customsearch/v1"
        ),
        "searxng": lambda: SearXNG(fetcher, base_url=f"{site}/"),
        "tavily": lambda: Tavily(fetcher, key=key, endpoint=f"{site}/search"),
    }
    return engines[name]()


async def received(reader) -> tuple[str, dict[str, str], str]:
    """The first line, the headers and the body of a request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    line, *fields = head.rstrip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in fields)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return line, headers, body.decode()


@asynccontextmanager
async def engine(
    name: str,
    found,
    *,
    answer: str | None = None,
    status: str = "200 OK",
    key: str = "k-secret",
    max_bytes: int = 5_000_000,
    location: str | None = None,
):
    """The engine, before a server that answers in its format."""
    if name == "corpus":
        documents = {u: Document(u, t, f"{t}. {s} dam") for u, t, s in reversed(found)}
        yield Corpus(documents.values()), []
        return
    usual = ANSWERS[name](found) if answer is None else answer
    kind = "text/html; charset=UTF-8" if name == "duckduckgo" else "application/json"
    asked: list[tuple[str, dict[str, str], str]] = []

    async def serve(reader, writer):
        asked.append(await received(reader))
        check = REFUSALS.get(name, lambda *_: None)
        code, text = check(*asked[-1]) or (status, usual)
        fields = [f"HTTP/1.1 {code}", f"Content-Type: {kind}", "Connection: close"]
        fields += [f"Location: {location}"] if location else []
        writer.write("\r\n".join([*fields, "", text]).encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    pinned = {"engine.example": f"127.0.0.1:{port}"}
    rules = FetchRules(pinned=pinned, timeout_s=5, max_bytes=max_bytes)
    async with Fetcher(rules) as fetcher:
        yield searcher_of(name, fetcher, key), asked
    server.close()
    await server.wait_closed()


def query_of(request: tuple[str, dict[str, str], str]) -> str:
    line, _, body = request
    return (
        json.loads(body)["query"] if body else parse_qs(urlsplit(line.split(" ")[1]).query)["q"][0]
    )


ENGINES = [*ANSWERS, "corpus"]
WIRED = list(ANSWERS)
KEYED = ["brave", "google_cse", "tavily"]
LENGTHS = {"brave": 400, "tavily": 400}


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
            assert query_of(asked[0]) == " ".join(query.split())[: LENGTHS.get(name, 500)]


@pytest.mark.parametrize("name", WIRED)
@pytest.mark.parametrize("status", ["403 Forbidden", "429 Too Many", "500 Oops", "202 Accepted"])
async def test_an_engine_that_refuses_has_failed(name, status):
    async with engine(name, FOUND, status=status) as (searcher, _):
        with pytest.raises(SearchFailed) as failed:
            await searcher.search("dam")
        assert "k-secret" not in str(failed.value)


@pytest.mark.parametrize("name", WIRED)
@pytest.mark.parametrize(
    "answer",
    [
        *("", "<html><body>Hello</body></html>", "{}", "[]", "null", '{"a": 1}'),
        pytest.param("[" * 100_000, id="nested"),
        '{"kind": "customsearch#search", "type": "search", "items": 1, "results": 1, "web": 1}',
        '{"kind": "customsearch#search", "type": "search", "items": {}, "web": {"results": {}}}',
    ],
)
async def test_what_is_no_answer_has_failed(name, answer):
    async with engine(name, FOUND, answer=answer) as (searcher, _):
        with pytest.raises(SearchFailed):
            await searcher.search("dam")


@pytest.mark.parametrize("name", WIRED)
async def test_a_huge_answer_is_refused(name):
    answer = ANSWERS[name](FOUND * 500)
    async with engine(name, [], answer=answer, max_bytes=len(answer) - 1) as (searcher, _):
        with pytest.raises(SearchFailed):
            await searcher.search("dam")
    async with engine(name, [], answer=answer, max_bytes=len(answer.encode())) as (searcher, _):
        assert len(await searcher.search("dam")) == len(EXPECTED)


@pytest.mark.parametrize("name", [*KEYED, "searxng"])
async def test_items_that_are_no_results_are_left_out(name):
    answer = json.loads(ANSWERS[name](FOUND))
    items = (
        answer["web"]["results"] if name == "brave" else answer.get("results", answer.get("items"))
    )
    items[:0] = [None, 7, "x", [], {}, {"title": "No address"}, {"url": "file:///etc/passwd"}]
    async with engine(name, [], answer=json.dumps(answer)) as (searcher, _):
        assert [tuple(result) for result in await searcher.search("dam")] == EXPECTED


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("tavily", "401 Unauthorized", "status 401 (check TAVILY_API_KEY)"),
        ("tavily", "429 Too Many Requests", "status 429 (wait, or raise the limit of your plan)"),
        ("tavily", "432 Plan Limit", "status 432 (wait, or raise the limit of your plan)"),
        ("tavily", "500 Oops", "status 500"),
        ("brave", "422 Unprocessable Entity", "status 422 (check BRAVE_SEARCH_API_KEY)"),
        ("brave", "401 Unauthorized", "status 401 (check BRAVE_SEARCH_API_KEY)"),
        ("brave", "429 Too Many Requests", "status 429 (wait, or raise the limit of your plan)"),
    ],
)
async def test_a_refusal_says_what_to_do(name, status, message):
    async with engine(name, FOUND, status=status) as (searcher, _):
        with pytest.raises(SearchFailed) as failed:
            await searcher.search("dam")
        assert str(failed.value) == f"{name.title()} search failed: {message}"


@pytest.mark.parametrize(("name", "status"), [("tavily", "401"), ("brave", "422")])
async def test_a_wrong_key_is_refused_and_not_shown(name, status):
    async with engine(name, FOUND, key="k-wrong") as (searcher, asked):
        with pytest.raises(SearchFailed, match=f"status {status}") as failed:
            await searcher.search("dam")
        assert "k-wrong" in str(asked[0][1])
        assert "k-wrong" not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize("name", KEYED)
async def test_a_redirect_never_gets_the_key(name):
    moved = {"status": "307 Temporary Redirect", "location": "http://engine.example/elsewhere"}
    async with engine(name, FOUND, **moved) as (searcher, asked):
        with pytest.raises(SearchFailed):
            await searcher.search("dam")
        assert "k-secret" in str(asked[0])
        assert [each for each in asked[1:] if "k-secret" in str(each)] == []


@pytest.mark.parametrize("name", ["tavily", "brave"])
async def test_the_limits_of_the_api_are_kept(name):
    async with engine(name, FOUND) as (searcher, asked):
        assert await searcher.search("deep " * 70, limit=50)
        assert len(query_of(asked[0]).split()) == (50 if name == "brave" else 70)
        wanted = "count=20" if name == "brave" else '"max_results": 20'
        assert wanted in str(asked[0])
        assert "k-secret" not in asked[0][0]


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
        line, headers, _ = asked[0]
        assert "k-secret" not in line
        assert "num=10" in line
        assert headers["x-goog-api-key"] == "k-secret"


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


KEYS = ("GOOGLE_CSE_API_KEY", "GOOGLE_CSE_CX", "TAVILY_API_KEY", "BRAVE_SEARCH_API_KEY")


@pytest.fixture
def no_keys(monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def test_the_settings_choose_the_engine(monkeypatch, no_keys):
    fetcher = Fetcher()
    assert search_engine(SearchSettings(), fetcher).name == "duckduckgo"
    monkeypatch.setenv("BRAVE_SEARCH_API_KEY", "k")
    assert search_engine(SearchSettings(), fetcher).name == "brave"
    monkeypatch.setenv("TAVILY_API_KEY", "k")
    assert search_engine(SearchSettings(), fetcher).name == "tavily"
    near = SearchSettings(searxng_url="http://127.0.0.1:8888")
    assert search_engine(near, fetcher).name == "searxng"
    monkeypatch.setenv("GOOGLE_CSE_API_KEY", "k")
    monkeypatch.setenv("GOOGLE_CSE_CX", "c")
    assert search_engine(SearchSettings(), fetcher).name == "google_cse"
    assert "SecretStr" in repr(SearchSettings())
    for name in WIRED:
        chosen = SearchSettings(engine=name, searxng_url="http://127.0.0.1:8888")
        assert search_engine(chosen, fetcher).name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("searxng", "BATHYSPHERE_SEARCH_SEARXNG_URL"),
        ("google_cse", "GOOGLE_CSE_CX"),
        ("tavily", "TAVILY_API_KEY"),
        ("brave", "BRAVE_SEARCH_API_KEY"),
    ],
)
def test_a_chosen_engine_that_is_not_configured_is_an_error(no_keys, name, hint):
    with pytest.raises(ConfigError, match="not configured") as failed:
        search_engine(SearchSettings(engine=name), Fetcher())
    assert hint in failed.value.hint


OWN = """
class Library:
    name = "library"
    async def search(self, query, *, limit=8):
        from bathysphere.tools.search.contract import SearchResult
        if query == "fail":
            raise KeyError("shelf")
        urls = ("https://a.example/", "file:///etc/passwd", "https://a.example/", "http://b.example/")
        return [SearchResult(url, f"About\\n{query}") for url in urls]

def build(fetcher):
    assert fetcher is not None
    return Library()

ready = Library()
number = 7
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_library.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("own_library", None)


@pytest.mark.parametrize("attribute", ["build", "ready"])
async def test_an_engine_of_ones_own_is_used_and_its_results_are_checked(own_module, attribute):
    engine = search_engine(SearchSettings(engine=f"own_library:{attribute}"), Fetcher())
    assert engine.name == "library"
    assert await engine.search("the  sea", limit=5) == [
        SearchResult("https://a.example/", "About the sea"),
        SearchResult("http://b.example/", "About the sea"),
    ]
    with pytest.raises(SearchFailed) as failed:
        await engine.search("fail")
    assert failed.value.hint == "library raised KeyError: 'shelf'"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("own_library:nothing", "not found: own_library:nothing"),
        ("no_such_library:build", "not found: no_such_library:build"),
        ("own_library:number", "Not a search engine: own_library:number"),
    ],
)
def test_an_engine_of_ones_own_that_is_none_is_an_error(own_module, target, words):
    with pytest.raises(ConfigError, match=words):
        search_engine(SearchSettings(engine=target), Fetcher())


def test_an_unknown_engine_is_refused_with_the_names_there_are():
    with pytest.raises(ValidationError, match="tavily, or module:attribute"):
        SearchSettings(engine="tavly")


@pytest.mark.parametrize("variable", [name for name in KEYS if name.endswith("KEY")])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(monkeypatch, no_keys, variable):
    monkeypatch.setenv(variable, " k-secret\n")
    field = variable.lower().replace("_search", "")
    assert getattr(SearchSettings(), field).get_secret_value() == "k-secret"
    for bad in ("k-secret\r\nX-More: 1", "k-sécret", "k secret"):
        monkeypatch.setenv(variable, bad)
        with pytest.raises(ValidationError, match="printable ASCII") as failed:
            SearchSettings()
        assert bad not in str(failed.value)
        assert "secret" not in str(failed.value)


def test_hosts_are_pinned_only_by_an_explicit_setting(monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_FETCH_PINNED_HOSTS", raising=False)
    assert dict(FetchSettings().rules().pinned) == {}
    monkeypatch.setenv(
        "BATHYSPHERE_FETCH_PINNED_HOSTS", "a.example=127.0.0.1:1, b.example=127.0.0.1:2"
    )
    pinned = FetchSettings().rules().pinned
    assert pinned == {"a.example": "127.0.0.1:1", "b.example": "127.0.0.1:2"}
