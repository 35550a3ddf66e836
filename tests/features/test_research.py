"""Seed 002's state, by field: what a run of the agent leaves, through the public door."""

import uuid
from datetime import datetime

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from bathysphere.agents import configured
from bathysphere.harness.build import build
from bathysphere.models.settings import ModelSettings

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
