"""The research agent as a graph: thinker, auditor, gate, executor, synthesizer.

    thinker → auditor → hitl_gate → tool_executor → synthesizer
       ↑         │           │  ↑         │  ↺ wave by wave
       └─ refused┘  rejected ┘  └─ auditor┘ the plan should grow

Nothing is read from the environment: what a deployment chooses comes in a `ResearchConfig`.
"""

import secrets
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import AgentMiddleware
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

from bathysphere.agents.research.asking import FULL, Asker, Sizes, schema_of
from bathysphere.agents.research.forms import FORMS
from bathysphere.agents.research.nodes.auditor import Auditor
from bathysphere.agents.research.nodes.executor import Executor
from bathysphere.agents.research.nodes.gate import Gate
from bathysphere.agents.research.nodes.synthesizer import Synthesizer
from bathysphere.agents.research.nodes.thinker import Thinker
from bathysphere.agents.research.parts import Habits, Parts, Reach
from bathysphere.agents.research.prompts import system
from bathysphere.agents.research.reaching import sample
from bathysphere.agents.research.routing import (
    route_after_audit,
    route_after_execution,
    route_after_gate,
)
from bathysphere.agents.research.sealing import Sealer
from bathysphere.agents.research.state import ResearchInput, ResearchState
from bathysphere.agents.research.trace import Failing
from bathysphere.core.clock import Clock, SystemClock
from bathysphere.harness.spec import GraphSpec
from bathysphere.models.failures import is_transient
from bathysphere.models.resolve import Models
from bathysphere.policy.rules import Policy, default_policy

Builder = StateGraph[Any, Any, Any, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchConfig:
    """What a deployment chooses."""

    policy: Policy = field(default_factory=default_policy)
    reach: Reach = field(default_factory=sample)
    """What can be searched and opened; nothing but the sample pages unless given."""
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """32 bytes: signs proofs, seals what runs write. The same on all processes of a deployment."""
    habits: Habits = field(default_factory=Habits)
    sizes: Sizes = FULL
    repairs: int = 2
    """How often a model may put its answer right."""
    retries: int = 2
    """How often a call of a model is repeated after a passing error."""
    retry_seconds: float = 1.0
    clock: Clock = field(default_factory=SystemClock)

    def keyed(self, key: bytes) -> "ResearchConfig":
        """The same with this key."""
        return replace(self, key=key)


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: tuple[AgentMiddleware[Any, Any, Any], ...] = (),
    config: ResearchConfig | None = None,
) -> GraphSpec:
    """Describe the agent; nothing runs and nothing is read from the environment.

    Args:
        models: A chat model for each role.
        backend: Not used: research keeps no files.
        reliability: Not used: the nodes retry by themselves, there is no agent loop.
        config: What this deployment chooses.
    """
    del backend, reliability
    config = config or ResearchConfig()
    return GraphSpec(
        name="research",
        description="Plans, is audited, asks you, reads sources; every quote is checked.",
        graph=lambda: graph(parts_of(models, config), config),
        prompt="\n\n".join(f"# {part}\n\n{system(part)}" for part in FORMS),
        answers={part: schema_of(form, config.sizes) for part, form in FORMS.items()},
    )


def sealer_of(config: ResearchConfig) -> Sealer:
    """Seals with a key of its own, made from the operator's: one key does one thing."""
    return Sealer(sha256(b"bathysphere research seal\n" + config.key).digest())


def parts_of(models: Models, config: ResearchConfig) -> Parts:
    """What the nodes work with."""
    main = Asker(
        model=models.main, fallback=models.fallback, repairs=config.repairs, sizes=config.sizes
    )
    audit = Asker(model=models.audit, repairs=config.repairs, sizes=config.sizes)
    return Parts(
        main=main,
        audit=audit,
        policy=config.policy,
        reach=config.reach,
        clock=config.clock,
        sealer=sealer_of(config),
        config=config.habits,
    )


def graph(parts: Parts, config: ResearchConfig) -> Builder:
    """The nodes and the edges."""
    builder: Builder = StateGraph(ResearchState, input_schema=ResearchInput)
    builder.set_node_defaults(
        retry_policy=RetryPolicy(
            max_attempts=config.retries + 1,
            initial_interval=config.retry_seconds,
            retry_on=is_transient,
        )
    )
    failing = Failing(parts.clock).run
    builder.add_node("thinker", Thinker(parts).run, error_handler=failing)
    builder.add_node("auditor", Auditor(parts).run, error_handler=failing)
    # Not here: an answer that does not fit must leave the question open.
    builder.add_node("hitl_gate", Gate(parts).run)
    builder.add_node("tool_executor", Executor(parts).run, error_handler=failing)
    builder.add_node("synthesizer", Synthesizer(parts).run, error_handler=failing)
    builder.add_edge(START, "thinker")
    builder.add_edge("thinker", "auditor")
    builder.add_conditional_edges("auditor", route_after_audit)
    builder.add_conditional_edges("hitl_gate", route_after_gate)
    builder.add_conditional_edges("tool_executor", route_after_execution)
    builder.add_edge("synthesizer", END)
    return builder
