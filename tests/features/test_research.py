"""Seed 002's state, by field: what a run of the agent leaves, through the public door."""

import json
import uuid
from datetime import datetime

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from bathysphere.agents import configured
from bathysphere.agents.research import ResearchConfig, spec
from bathysphere.harness.build import build
from bathysphere.models.demo.model import DemoTourModel
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.policy.rules import read_policy
from bathysphere.testing import ScriptedChatModel, says

QUESTION = "What depth did the bathysphere reach?"
NOTES = "My notes say that the bathysphere reached a depth of 923 metres with two men inside."
THREAD = {"configurable": {"thread_id": "6f1b6f4e-0000-4000-8000-000000000002"}}
ASKED = {"user_query": QUESTION, "knowledge_context": NOTES, "context_urls": ["https://a.example/"]}


@pytest.fixture
async def states():
    """The state while the plan waits, and the state at the end."""
    settings = ModelSettings.model_construct(main="demo:tour")
    graph = build(
        configured("research", settings), checkpointer=InMemorySaver(), store=InMemoryStore()
    )
    waiting = await graph.ainvoke(ASKED, THREAD)
    return waiting, await graph.ainvoke(Command(resume={"type": "approve"}), THREAD)


async def test_who_asked_what(states):
    for state in states:
        assert state["thread_id"] == THREAD["configurable"]["thread_id"]
        assert state["user_query"] == QUESTION
        assert state["knowledge_context"] == NOTES
        assert state["context_urls"] == ["https://a.example/"]


async def test_the_plan_and_its_steps(states):
    plan = states[0]["plan"]
    assert plan["objective"]
    assert plan["estimated_token_budget"] > 0
    assert plan["revision"] == 0
    for step in plan["steps"]:
        assert uuid.UUID(step["id"])
        assert step["tool"] in ("search_corpus", "read_context")
        assert step["input"]
        assert step["rationale"]
        assert "output" not in step
    assert all(step["output"] for step in states[1]["plan"]["steps"])


async def test_the_audit(states):
    audit = states[0]["audit_result"]
    assert audit["verdict"] == "approved"
    assert audit["policy_violations"] == []
    assert audit["suggestions"] == []


async def test_the_trace(states):
    line = states[1]["reasoning"][0]
    assert line["node"] == "thinker"
    assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
    assert line["summary"]
    assert line["raw_thought"].startswith("{")


async def test_the_persons_word_and_the_counts(states):
    waiting, done = states
    assert waiting["human_approved"] is False
    assert done["human_approved"] is True
    assert done["plan_revision_count"] == 0
    assert done["max_plan_revisions"] == 3


async def test_the_end(states):
    waiting, done = states
    assert (waiting["status"], done["status"]) == ("awaiting_approval", "complete")
    assert waiting["final_report"] is None
    assert done["final_report"].startswith("# What depth")
    assert done["error_message"] is None


# ── a policy in prose ──

TABLOIDS = "# Our policy\n\nWe never search for gossip. Primary sources come first.\n"


def auditor(messages):
    """Objects to the first sentence where the plan is about gossip."""
    plan = messages[-1].text.partition("<plan>")[2].partition("</plan>")[0]
    is_gossip = "gossip" in plan
    judgements = [
        {"rule": "prose.1", "allowed": not is_gossip, "reason": "It does." if is_gossip else ""},
        {"rule": "prose.2", "allowed": True},
    ]
    return says(json.dumps({"judgements": judgements}))


async def test_an_auditor_objects_to_a_sentence_and_the_person_sees_that_it_is_a_judgement():
    demo = DemoTourModel()
    models = Models(main=demo, subagent=demo, summary=demo, audit=ScriptedChatModel(answer=auditor))
    config = ResearchConfig(policy=read_policy(TABLOIDS))
    graph = build(
        spec(models=models, config=config), checkpointer=InMemorySaver(), store=InMemoryStore()
    )
    waiting = await graph.ainvoke({"user_query": QUESTION}, THREAD)
    asked = waiting["__interrupt__"][0].value
    assert asked["decisions"] == ["approve", "edit", "reject"]
    assert [(one["rule"], one["question"]) for one in judgements_of(asked)] == [
        ("prose.1", "Our policy: We never search for gossip."),
        ("prose.2", "Our policy: Primary sources come first."),
    ]

    edited = asked["plan"]
    edited["steps"][0]["input"] = "gossip about the bathysphere"
    again = await graph.ainvoke(Command(resume={"type": "edit", "plan": edited}), THREAD)
    asked = again["__interrupt__"][0].value
    assert asked["decisions"] == ["edit", "reject"]
    assert asked["audit_result"]["policy_violations"] == [
        "It does. (the auditor's judgement on: Our policy: We never search for gossip.)"
    ]
    (found,) = asked["audit_result"]["detail"]["violations"]
    assert found["decided_by"] == "judgement"

    edited["steps"][0]["input"] = "record of the bathysphere"
    done = await graph.ainvoke(Command(resume={"type": "edit", "plan": edited}), THREAD)
    assert done["status"] == "complete"


def judgements_of(asked):
    return asked["audit_result"]["detail"]["judgements"]
