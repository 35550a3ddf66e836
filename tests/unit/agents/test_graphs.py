"""`langgraph.json`: loaded by path and attribute, as the development server does, and run."""

import importlib.util
import inspect
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GRAPHS = json.loads((ROOT / "langgraph.json").read_text())["graphs"]


@pytest.fixture(params=sorted(GRAPHS))
def graph(request, monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    monkeypatch.setenv("BATHYSPHERE_MODEL_DEMO_PAUSE_S", "0")
    path, _, attribute = GRAPHS[request.param].partition(":")
    found = importlib.util.spec_from_file_location(f"served_{request.param}", ROOT / path)
    module = importlib.util.module_from_spec(found)
    monkeypatch.setitem(sys.modules, found.name, module)
    found.loader.exec_module(module)
    made = getattr(module, attribute)
    assert inspect.signature(made).parameters == {}, "the server calls it without arguments"
    return made()


async def test_a_served_graph_runs_and_has_no_checkpointer_of_its_own(graph):
    assert graph.checkpointer is None
    final = await graph.ainvoke({"messages": [{"role": "user", "content": "Hello"}]})
    assert final["todos"][0]["status"] == "in_progress"
    delegates = graph.name == "workspace"  # its main agent has no file tools
    kept = {"/tour/notes.md", "/scratch/tour.md"} & final["files"].keys()
    assert bool(kept) is not delegates
    assert final["messages"][-1].text


async def test_a_served_graph_is_compiled_once(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    from bathysphere import graphs

    assert graphs.simple() is graphs.simple()
    graphs.simple.cache_clear()
