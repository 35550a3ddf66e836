"""Compile a spec into a graph, with deepagents' factory.

deepagents lets callers replace its layers by name. Each of its slots is filled with our fused core,
our subagents, our fused inner layers, or a no-op if our core does the work.
"""

from collections.abc import Sequence
from typing import Any

from deepagents import create_deep_agent
from deepagents.middleware.subagents import CompiledSubAgent, SubAgentMiddleware
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.tools import StructuredTool
from langgraph.cache.base import BaseCache
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Checkpointer

from bathysphere.harness.flow import policy_of
from bathysphere.harness.fuse import fuse
from bathysphere.harness.spec import AgentSpec, CompiledSubagent, GraphSpec, Spec, SubagentSpec
from bathysphere.harness.stack import (
    Agent,
    Stack,
    check_declarations,
    check_names,
    check_subagents,
    main_agent,
    subagent,
)
from bathysphere.harness.state import check_writers
from bathysphere.models.short_tool import shortened
from bathysphere.upstream import (
    CORE_SLOT,
    INNER_SLOT,
    PROMPT_CACHING_SUFFIX,
    SUBAGENTS_SLOT,
    VACATED_SLOTS,
)

Layer = AgentMiddleware[Any, Any, Any]
Graph = CompiledStateGraph[Any, Any, Any, Any]

RECURSION_LIMIT = 9_999

# ── text for the model ──

TASK = """Send out a subagent for work that stands on its own. It sees only your `description`: give
it the whole task and say what to bring back. Only you see its report. Send several in one message
if their work does not depend on each other. Choose `subagent_type`:
{available_agents}"""
LEAN_TASK = """Send out a subagent. It sees only your `description`. Choose `subagent_type`:
{available_agents}"""


def build(
    spec: Spec,
    *,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    cache: BaseCache[Any] | None = None,
    debug: bool = False,
) -> Graph:
    """Compile a spec.

    Raises:
        ConfigError: If two tools of one agent, or two subagents, have the same name, or a field
            of its state does not declare who writes it, or `flow` declares something that the
            agent does not have.
    """
    graph = _compiled(spec, checkpointer=checkpointer, store=store, cache=cache, debug=debug)
    if spec.requires_writers:
        check_writers(graph)
    return graph


def _compiled(
    spec: Spec,
    *,
    checkpointer: Checkpointer,
    store: BaseStore | None,
    cache: BaseCache[Any] | None,
    debug: bool,
) -> Graph:
    if isinstance(spec, GraphSpec):
        return spec.graph().compile(
            checkpointer=checkpointer, store=store, cache=cache, debug=debug, name=spec.name
        )
    check_subagents(spec)
    agent = main_agent(spec)
    check_names(agent, *(["task"] if spec.subagents else []))
    if policy_of(spec) is not None:
        subs = [subagent(spec, sub) for sub in spec.subagents if isinstance(sub, SubagentSpec)]
        check_declarations(spec, [agent, *subs])
    subagents = [_subagent(spec, sub) for sub in spec.subagents]
    return create_deep_agent(
        agent.model,
        list(agent.tools),
        system_prompt=agent.prompt,
        middleware=_slots(agent.stack, subagents, lean=spec.profile == "lean"),
        # The slot must exist to be replaced, even if there are no subagents.
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
    """Provides `task`, which starts subagents."""

    def __init__(
        self, *, backend: Any, subagents: Sequence[CompiledSubAgent], lean: bool = False
    ) -> None:
        words = LEAN_TASK if lean else TASK
        super().__init__(backend=backend, subagents=subagents, task_description=words)
        self._shorten()

    @property
    def private_state_keys(self) -> frozenset[str]:
        """State keys that subagents do not get; deepagents sets them, with a new tool."""
        return self._private_state_keys

    @private_state_keys.setter
    def private_state_keys(self, value: frozenset[str]) -> None:
        SubAgentMiddleware.private_state_keys.fset(self, value)  # type: ignore[attr-defined]
        self._shorten()

    def _shorten(self) -> None:
        words = {"description": "", "subagent_type": ""}
        self.tools = [
            shortened(tool, words=words) if isinstance(tool, StructuredTool) else tool
            for tool in self.tools
        ]

    # Upstream wraps each model call here without changing the prompt.
    wrap_model_call = AgentMiddleware.wrap_model_call  # type: ignore[assignment]  # wider result
    awrap_model_call = AgentMiddleware.awrap_model_call  # type: ignore[assignment]  # wider result

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return SUBAGENTS_SLOT


class _Vacant(AgentMiddleware[Any, Any, Any]):
    """A no-op layer that fills a slot of deepagents' stack."""

    def __init__(self, slot: str) -> None:
        super().__init__()
        self._slot = slot

    @property
    def name(self) -> str:
        return self._slot


def _slots(stack: Stack, subagents: Sequence[CompiledSubAgent], *, lean: bool) -> list[Layer]:
    caching = [layer.name for layer in stack.inner if layer.name.endswith(PROMPT_CACHING_SUFFIX)]
    subagents_layer: Layer = _Vacant(SUBAGENTS_SLOT)
    if subagents:
        subagents_layer = SubagentsMiddleware(
            backend=_backend(stack), subagents=subagents, lean=lean
        )
    core, inner = _fused(stack)
    return [
        core,
        subagents_layer,
        *map(_Vacant, VACATED_SLOTS),
        *stack.own,
        *map(_Vacant, caching),
        inner,
    ]


def _fused(stack: Stack) -> tuple[Layer, Layer]:
    """Fuse the harness's layers into two, or one if the agent has none of its own."""
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
    if spec.requires_writers:
        check_writers(graph)
    return {"name": agent.name, "description": agent.description, "runnable": graph}


def _placeholder(agent: Agent) -> CompiledSubAgent:
    return {"name": "general-purpose", "description": "", "runnable": agent.model}


def _backend(stack: Stack) -> Any:
    return getattr(stack.core[0], "backend", None)
