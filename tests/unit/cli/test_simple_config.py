"""`BATHYSPHERE_SIMPLE_WEB` reaches the agent by every command that runs it."""

import argparse
import asyncio

import pytest

from bathysphere import graphs
from bathysphere.agents.simple import SimpleConfig
from bathysphere.cli import chat, worker
from bathysphere.cli.main import main
from bathysphere.cli.serve import run_server
from bathysphere.harness.web_tools import WEB_TOOLS, WebAccess
from bathysphere.models.settings import ModelSettings
from bathysphere.registry.loading import registered_agents
from bathysphere.server.process import assembly
from bathysphere.server.process.settings import ServerSettings

VARIABLE = "BATHYSPHERE_SIMPLE_WEB"
SETTINGS = ModelSettings.model_construct(main="demo:tour")


class Stop(Exception):
    """Ends a command after what is of interest."""


@pytest.fixture(params=["off", "on"])
def is_on(request, monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_MODEL_MAIN", "demo:tour")
    monkeypatch.setenv(VARIABLE, request.param)
    return request.param == "on"


@pytest.fixture
def configs(monkeypatch):
    """The configurations of `simple` that processes make their graphs with."""
    seen = []

    def make(*_, simple, **__):
        seen.append(simple)
        raise Stop

    monkeypatch.setattr(assembly, "graphs_of", make)
    return seen


def arguments(command, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(words)


def tools_of(graph) -> set[str]:
    return set(graph.nodes["tools"].bound.tools_by_name) & set(WEB_TOOLS)


def test_agents_shows_the_tools(is_on, capsys):
    assert main(["agents", "simple"]) == 0
    assert ("web_search, fetch_page" in capsys.readouterr().out) is is_on


def test_no_other_agent_gets_them(is_on, capsys):
    assert main(["agents", "tutor"]) == 0
    assert "web_search" not in capsys.readouterr().out


def test_chat_has_them(is_on, monkeypatch):
    made = []

    def stop(spec, **_):
        made.append(spec)
        raise Stop

    monkeypatch.setattr(chat, "chat_graph", stop)
    with pytest.raises(Stop):
        chat.run(arguments(chat, "simple", "--message", "Hello"))
    assert {tool.name for tool in made[0].tools} == (set(WEB_TOOLS) if is_on else set())


def test_langgraph_dev_has_them(is_on):
    graphs._build.cache_clear()
    graph = asyncio.run(graphs.simple())
    graphs._build.cache_clear()
    assert tools_of(graph) == (set(WEB_TOOLS) if is_on else set())


def test_serve_has_them(is_on, configs, tmp_path):
    with pytest.raises(Stop):
        run_server(ServerSettings(data_dir=tmp_path), {})
    assert (configs[0].web is not None) is is_on


def test_a_worker_has_them(is_on, configs, monkeypatch):
    monkeypatch.setattr(worker, "prepare", lambda settings: None)
    urls = ("--database-url", "postgresql://127.0.0.1:1/x", "--redis-url", "redis://127.0.0.1:1")
    with pytest.raises(Stop):
        worker.run(arguments(worker, *urls))
    assert (configs[0].web is not None) is is_on


def test_the_graphs_of_a_process_have_them():
    known = {"simple": registered_agents()["simple"]}
    assert tools_of(assembly.graphs_of(SETTINGS, known).get("simple")) == set()
    config = SimpleConfig(web=WebAccess())
    made = assembly.graphs_of(SETTINGS, known, simple=config, web=WebAccess())
    assert tools_of(made.get("simple")) == set(WEB_TOOLS)
    # A process always has access for folders that list the tools; that alone gives `simple` none.
    made = assembly.graphs_of(SETTINGS, known, web=WebAccess())
    assert tools_of(made.get("simple")) == set()
