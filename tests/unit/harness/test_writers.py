"""Every field of a state declares who writes it, and a graph without that is not built."""

import re
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware.types import AgentMiddleware
from langgraph.graph import StateGraph

from bathysphere.agents import AGENTS, load
from bathysphere.compat import create_deep_agent
from bathysphere.core.errors import ConfigError
from bathysphere.core.writers import ByClient, ByEngine, ByModel, Writer
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, GraphSpec
from bathysphere.harness.state import writers_of
from bathysphere.models.resolve import Models
from bathysphere.testing import ScriptedChatModel, says

MODEL = ScriptedChatModel(answer=lambda _: says("Done."))
MODELS = Models(main=MODEL, subagent=MODEL, summary=MODEL, audit=MODEL)
CLIENT_FIELDS = {
    "simple": {"messages", "files", "flow_revoked"},
    "tutor": {"messages", "files", "argument_map", "open_questions"},
    "research": {
        "messages",
        "user_query",
        "documents",
        "knowledge_context",
        "context_urls",
        "max_plan_revisions",
    },
    "workspace": {"messages", "files", "workspace", "flow_revoked"},
}


def spec_of(name):
    return load(name).spec(models=MODELS)


@pytest.mark.parametrize("name", AGENTS)
def test_every_field_of_an_agent_declares_its_writer(name):
    graph = build(spec_of(name))
    writers = writers_of(graph)
    assert graph.builder.channels.keys() <= writers.keys()
    clients = {field for field, writer in writers.items() if writer is Writer.CLIENT}
    assert clients == CLIENT_FIELDS[name]


def test_no_field_has_two_writers_in_two_agents():
    """Agents can run on the same thread, where a field of one is a field of the other."""
    known = {name: writers_of(build(spec_of(name))) for name in AGENTS}
    for fields in known.values():
        for field, writer in fields.items():
            others = {other[field] for other in known.values() if field in other}
            assert others == {writer}, field


def test_the_browser_shows_nothing_that_the_harness_keeps_for_itself():
    panel = Path(__file__).parents[3] / "web/src/lib/features/custom-state/fields.ts"
    hidden = set(re.findall(r"'(\w+)'", panel.read_text("utf-8")))
    own = {"simple": set(), "workspace": {"workspace"}}
    for name, fields in own.items():
        kept = writers_of(build(spec_of(name))).keys() - fields - {"structured_response"}
        assert {field for field in kept if not field.startswith("_")} <= hidden


class Undeclared(AgentState[Any]):
    secret_counter: NotRequired[int]


class UndeclaredLayer(AgentMiddleware[Undeclared, Any, Any]):
    state_schema = Undeclared


@pytest.mark.parametrize("name", ["simple", "tutor", "workspace"])
def test_a_layer_with_an_undeclared_field_fails_the_build(name, monkeypatch):
    from dataclasses import replace

    spec = spec_of(name)
    grown = replace(spec, middleware=(*spec.middleware, UndeclaredLayer()))
    with pytest.raises(ConfigError, match="without a declared writer: secret_counter"):
        build(grown)


def test_an_undeclared_field_of_a_subagent_fails_the_build():
    from bathysphere.harness.spec import SubagentSpec

    helper = SubagentSpec(name="helper", description="x", middleware=(UndeclaredLayer(),))
    with pytest.raises(ConfigError, match="secret_counter"):
        build(AgentSpec(name="a", model=MODEL, subagents=(helper,)))


def test_an_undeclared_field_of_research_fails_the_build(monkeypatch):
    from bathysphere.agents.research import agent, state

    class Grown(state.ResearchState, total=False):
        secret_counter: int

    monkeypatch.setattr(agent, "ResearchState", Grown)
    with pytest.raises(ConfigError, match="secret_counter"):
        build(spec_of("research"))


def test_a_field_that_declares_two_writers_fails_the_build():
    class One(TypedDict):
        a: ByClient[str]

    class Two(TypedDict):
        a: ByEngine[str]

    def graph():
        builder = StateGraph(Two, input_schema=One)
        builder.add_node("n", lambda _: {})
        return builder.set_entry_point("n")

    with pytest.raises(ConfigError, match="two writers"):
        build(GraphSpec(name="g", graph=graph))


def test_a_foreign_graph_declares_with_the_same_words():
    class State(TypedDict):
        asked: ByClient[str]
        answer: ByModel[str]
        audits: Annotated[ByEngine[list[str]], lambda a, b: [*a, *b]]

    builder = StateGraph(State)
    builder.add_node("n", lambda _: {})
    compiled = builder.set_entry_point("n").compile()
    assert writers_of(compiled) == {
        "asked": Writer.CLIENT,
        "answer": Writer.MODEL,
        "audits": Writer.ENGINE,
    }
    # The reducer is still LangGraph's to find.
    assert compiled.invoke({"asked": "x", "audits": ["a"]})["audits"] == ["a"]


def test_a_graph_that_declares_nothing_is_left_alone():
    class State(TypedDict):
        items: list[str]

    builder = StateGraph(State)
    builder.add_node("n", lambda _: {})
    assert writers_of(builder.set_entry_point("n").compile()) == {}


def test_a_caller_of_create_deep_agent_need_not_declare_their_own_fields():
    create_deep_agent(MODEL, middleware=[UndeclaredLayer()])
