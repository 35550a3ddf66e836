"""From a specification to a graph: the only call into deepagents' factory.

deepagents lets a layer of the caller take the place of its own by name. We fill each of its slots:
with our fused core, our subagents, our fused inner layers, or nothing where our core does the work.
"""

from collections.abc import Sequence
from typing import Any

from deepagents import create_deep_agent
from deepagents.middleware.subagents import CompiledSubAgent, SubAgentMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langgraph.cache.base import BaseCache
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from bathysphere.harness.fuse import fuse
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, GraphSpec, Spec, SubagentSpec
from bathysphere.harness.stack import (
    Agent,
    Stack,
    check_names,
    check_subagents,
    main_agent,
    subagent,
)

Layer = AgentMiddleware[Any, Any, Any]
Graph = CompiledStateGraph[Any, Any, Any, Any]

CORE_SLOT = "FilesystemMiddleware"
SUBAGENTS_SLOT = "SubAgentMiddleware"
INNER_SLOT = "UnsupportedContentMiddleware"
VACATED = ("_ParentNotifierMiddleware", "SummarizationMiddleware", "PatchToolCallsMiddleware")
"""Slots whose work our core does, or that only serve deepagents' own remote subagents."""
RECURSION_LIMIT = 9_999


def build(
    spec: Spec,
    *,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    debug: bool = False,
) -> Graph:
    """Compile a specification.

    Raises:
        ConfigError: If two tools of one agent, or two subagents, have the same name.
    """
    if isinstance(spec, GraphSpec):
        return spec.graph().compile(
            checkpointer=checkpointer, store=store, cache=cache, debug=debug, name=spec.name
        )
    check_subagents(spec)
    agent = main_agent(spec)
    check_names(agent, *(["task"] if spec.subagents else []))
    subagents = [_subagent(spec, sub) for sub in spec.subagents]
    return create_deep_agent(
        agent.model,
        list(agent.tools),
        system_prompt=agent.prompt,
        middleware=_slots(agent.stack, subagents),
        # The slot must exist to be filled; with none of our own it is filled with nothing.
        subagents=subagents or [_placeholder(agent)],
        skills=list(spec.skills) or None,
        memory=list(spec.memory) or None,
        backend=spec.backend,
        response_format=agent.response_format,
        state_schema=spec.state_schema,
        context_schema=spec.context_schema,
        checkpointer=checkpointer,
        store=store,
        cache=cache,
        debug=debug,
        name=spec.name,
    )


class SubagentsMiddleware(SubAgentMiddleware):
    """Gives the main agent `task`, to send out the subagents of its specification."""

    # Upstream adds nothing to the prompt here, at the price of a wrapped model call.
    wrap_model_call = AgentMiddleware.wrap_model_call  # type: ignore[assignment]  # wider result
    awrap_model_call = AgentMiddleware.awrap_model_call  # type: ignore[assignment]  # wider result

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return SUBAGENTS_SLOT


class _Vacant(AgentMiddleware[Any, Any, Any]):
    """Takes a slot of deepagents' stack and does nothing in it."""

    def __init__(self, slot: str) -> None:
        super().__init__()
        self._slot = slot

    @property
    def name(self) -> str:
        return self._slot


def _slots(stack: Stack, subagents: Sequence[CompiledSubAgent]) -> list[Layer]:
    caching = [
        layer.name for layer in stack.inner if layer.name.endswith("PromptCachingMiddleware")
    ]
    sending: Layer = _Vacant(SUBAGENTS_SLOT)
    if subagents:
        sending = SubagentsMiddleware(backend=_backend(stack), subagents=subagents)
    core, inner = _fused(stack)
    return [core, sending, *map(_Vacant, VACATED), *stack.own, *map(_Vacant, caching), inner]


def _fused(stack: Stack) -> tuple[Layer, Layer]:
    """The harness's own layers as two, or as one where nothing stands between them."""
    if not stack.own:
        return fuse(CORE_SLOT, stack.layers), _Vacant(INNER_SLOT)
    return fuse(CORE_SLOT, stack.core), fuse(INNER_SLOT, stack.inner)


def _subagent(spec: AgentSpec, sub: SubagentSpec | CompiledSubagent) -> CompiledSubAgent:
    if isinstance(sub, CompiledSubagent):
        return {"name": sub.name, "description": sub.description, "runnable": sub.runnable}
    agent = subagent(spec, sub)
    check_names(agent)
    core, inner = _fused(agent.stack)
    graph = create_agent(
        agent.model,
        list(agent.tools),
        system_prompt=agent.prompt,
        middleware=[core, *agent.stack.own, inner],
        response_format=agent.response_format,
        state_schema=spec.state_schema,
        context_schema=spec.context_schema,
        name=agent.name,
    ).with_config({"recursion_limit": RECURSION_LIMIT})
    return {"name": agent.name, "description": agent.description, "runnable": graph}


def _placeholder(agent: Agent) -> CompiledSubAgent:
    return {"name": "general-purpose", "description": "", "runnable": agent.model}


def _backend(stack: Stack) -> Any:
    return getattr(stack.core[0], "backend", None)
