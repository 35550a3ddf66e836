"""Whatever an attribute is becomes an agent; packages register theirs by entry points."""

import asyncio
import contextlib
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Optional, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_sdk.runtime import ServerRuntime

from bathysphere.agents import AGENTS
from bathysphere.core.errors import ConfigError
from bathysphere.core.run_context import RunContext, RunUser
from bathysphere.core.writers import ByEngine
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.spec import AgentSpec, GraphSpec
from bathysphere.models.settings import ModelSettings
from bathysphere.registry import entry_points
from bathysphere.registry.agents import SpecSource, agent_of, resolve_agent
from bathysphere.registry.entry_points import GROUP, registrations
from bathysphere.registry.errors import LoadError
from bathysphere.registry.factories import Factory, FactoryCall
from bathysphere.registry.loading import load_agents, registered_agents
from bathysphere.registry.selection import Selection
from bathysphere.registry.targets import parse_attribute
from bathysphere.server.process.assembly import graphs_of
from bathysphere.testing import ScriptedChatModel

ROOT = Path(__file__).parents[3]
SETTINGS = ModelSettings.model_construct(main="demo:tour")


def builder() -> StateGraph:
    graph = StateGraph(MessagesState)
    graph.add_node("node", lambda state: {})
    graph.add_edge(START, "node")
    return graph


@entrypoint()
def doubled(number: int) -> int:
    return number * 2


def agent(value, **options):
    return agent_of(value, source="my.agents:helper", attribute="helper", **options)


@pytest.mark.parametrize(
    "value",
    [builder(), builder().compile(), doubled],
    ids=["builder", "compiled", "entrypoint"],
)
def test_a_graph_is_an_agent(value):
    found = agent(value, about="Helps")
    assert (found.name, found.description) == ("helper", "Helps")
    graph = graphs_of(SETTINGS, {"helper": found}).get("helper")
    assert graph.checkpointer is None


def test_a_spec_is_an_agent_under_its_own_name():
    spec = AgentSpec(name="own", model=ScriptedChatModel(), description="Helps")
    found = agent(spec)
    assert (found.name, found.description, found.content) == ("own", "Helps", spec)
    assert agent(spec, name="other").name == "other"
    assert graphs_of(SETTINGS, {"own": found}).get("own").name == "own"


def test_a_graph_spec_must_declare_its_writers():
    class Loose(TypedDict):
        words: str

    def loose():
        graph = StateGraph(Loose)
        graph.add_node("node", lambda state: {})
        graph.add_edge(START, "node")
        return graph

    found = agent(GraphSpec(name="loose", graph=loose))
    with pytest.raises(ConfigError, match="without a declared writer: words"):
        graphs_of(SETTINGS, {"loose": found}).get("loose")


def test_a_spec_function_gets_the_models_of_the_settings():
    seen = {}

    def spec(*, models, reliability):
        seen.update(layers=reliability)
        return AgentSpec(name="own", model=models.main)

    found = agent(spec)
    assert isinstance(found.content, SpecSource)
    assert resolve_agent(found, SETTINGS).name == "own"
    assert seen["layers"]


@pytest.mark.parametrize(
    "value", [5, "graph", StateGraph, pytest], ids=["number", "text", "class", "module"]
)
def test_anything_else_is_refused(value):
    with pytest.raises(LoadError, match=r"my\.agents:helper is") as refused:
        agent(value)
    assert "factory" in refused.value.hint


# ── factories ──


def plain():
    """Makes a graph. At once."""
    return builder()


async def later():
    return builder().compile()


def by_config(config: RunnableConfig):
    return builder()


def by_optional_config(settings: Optional[RunnableConfig] = None):  # noqa: UP045
    return builder()


def by_runtime(anything: ServerRuntime):
    return builder()


@contextlib.asynccontextmanager
async def managed():
    yield builder()


@contextlib.contextmanager
def managed_at_once(config):
    yield builder()


@pytest.mark.parametrize(
    ("function", "arguments", "is_per_run"),
    [
        (plain, (), False),
        (later, (), False),
        (by_config, (("config", "config"),), True),
        (by_optional_config, (("settings", "config"),), True),
        (by_runtime, (("anything", "runtime"),), True),
        (managed, (), True),
        (managed_at_once, (("config", "config"),), True),
    ],
)
async def test_a_factory_says_by_its_parameters_when_it_is_called(function, arguments, is_per_run):
    factory = agent(function).content
    assert isinstance(factory, Factory)
    assert (factory.arguments, factory.is_per_run) == (arguments, is_per_run)
    assert "node" in (await factory.describe()).nodes


def test_a_factory_is_described_by_its_first_line():
    assert agent(plain).description == "Makes a graph. At once."


def test_a_parameter_that_nobody_fills_is_refused():
    with pytest.raises(LoadError, match="the parameter 'model', which cannot be filled"):
        agent(lambda model: model)


