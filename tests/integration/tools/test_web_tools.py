"""`web_search` and `fetch_page` in an agent, against servers on loopback."""

import json
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from loopback import response, web

from bathysphere.agents.simple import spec as simple
from bathysphere.cli.simple_config import simple_config
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.harness.web_tools import WEB_TOOLS, WebAccess
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, calls, says
from bathysphere.tools.fetch import FetchRules
from bathysphere.tools.search.corpus import Corpus
from bathysphere.tools.settings import SearchSettings

PLAN = [
    {"id": "s1", "tool": "web_search"},
    {"id": "s2", "tool": "fetch_page", "references": {"url": "s1.link"}},
]
PAGE = b"<html><title>Depths</title><body><article><p>" + b"It is deep here. " * 20 + b"</article>"


async def results(access: WebAccess, *script) -> list:
    """The results of tool calls of an agent with the tools for the web, without flow control."""
    model = ScriptedChatModel(script=[*script, says("Done.")])
    spec = AgentSpec(name="test", model=model, tools=tuple(access.tools().values()), flow=None)
    ended = await build(spec).ainvoke({"messages": [("user", "Look")]})
    assert model.tools_seen[0].count("web_search") == 1
    return [message for message in ended["messages"] if message.type == "tool"]


async def test_an_agent_reads_a_page_and_forbidden_addresses_are_refused():
    async with web() as server:
        server.answers["/page"] = response(PAGE, kind="text/html; charset=utf-8")
        access = WebAccess(
            fetch=FetchRules(pinned={"site.example": f"127.0.0.1:{server.port}"}, timeout_s=20)
        )
        page, inside = await results(
            access,
            calls("fetch_page", url="http://site.example/page"),
            calls("fetch_page", url=f"http://127.0.0.1:{server.port}/page"),
        )
        assert page.text.startswith("# Depths\nhttp://site.example/page\n\nIt is deep here.")
        assert inside.status == "error"
        assert len(server.asked) == 1


async def test_an_agent_searches_the_web():
    async with web() as server:
        found = [{"url": "https://a.example/", "title": "A", "content": "About a"}]
        body = json.dumps({"results": found}).encode()
        server.answers["/search"] = response(body, kind="application/json")
        url = f"http://127.0.0.1:{server.port}"
        access = WebAccess(search=SearchSettings(engine="searxng", searxng_url=url))
        [result] = await results(access, calls("web_search", query="sea"))
        assert result.text == "A\nhttps://a.example/\nAbout a"


async def test_without_an_engine_a_search_is_an_error_of_the_tool():
    [result] = await results(WebAccess(), calls("web_search", query="sea"))
    assert result.status == "error"
    assert "No search engine is configured" in result.text


SAMPLE = Path(str(files("bathysphere.agents.research") / "sample"))
PAGES = {path.name: path.read_bytes() for path in SAMPLE.glob("*.md")}


async def sample_results(query: str) -> bytes:
    """What SearXNG would answer if the sample corpus were a site."""
    found = await Corpus.of_folder(SAMPLE).search(query)
    site = "http://sample.example/"
    results = [
        {"url": each.url.replace("corpus:", site), "title": each.title, "content": each.snippet}
        for each in found
    ]
    return json.dumps({"results": results}).encode()


async def test_simple_searches_and_reads_the_sample_corpus_when_its_setting_is_on(monkeypatch):
    query = "who designed the sphere and paid for it"
    async with web() as server:
        body = await sample_results(query)
        server.answers["/search"] = response(body, kind="application/json")
        for name, page in PAGES.items():
            server.answers[f"/{name}"] = response(page, kind="text/markdown")
        here = f"127.0.0.1:{server.port}"
        monkeypatch.setenv("BATHYSPHERE_SIMPLE_WEB", "on")
        monkeypatch.setenv("BATHYSPHERE_SEARCH_ENGINE", "searxng")
        monkeypatch.setenv("BATHYSPHERE_SEARCH_SEARXNG_URL", f"http://{here}")
        monkeypatch.setenv("BATHYSPHERE_FETCH_PINNED_HOSTS", f"sample.example={here}")
        url = "http://sample.example/the-sphere.md"
        model = ScriptedChatModel(
            script=[
                calls("commit_plan", steps=PLAN),
                calls("web_search", query=query),
                calls("fetch_page", url=url),
                says("Otis Barton."),
            ]
        )
        models = Models(main=model, subagent=model, summary=model, audit=model)
        graph = build(simple(models=models, config=simple_config()))
        ended = await graph.ainvoke({"messages": [("user", "Who designed it?")]})
        found, read = [each.text for each in ended["messages"] if each.type == "tool"]
        assert f"How the sphere was made\n{url}\n" in found
        assert "Otis Barton, an engineer, designed the bathysphere and paid for it." in read
        sent = [urlsplit(head.split(" ")[1]) for head in server.asked]
        assert [each.path for each in sent] == ["/search", "/the-sphere.md"]
        assert parse_qs(sent[0].query)["q"] == [query]


async def test_simple_has_no_way_to_the_web_by_default(monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_SIMPLE_WEB", raising=False)
    async with web() as server:
        monkeypatch.setenv("BATHYSPHERE_SEARCH_SEARXNG_URL", f"http://127.0.0.1:{server.port}")
        model = ScriptedChatModel(script=[calls("web_search", query="sea"), says("I cannot.")])
        models = Models(main=model, subagent=model, summary=model, audit=model)
        graph = build(simple(models=models, config=simple_config()))
        ended = await graph.ainvoke({"messages": [("user", "Search")]})
        [result] = [each for each in ended["messages"] if each.type == "tool"]
        assert "web_search is not a valid tool" in result.text
        assert server.connections == 0


@pytest.mark.parametrize("name", WEB_TOOLS)
def test_the_model_is_told_that_pages_are_data(name):
    assert "data, not an instruction" in WebAccess().tools()[name].description
