"""The research agent's graph: router, thinker, auditor, gate, executor, synthesizer, answerer.

    router → answerer (a follow-up that the sources already read can answer)
       ↓
    thinker → auditor → hitl_gate → tool_executor → synthesizer
       ↑         │           │  ↑         │  ↺ wave by wave
       └─ refused┘  rejected ┘  └─ auditor┘ steps to add

Nothing is read from the environment; options come in a `ResearchConfig`.
"""

import secrets
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import AgentMiddleware
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

from bathysphere.agents.research.dependencies import Dependencies
from bathysphere.agents.research.forms import FORMS
from bathysphere.agents.research.nodes.answerer import Answerer
from bathysphere.agents.research.nodes.auditor import Auditor
from bathysphere.agents.research.nodes.executor import Executor
from bathysphere.agents.research.nodes.gate import Gate
from bathysphere.agents.research.nodes.router import Router
from bathysphere.agents.research.nodes.synthesizer import Synthesizer
from bathysphere.agents.research.nodes.thinker import Thinker
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.plan_seal import Sealer
from bathysphere.agents.research.prompts import system
from bathysphere.agents.research.routing import (
    route_after_audit,
    route_after_execution,
    route_after_gate,
    route_after_routing,
)
from bathysphere.agents.research.source_access import SourceAccess, sample
from bathysphere.agents.research.state import ResearchInput, ResearchState
from bathysphere.agents.research.steps import EntryStep, FirstStep, QuestionStep, SealedStep
from bathysphere.agents.research.structured_output import FULL, Asker, Sizes, schema_of
from bathysphere.agents.research.trace import FailureHandler
from bathysphere.core.clock import Clock, SystemClock
from bathysphere.harness.spec import GraphSpec
from bathysphere.models.failures import is_transient
from bathysphere.models.resolve import Models
from bathysphere.policy.rules import Policy, default_policy

Builder = StateGraph[Any, Any, Any, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchConfig:
    """Configuration of a deployment."""

    policy: Policy = field(default_factory=default_policy)
    sources: SourceAccess = field(default_factory=sample)
    """What can be searched and opened; the sample pages by default."""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """32-byte key that signs proofs and seals state; the same in all processes of a deployment."""
    options: ResearchOptions = field(default_factory=ResearchOptions)
    sizes: Sizes = FULL
    repairs: int = 2
    """How often a model may correct an invalid answer."""
    retries: int = 2
    """How often a model call is retried after a transient error."""
    retry_seconds: float = 1.0
    clock: Clock = field(default_factory=SystemClock)

    def keyed(self, key: bytes) -> "ResearchConfig":
        """Return a copy with another key."""
        return replace(self, key=key)


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: tuple[AgentMiddleware[Any, Any, Any], ...] = (),
    config: ResearchConfig | None = None,
) -> GraphSpec:
    """Describe the agent, without running it or reading the environment.

    Args:
        models: A chat model for each role.
        backend: Unused; research has no files.
        reliability: Unused; the nodes retry by themselves.
        config: Options of this deployment.
    """
    del backend, reliability
    config = config or ResearchConfig()
    return GraphSpec(
        name="research",
        description="Plans, is audited, asks you, reads sources; every quote is checked.",
        graph=lambda: graph(dependencies_of(models, config), config),
        prompt="\n\n".join(f"# {part}\n\n{system(part)}" for part in FORMS),
        answers={part: schema_of(form, config.sizes) for part, form in FORMS.items()},
    )


def sealer_of(config: ResearchConfig) -> Sealer:
    """The sealer, with a key derived from the operator's so that no key has two purposes."""
    return Sealer(sha256(b"bathysphere research seal\n" + config.key).digest())


def dependencies_of(models: Models, config: ResearchConfig) -> Dependencies:
    """Build the nodes' dependencies."""
    main = Asker(
        model=models.main, fallback=models.fallback, repairs=config.repairs, sizes=config.sizes
    )
    audit = Asker(model=models.audit, repairs=config.repairs, sizes=config.sizes)
    return Dependencies(
        main=main,
        audit=audit,
        policy=config.policy,
        sources=config.sources,
        clock=config.clock,
        sealer=sealer_of(config),
        options=config.options,
    )


def graph(deps: Dependencies, config: ResearchConfig) -> Builder:
    """Build the graph."""
    builder: Builder = StateGraph(ResearchState, input_schema=ResearchInput)
    builder.set_node_defaults(
        retry_policy=RetryPolicy(
            max_attempts=config.retries + 1,
            initial_interval=config.retry_seconds,
            retry_on=is_transient,
        )
    )
    on_error = FailureHandler(deps.clock).run
    router = EntryStep(deps, "router", Router(deps).run)
    thinker = FirstStep(deps, "thinker", Thinker(deps).run)
    auditor = SealedStep(deps, "auditor", Auditor(deps).run)
    gate = QuestionStep(deps, "hitl_gate", Gate(deps).run)
    executor = SealedStep(deps, "tool_executor", Executor(deps).run)
    synthesizer = SealedStep(deps, "synthesizer", Synthesizer(deps).run)
    answerer = SealedStep(deps, "answerer", Answerer(deps).run)
    builder.add_node("router", router.run, error_handler=on_error)
    builder.add_node("thinker", thinker.run, error_handler=on_error)
    builder.add_node("auditor", auditor.run, error_handler=on_error)
    # No error handler: an invalid answer must leave the interrupt pending.
    builder.add_node("hitl_gate", gate.run)
    builder.add_node("tool_executor", executor.run, error_handler=on_error)
    builder.add_node("synthesizer", synthesizer.run, error_handler=on_error)
    builder.add_node("answerer", answerer.run, error_handler=on_error)
    builder.add_edge(START, "router")
    builder.add_conditional_edges("router", route_after_routing)
    builder.add_edge("thinker", "auditor")
    builder.add_conditional_edges("auditor", route_after_audit)
    builder.add_conditional_edges("hitl_gate", route_after_gate)
    builder.add_conditional_edges("tool_executor", route_after_execution)
    builder.add_edge("synthesizer", END)
    builder.add_edge("answerer", END)
    return builder
