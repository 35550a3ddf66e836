"""`langgraph.json`: loaded by path and attribute, as the development server does, and run."""

import asyncio
import importlib.util
import inspect
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text())["graphs"]


LOOPS = sorted(GRAPHS.keys() - {"research"})
"""Agents on the harness's loop; `research` is a graph of its own."""


@pytest.fixture(params=LOOPS)
def graph(request, monkeypatch):
    return served(request.param, monkeypatch)


def served(name, monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    path, _, attribute = GRAPHS[name].partition(":")
    found = importlib.util.spec_from_file_location(f"served_{name}", ROOT / path)
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, found.name, module)
    found.loader.exec_module(module)
    made = getattr(module, attribute)
    assert inspect.signature(made).parameters == {}, "the server calls it without arguments"
    return asyncio.run(made())


async def test_a_served_graph_runs_and_has_no_checkpointer_of_its_own(graph):
    assert graph.checkpointer is None
    final = await graph.ainvoke({"messages": [{"role": "user", "content": "Hello"}]})
    assert final["todos"][0]["status"] == "in_progress"
    delegates = graph.name == "workspace"  # its main agent has no file tools
    kept = {"/tour/notes.md", "/scratch/tour.md"} & final["files"].keys()
    assert bool(kept) is not delegates
    assert final["messages"][-1].text


@pytest.fixture
def research(monkeypatch):
    return served("research", monkeypatch)


async def test_research_is_served_and_plans_without_a_key(research):
    graph = research
    assert graph.checkpointer is None
    parts = graph.astream({"user_query": "How deep did it dive?"}, stream_mode="updates")
    async for update in parts:
        if "auditor" in update:
            assert update["auditor"]["audit_result"]["verdict"] == "approved"
            break
    await parts.aclose()


async def test_a_served_graph_is_compiled_once(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    from bathysphere import graphs

    assert await graphs.simple() is await graphs.simple()
    graphs._build.cache_clear()
