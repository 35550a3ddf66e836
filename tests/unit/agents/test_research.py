"""The research agent as data: what its models are told, what they must answer, where it may go."""

import difflib
import json
import os
from pathlib import Path

import pytest

from bathysphere.agents import configured
from bathysphere.agents.research import spec
from bathysphere.agents.research.routing import (
    route_after_audit,
    route_after_execution,
    route_after_gate,
)
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.agents.research.source_access import GuardedSources, corpus_of
from bathysphere.agents.research.structured_output import FULL, SMALL
from bathysphere.core.errors import ConfigError
from bathysphere.harness.describe import describe
from bathysphere.models.demo.model import DemoTourModel
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings
from bathysphere.server.process.assembly import research_of
from bathysphere.server.process.settings import ServerSettings

SNAPSHOTS = Path(__file__).parents[2] / "snapshots" / "research"


@pytest.fixture
def agent():
    model = DemoTourModel()
    return spec(models=Models(main=model, subagent=model, summary=model, audit=model))


def check_snapshot(name, text):
    """Compare with the stored text; with UPDATE_SNAPSHOTS=1 store it instead."""
    path = SNAPSHOTS / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    stored = path.read_text(encoding="utf-8") if path.exists() else ""
    diff = difflib.unified_diff(
        stored.splitlines(), text.splitlines(), "stored", "now", lineterm=""
    )
    assert stored == text, "\n".join(
        [f"{path.name} changed; if that is meant: UPDATE_SNAPSHOTS=1 pytest {__file__}", *diff]
    )


def test_the_models_of_the_nodes_read_these_prompts(agent):
    check_snapshot("system_prompt.md", agent.prompt + "\n")


def test_the_models_of_the_nodes_must_answer_these_forms(agent):
    check_snapshot("tools.json", json.dumps(agent.answers, indent=1, ensure_ascii=False) + "\n")


def test_the_nodes_and_where_they_may_lead_are_these(agent):
    check_snapshot("stack.txt", describe(agent) + "\n")


# ── routers are pure functions of the state ──

APPROVED, REJECTED = {"verdict": "approved"}, {"verdict": "rejected"}


@pytest.mark.parametrize(
    ("state", "next_node"),
    [
        ({"status": "awaiting_approval", "audit_result": APPROVED}, "hitl_gate"),
        ({"status": "thinking", "audit_result": REJECTED}, "thinker"),
        ({"status": "failed", "audit_result": REJECTED}, "__end__"),
        ({"status": "awaiting_approval", "audit_result": REJECTED, "edited": True}, "hitl_gate"),
        ({"status": "executing", "audit_result": APPROVED}, "tool_executor"),
    ],
)
def test_after_the_audit(state, next_node):
    assert route_after_audit(state) == next_node


@pytest.mark.parametrize(
    ("status", "next_node"),
    [("thinking", "thinker"), ("auditing", "auditor"), ("executing", "tool_executor")],
)
def test_after_the_gate(status, next_node):
    assert route_after_gate({"status": status}) == next_node


@pytest.mark.parametrize(
    ("status", "next_node"),
    [("executing", "tool_executor"), ("auditing", "auditor"), ("synthesizing", "synthesizer")],
)
def test_after_a_wave(status, next_node):
    assert route_after_execution({"status": status}) == next_node


# ── settings ──


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("BATHYSPHERE_", "GOOGLE_CSE", "TAVILY_", "BRAVE_")):
            monkeypatch.delenv(name)


def config(model="demo:tour", **environment):
    models = ModelSettings.model_construct(main=model)
    return ResearchSettings.from_environment().config(models)


def test_without_anything_set_the_sample_pages_are_searched():
    assert set(config().sources.tools) == {"search_corpus", "read_context"}


def test_a_real_model_searches_the_web():
    assert set(config("ollama:qwen3").sources.tools) == {"web_search", "fetch_page", "read_context"}


def test_a_corpus_takes_the_place_of_the_web_unless_both_are_wanted(monkeypatch, tmp_path):
    (tmp_path / "a.md").write_text("# A\n\nText.")
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_CORPUS", str(tmp_path))
    assert set(config("ollama:qwen3").sources.tools) == {"search_corpus", "read_context"}
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_WHERE", "both")
    assert set(config("ollama:qwen3").sources.tools) == {
        "search_corpus",
        "web_search",
        "fetch_page",
        "read_context",
    }


@pytest.mark.parametrize(
    ("variable", "value", "match"),
    [
        ("CORPUS", "/nowhere/at/all", "Folder not found"),
        ("POLICY_FILE", "/nowhere/POLICY.md", "Cannot read"),
        ("SIGNING_KEY", "short", "Invalid .*SIGNING_KEY"),
        ("WHERE", "moon", "Invalid .*WHERE"),
        ("WHERE", "corpus", "No corpus is configured"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(monkeypatch, variable, value, match):
    monkeypatch.setenv(f"BATHYSPHERE_RESEARCH_{variable}", value)
    with pytest.raises(ConfigError, match=match) as caught:
        config()
    assert caught.value.hint


def test_a_corpus_without_documents_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match="No readable documents"):
        corpus_of(tmp_path)


def test_a_local_file_is_asked_for_less_at_a_time(monkeypatch):
    assert config("llamacpp:x").sizes == SMALL
    assert config("ollama:qwen3").sizes == FULL
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_SIZE", "full")
    assert config("llamacpp:x").sizes == FULL


def test_a_key_is_kept_out_of_sight(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_SIGNING_KEY", "ab" * 32)
    made = config()
    assert made.key == bytes.fromhex("ab" * 32)
    assert "abab" not in repr(made)
    assert "abab" not in repr(ResearchSettings.from_environment())


def test_processes_that_share_a_folder_share_a_key(monkeypatch, tmp_path):
    monkeypatch.setenv("BATHYSPHERE_RESEARCH_SIGNING_KEY_FILE", str(tmp_path / "data" / "key"))
    first = config().key
    assert len(first) == 32
    assert config().key == first
    several = ServerSettings(database_url="postgresql://127.0.0.1:1/x")
    models = ModelSettings.model_construct(main="demo:tour")
    shared = ResearchSettings.from_environment()
    assert research_of(several, models, shared).key == first


def test_a_configured_agent_is_a_graph_of_its_own():
    made = configured("research", ModelSettings.model_construct(main="demo:tour"))
    assert made.name == "research"
    assert "hitl_gate" in describe(made)


async def test_without_an_engine_or_a_corpus_nothing_can_be_reached():
    with pytest.raises(ConfigError, match="No search engine"):
        await GuardedSources().search("x", 1)
    with pytest.raises(ConfigError, match="No corpus"):
        await GuardedSources().corpus("x", 1)
