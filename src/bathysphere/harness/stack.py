"""The order of the layers: which ones an agent has, outermost first, and why they stand there.

The core wraps everything and is fused into one layer; the agent's own layers come next; the inner
layers stand right around the model and the tools. A subagent has the same stack.

| layer | model call | tool call | start of a run |
|---|---|---|---|
| Files | evicts what is too large | shares files in the tree | clears deletions |
| Planning | | one list at a time | |
| Compaction | history fits the window | | |
| Turn | | | run id, dangling calls |
| *the agent's own* | | | |
| prompt caching | marks what the provider may cache | | |
| Approvals | | asks the person | |
| Failures | | an exception becomes a result | |
| Limits | counts, in the whole tree | counts, times out | |
| Payments | is paid for, where payment is on | | |
| Effects | | what changes the world is done once | |
| Content | what the model cannot take | | |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware._fs_interrupt import _build_interrupt_on_from_permissions
from deepagents.middleware._prompt_caching import append_prompt_caching_middleware
from deepagents.middleware.filesystem import FilesystemPermission
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from bathysphere.core.errors import ConfigError
from bathysphere.core.usage import Limits
from bathysphere.harness.spec import AgentSpec, SubagentSpec, Tool
from bathysphere.middleware.approvals import Approval, ApprovalsMiddleware
from bathysphere.middleware.compaction import CompactionMiddleware
from bathysphere.middleware.content import ContentMiddleware
from bathysphere.middleware.effects import EffectsMiddleware
from bathysphere.middleware.failures import FailuresMiddleware
from bathysphere.middleware.files import FilesMiddleware
from bathysphere.middleware.limits import LimitsMiddleware
from bathysphere.middleware.payments import PaymentsMiddleware, metered_summary
from bathysphere.middleware.planning import GUIDANCE, PlanningMiddleware
from bathysphere.middleware.turn import TurnMiddleware

Layer = AgentMiddleware[Any, Any, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """The layers of one agent, outermost first."""

    core: tuple[Layer, ...]
    own: tuple[Layer, ...]
    inner: tuple[Layer, ...]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All of them, in order."""
        return (*self.core, *self.own, *self.inner)


def layer_name(layer: Layer) -> str:
    """What a layer is called: its class, or its public name where the class is private."""
    name = type(layer).__name__
    return layer.name if name.startswith("_") else name


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """One agent of a tree, with everything it inherits filled in."""

    name: str
    description: str
    model: BaseChatModel
    prompt: str
    tools: tuple[Tool, ...]
    stack: Stack
    response_format: Any


def main_agent(spec: AgentSpec) -> Agent:
    """The main agent of a specification."""
    return Agent(
        name=spec.name,
        description=spec.description,
        model=spec.model,
        prompt=_prompt(spec.prompt),
        tools=spec.tools,
        stack=_stack(
            model=spec.model,
            summary_model=spec.summary_model,
            backend=spec.backend,
            own=spec.middleware,
            approvals=spec.approvals,
            permissions=spec.permissions,
            limits=spec.limits,
        ),
        response_format=spec.response_format,
    )


def subagent(spec: AgentSpec, sub: SubagentSpec) -> Agent:
    """A subagent of a specification, with what it inherits from it."""
    model = sub.model or spec.subagent_model or spec.model
    skills = (
        SkillsMiddleware(backend=spec.backend, sources=list(sub.skills)) if sub.skills else None
    )
    return Agent(
        name=sub.name,
        description=sub.description,
        model=model,
        prompt=_prompt(sub.prompt),
        tools=spec.tools if sub.tools is None else sub.tools,
        stack=_stack(
            model=model,
            summary_model=spec.summary_model,
            backend=spec.backend,
            own=(*sub.middleware, skills) if skills else sub.middleware,
            approvals=spec.approvals if sub.approvals is None else sub.approvals,
            permissions=spec.permissions if sub.permissions is None else sub.permissions,
            limits=spec.limits,
        ),
        response_format=sub.response_format,
    )


def check_names(agent: Agent, *more: str) -> None:
    """Refuse two tools of one name: LangChain would let the last one win without a word."""
    owners: dict[str, str] = {}
    named = [(name, "the harness") for name in more]
    named += [(tool_name(tool), "its tools") for tool in agent.tools]
    named += [(t.name, type(m).__name__) for m in agent.stack.layers for t in _tools_of(m)]
    for name, owner in named:
        if name in owners:
            message = f"Agent '{agent.name}' has two tools named '{name}'"
            hint = f"one is from {owners[name]}, one from {owner}: rename one of them"
            raise ConfigError(message, hint=hint)
        owners[name] = owner


def check_subagents(spec: AgentSpec) -> None:
    """Refuse subagents that the main agent could not tell apart."""
    names = [sub.name for sub in spec.subagents]
    for name in names:
        if not name or names.count(name) > 1:
            what = f"two subagents named '{name}'" if name else "a subagent without a name"
            raise ConfigError(f"Agent '{spec.name}' has {what}", hint="the model chooses by name")


def tool_name(tool: Tool) -> str:
    """The name that the model calls a tool by."""
    if isinstance(tool, dict):
        return str(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type"))
    return tool.name if isinstance(tool, BaseTool) else str(getattr(tool, "__name__", tool))


def _tools_of(layer: Layer) -> Sequence[BaseTool]:
    return getattr(layer, "tools", ())


def _prompt(prompt: str) -> str:
    return f"{prompt}\n\n{GUIDANCE}".strip()


def _stack(
    *,
    model: BaseChatModel,
    summary_model: BaseChatModel | None,
    backend: BackendProtocol,
    own: Sequence[Layer],
    approvals: Mapping[str, Approval],
    permissions: Sequence[FilesystemPermission],
    limits: Limits,
) -> Stack:
    counting = LimitsMiddleware(limits)
    inner: list[Layer] = []
    append_prompt_caching_middleware(inner)
    # A permission may say "ask": that is an approval too. What the spec names itself wins.
    asked = _build_interrupt_on_from_permissions(list(permissions), backend)
    if asked or approvals:
        inner.append(ApprovalsMiddleware({**asked, **approvals}))
    inner += [
        FailuresMiddleware(),
        counting,
        PaymentsMiddleware(),
        EffectsMiddleware(),
        ContentMiddleware(),
    ]
    return Stack(
        core=(
            FilesMiddleware(backend, list(permissions) or None),
            PlanningMiddleware(),
            CompactionMiddleware(
                model,
                backend,
                summary_model=summary_model,
                allow_summary=counting.allow_summary,
                around_summary=metered_summary,
            ),
            TurnMiddleware(),
        ),
        own=tuple(own),
        inner=tuple(inner),
    )
