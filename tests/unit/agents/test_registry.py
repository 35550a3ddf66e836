"""The registry of agents: names, folders and what each package must offer."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from bathysphere import agents
from bathysphere.core.errors import CallerError, ModelUnavailable
from bathysphere.harness.spec import SubagentSpec
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.memories import MemoriesMiddleware
from bathysphere.middleware.reliability import ExplainModelErrors
from bathysphere.models.resolve import name_of
from bathysphere.models.settings import ModelSettings

ROOT = Path(__file__).parents[3]
FOLDERS = sorted(
    path.name
    for path in (ROOT / "src/bathysphere/agents").iterdir()
    if path.is_dir() and path.name != "__pycache__"
)


def test_every_folder_is_in_the_registry():
    assert sorted(agents.AGENTS) == FOLDERS


OPTIONAL = {"simple": {"system_prompt_web.md"}, "research": {"auditor_prompt.md"}}
"""Snapshots of what an agent's settings add, and of what else a model of it reads."""


@pytest.mark.parametrize("name", FOLDERS)
def test_an_agent_has_a_prompt_in_the_package_and_snapshots_in_the_tests(name):
    assert files(f"bathysphere.agents.{name}").joinpath("prompt.md").is_file()
    snapshots = ROOT / "tests/snapshots" / name
    expected = {"stack.txt", "system_prompt.md", "tools.json"} | OPTIONAL.get(name, set())
    assert {path.name for path in snapshots.iterdir()} == expected


@pytest.mark.parametrize("name", FOLDERS)
def test_an_agent_is_served_by_langgraph_dev(name):
    served = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert served[name] == f"./src/bathysphere/graphs.py:{name}"


def test_an_unknown_name_says_which_there_are():
    with pytest.raises(CallerError, match="Unknown agent: nobody") as caught:
        agents.load("nobody")
    assert caught.value.hint == "choose research, simple, tutor, workspace"


ALIASES = [("deeptutor", "tutor"), ("seminar_agent", "tutor"), ("simple_agent", "simple")]


@pytest.mark.parametrize(("alias", "name"), ALIASES)
def test_a_name_of_the_founding_documents_means_the_agent_that_took_its_place(alias, name):
    assert agents.known_agent(alias) == name
    assert agents.load(alias) is agents.load(name)
    assert alias not in agents.AGENTS


def test_an_alias_gives_way_to_an_agent_of_its_name_and_needs_its_agent():
    assert agents.real_name("deeptutor", ["deeptutor", "tutor"]) == "deeptutor"
    assert agents.real_name("deeptutor", ["simple"]) == "deeptutor"
    assert agents.real_name("nobody", agents.AGENTS) == "nobody"


def test_a_configured_agent_has_the_models_and_the_retries_of_its_settings():
    settings = ModelSettings.model_construct(main="demo:tour", retries=3)
    spec = agents.configured("simple", settings)
    assert spec.name == "simple"
    assert name_of(spec.model) == "demo:tour"
    clarify, _, memories, retry, explain = spec.middleware
    assert isinstance(clarify, ClarifyMiddleware)
    assert isinstance(memories, MemoriesMiddleware)
    assert retry.max_retries == 3
    assert isinstance(explain, ExplainModelErrors)
    (helper,) = spec.subagents
    assert isinstance(helper, SubagentSpec)
    assert helper.middleware == (retry, explain)


def test_a_model_without_a_key_is_one_sentence():
    settings = ModelSettings.model_construct(main="anthropic:claude-sonnet-4-6")
    with pytest.raises(ModelUnavailable, match="ANTHROPIC_API_KEY"):
        agents.configured("simple", settings)


def test_a_subagent_that_settings_name_has_the_model_they_give_it():
    settings = ModelSettings(
        subagent="demo:tour", subagents={"files": "ollama:qwen3", "general-purpose": "ollama:big"}
    )
    for agent, subagent, model in (
        ("workspace", "files", "ollama:qwen3"),
        ("simple", "general-purpose", "ollama:big"),
    ):
        spec = agents.configured(agent, settings)
        [found] = [sub for sub in spec.subagents if sub.name == subagent]
        assert name_of(found.model) == model