async def test_a_failing_factory_is_named_with_its_line():
    def failing():
        raise KeyError("HELPDESK_KEY")

    with pytest.raises(LoadError, match=r"my.agents:helper: KeyError: .*test_agents.py, line \d+"):
        await agent(failing).content.describe()


async def test_what_a_factory_opened_is_closed_after_the_run_also_when_it_fails():
    closed = []

    @contextlib.asynccontextmanager
    async def opening(config):
        try:
            yield builder()
        finally:
            closed.append(config)

    factory = agent(opening).content
    with pytest.raises(ValueError, match="a node"):
        async with factory.open(FactoryCall()):
            assert not closed
            raise ValueError("a node failed")
    assert len(closed) == 1


async def test_a_factory_of_one_run_knows_its_user_and_one_that_describes_nobody():
    seen = []

    def remembering(runtime):
        run = runtime.execution_runtime
        seen.append((runtime.ensure_user().identity, run.context if run else None))
        return builder()

    factory = agent(remembering).content
    await factory.describe()
    user = RunUser(RunContext(tenant="acme", user="ada"))
    async with factory.open(FactoryCall(user=user, context={"a": 1}, is_run=True)):
        pass
    assert seen == [("", None), ("ada", {"a": 1})]


class Declared(TypedDict):
    plan: ByEngine[str]


async def test_a_graph_of_one_run_may_not_declare_other_writers():
    """Requests were checked against the description: it must hold for the run."""

    def changing(config):
        if not config["configurable"]:
            return builder()
        graph = StateGraph(Declared)
        graph.add_node("node", lambda state: {})
        graph.add_edge(START, "node")
        return graph

    graphs = Graphs({"changing": agent(changing).content})
    await graphs.prepare()
    call = FactoryCall(config={"configurable": {"thread_id": "1"}}, is_run=True)
    with pytest.raises(ConfigError, match="declares other writers"):
        async with graphs.open("changing", call, checkpointer=InMemorySaver()):
            pass


async def test_a_factory_without_parameters_is_called_once():
    called = []

    def counting():
        called.append(1)
        return builder()

    graphs = Graphs({"counting": agent(counting).content})
    await graphs.prepare()
    await graphs.prepare()
    for _ in range(2):
        async with graphs.open("counting", FactoryCall(), checkpointer=InMemorySaver()):
            pass
    assert len(called) == 1


def test_graphs_of_factories_are_prepared_first():
    with pytest.raises(RuntimeError, match="prepare"):
        Graphs({"plain": agent(plain).content}).get("plain")


# ── registrations ──


def test_ours_are_registered_as_those_of_other_packages():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][GROUP] == {
        name: f"bathysphere.agents.{name}:spec" for name in AGENTS
    }
    found = registrations()
    assert {name: each.description for name, each in found.items() if each.is_built_in} == AGENTS


def entry(name: str, value: str, package: str) -> EntryPoint:
    found = EntryPoint(name, value, GROUP)
    vars(found).update(dist=SimpleNamespace(name=package))
    return found


@pytest.fixture
def installed(monkeypatch):
    def install(*entries):
        monkeypatch.setattr(entry_points, "entry_points", lambda *, group: list(entries))

    return install


def test_an_installation_older_than_the_entries_still_has_our_agents(installed):
    installed()
    assert list(registrations()) == sorted(AGENTS)
    assert (
        registered_agents()["simple"].content.load().__module__ == "bathysphere.agents.simple.agent"
    )


def test_a_package_adds_agents_and_does_not_replace_ours(installed):
    installed(
        entry("simple", "bathysphere.agents.simple:spec", "bathysphere"),
        entry("simple", f"{__name__}:plain", "shop"),
        entry("helper", f"{__name__}:plain", "shop"),
    )
    found = registrations()
    assert {name: each.package for name, each in found.items()} == {
        "simple": "bathysphere",
        "helper": "shop",
    }


def test_an_agent_of_a_package_that_fails_names_the_package(installed):
    installed(entry("helper", "shop_that_is_not_there:graph", "shop"))
    with pytest.raises(LoadError, match=r"shop \(shop_that_is_not_there:graph\): No module"):
        registered_agents()


def test_two_targets_of_one_name_are_refused(tmp_path):
    (tmp_path / "agents_e.py").write_text(
        "from langgraph.graph import StateGraph, MessagesState, START\n"
        "graph = StateGraph(MessagesState)\n"
        "graph.add_node('n', lambda state: {})\n"
        "graph.add_edge(START, 'n')\n"
    )
    target = parse_attribute("agents_e.py:graph", folder=tmp_path)
    assert "graph" in load_agents(Selection(agents=(target,)), is_only=True)
    with pytest.raises(LoadError, match="Two agents are named 'graph'"):
        load_agents(Selection(agents=(target, target)))


def test_our_graphs_in_a_project_are_the_registered_agents():
    target = parse_attribute("bathysphere.graphs:simple", folder=ROOT, name="helper")
    found = load_agents(Selection(agents=(target,)), is_only=True)
    assert found["helper"].content.built_in == "simple"
    assert asyncio.iscoroutinefunction(found["helper"].content.load()) is False
