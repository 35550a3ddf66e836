"""The agents as graphs for `langgraph dev`: `langgraph.json` names the functions here.

That server brings its own checkpointer, so none is compiled in. Settings are read when a graph is
first asked for, not at import.
"""

from functools import cache

from bathysphere.agents import configured
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.harness.build import Graph, build
from bathysphere.models.settings import ModelSettings


@cache
def research() -> Graph:
    """The `research` agent."""
    models = ModelSettings.from_environment()
    config = ResearchSettings.from_environment().config(models)
    return build(configured("research", models, config=config))


@cache
def simple() -> Graph:
    """The `simple` agent."""
    return build(configured("simple", ModelSettings.from_environment()))


@cache
def tutor() -> Graph:
    """The `tutor` agent."""
    return build(configured("tutor", ModelSettings.from_environment()))


@cache
def workspace() -> Graph:
    """The `workspace` agent, on files in graph state; `bathysphere serve` gives it a bucket."""
    return build(configured("workspace", ModelSettings.from_environment()))
