"""What is evaluated: a model with our agents, or with bare deepagents.

Our agents are assembled as in production, by `agents.configured`; the case adds its tools and the
limits of an evaluation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from bathysphere.agents import configured
from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.simple import SimpleConfig
from bathysphere.agents.tutor import TutorConfig
from bathysphere.core.usage import Limits
from bathysphere.evaluation.bare import bare_agent
from bathysphere.evaluation.case_tools import GATED, CaseTools
from bathysphere.evaluation.cases import Case, Suite
from bathysphere.harness.build import Graph, build
from bathysphere.harness.spec import AgentSpec
from bathysphere.models.resolve import Models
from bathysphere.models.settings import ModelSettings

Harness = Literal["bathysphere", "deepagents"]
MAX_MODEL_CALLS = 40
MAX_TOOL_CALLS = 80
AGENT: Mapping[Suite, str] = {
    "harness": "simple",
    "flow": "simple",
    "tutor": "tutor",
    "research": "research",
}
"""Suite → the agent that it is put to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A model that is evaluated."""

    name: str
    settings: ModelSettings
    models: Callable[[Case, int], Models]
    """The models for one run of a case; the number says which run it is."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the log says about it, such as the profile and the hash of a file."""


def configured_candidate(settings: ModelSettings, facts: Mapping[str, Any]) -> Candidate:
    """The model of the settings; it is built once.

    Raises:
        ConfigError: The model cannot be built.
    """
    models = Models.from_settings(settings)
    return Candidate(
        name=settings.choice("main").name,
        settings=settings,
        models=lambda _case, _run: models,
        facts={"profile": models.profile, **facts},
    )


def build_subject(harness: Harness, candidate: Candidate, tools: CaseTools, run: int) -> Graph:
    """The graph that a case is put to."""
    models = candidate.models(tools.case, run)
    if harness == "deepagents":
        return bare_agent(models, tools)
    suite = tools.case.suite
    spec = configured(AGENT[suite], candidate.settings, config=_config(suite, tools), models=models)
    if isinstance(spec, AgentSpec):
        spec = replace(spec, tools=(*spec.tools, *tools.tools()))
    return build(spec, checkpointer=InMemorySaver(), store=InMemoryStore())


def _config(suite: Suite, tools: CaseTools) -> Any:
    limits = Limits(
        model_calls=MAX_MODEL_CALLS, tool_calls=MAX_TOOL_CALLS, seconds=tools.case.seconds
    )
    if suite == "research":
        return ResearchConfig()
    if suite == "tutor":
        return TutorConfig(limits=limits)
    config = SimpleConfig(limits=limits, flow=tools.policy())
    gated = () if suite == "flow" else (name for name in GATED if name in tools.case.tools)
    return replace(config, approvals=(*config.approvals, *gated))
