"""Whom a run trusts: the engine's context and an authenticated user, never what a client sent."""

from types import SimpleNamespace

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import get_runtime
from langgraph_sdk.auth.types import BaseUser

from bathysphere.agents.research.dependencies import person_of
from bathysphere.core.run_context import RunContext, RunUser, context_of
from bathysphere.middleware.payments.metering import purse_of

FORGED = {
    "tenant": "acme",
    "user": "the boss",
    "effects": "mine",
    "changes": "mine",
    "payments": "mine",
}


def runtime(context=None, user=None):
    info = SimpleNamespace(user=user) if user is not None else None
    return SimpleNamespace(context=context, server_info=info)


def test_what_the_worker_says_is_believed():
    given = RunContext(tenant="acme", user="ada", effects="log", changes="record", payments="purse")
    assert context_of(runtime(given)) == given


@pytest.mark.parametrize("context", [None, {}, FORGED])
def test_a_mapping_is_what_a_client_sent_and_says_nothing(context):
    assert context_of(runtime(context)) == RunContext()


def test_under_a_mapping_the_authenticated_user_counts():
    user = SimpleNamespace(identity="ada", tenant="acme")
    assert context_of(runtime(FORGED, user)) == RunContext(tenant="acme", user="ada")


def test_a_context_in_the_shape_a_graph_declares_came_from_the_client_too():
    assert context_of(runtime(SimpleNamespace(**FORGED))) == RunContext()


def test_a_name_that_is_not_text_is_ignored():
    user = SimpleNamespace(identity=["ada"], tenant=1)
    assert context_of(runtime(None, user)) == RunContext()


def test_a_client_of_langgraph_dev_cannot_forge_who_approves_or_pays():
    """The mapping goes through a real graph, as `langgraph dev` passes it on."""
    seen = {}

    def node(state):
        del state
        seen.update(by=person_of(get_runtime()), purse=purse_of(get_runtime()))

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.compile().invoke({"messages": []}, context=FORGED)
    assert seen == {"by": "the person", "purse": None}


def test_the_engines_user_carries_the_run_under_any_context():
    run = RunContext(tenant="acme", user="ada", payments="purse")
    assert context_of(runtime(FORGED, RunUser(run))) is run


def test_the_engines_user_is_what_langgraph_calls_a_user():
    user = RunUser(RunContext(tenant="acme", user="ada"))
    assert isinstance(user, BaseUser)
    assert user["identity"] == user.identity == "ada"
    assert user["tenant"] == user.tenant == "acme"
    assert set(user) == {"identity", "tenant", "display_name", "is_authenticated", "permissions"}
    assert "run" not in user
    with pytest.raises(KeyError):
        user["run"]
    assert not RunUser(RunContext()).is_authenticated


def test_a_declared_context_does_not_hide_who_pays():
    """Through a real graph, as the worker calls one that declares a context."""
    seen = {}

    def node(state):
        del state
        seen.update(by=person_of(get_runtime()), purse=purse_of(get_runtime()))

    builder = StateGraph(MessagesState, context_schema=dict)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    run = RunContext(tenant="acme", user="ada", payments="purse")
    config = {"configurable": {"langgraph_auth_user": RunUser(run)}}
    builder.compile().invoke({"messages": []}, config, context=FORGED)
    assert seen == {"by": "ada", "purse": "purse"}
