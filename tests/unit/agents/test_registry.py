"""The registry of agents: names, folders and what each package must offer."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from bathysphere import agents
from bathysphere.core.errors import CallerError, ModelUnavailable
from bathysphere.harness.spec import SubagentSpec
from bathysphere.middleware.clarify import ClarifyMiddleware
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


@pytest.mark.parametrize("name", FOLDERS)
def test_an_agent_has_a_prompt_in_the_package_and_snapshots_in_the_tests(name):
    assert files(f"bathysphere.agents.{name}").joinpath("prompt.md").is_file()
    snapshots = ROOT / "tests/snapshots" / name
    assert sorted(path.name for path in snapshots.iterdir()) == [
        "stack.txt",
        "system_prompt.md",
        "tools.json",
    ]


@pytest.mark.parametrize("name", FOLDERS)
def test_an_agent_is_served_by_langgraph_dev(name):
    served = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert served[name] == f"./src/bathysphere/graphs.py:{name}"


def test_an_unknown_name_says_which_there_are():
    with pytest.raises(CallerError, match="Unknown agent: nobody") as caught:
        agents.load("nobody")
    assert caught.value.hint == "choose research, simple, tutor, workspace"


def test_a_configured_agent_has_the_models_and_the_retries_of_its_settings():
    settings = ModelSettings.model_construct(main="demo:tour", retries=3)
    spec = agents.configured("simple", settings)
    assert spec.name == "simple"
    assert name_of(spec.model) == "demo:tour"
    clarify, _, retry, explain = spec.middleware
    assert isinstance(clarify, ClarifyMiddleware)
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
