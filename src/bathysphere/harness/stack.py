"""The middleware stack of an agent: its layers, outermost first.

The core wraps everything and is fused into one layer; the agent's own layers come next; the inner
layers are directly around the model and the tools. Subagents have the same stack.

| layer | model call | tool call | start of a run |
|---|---|---|---|
| Files | evicts large results | shares files in the tree | clears deletions |
| Planning | | one list at a time | |
| Compaction | history fits the window | | |
| Turn | | | run id, dangling calls |
| Consent | | one question per call, whichever layer asks | |
| *the agent's own* | | | |
| prompt caching | marks what the provider may cache | | |
| Flow | plans once per run, judges calls | asks if nobody vouched; then in place of Approvals | |
| Approvals | | asks for approval | |
| One step | keeps the first call, if the profile is lean | | |
| Loops | ends loops, asks again after an empty answer | | |
| Text calls | calls in text become ordinary ones | | |
| Constrained calls | words or one call by JSON schema, if the model needs that | | |
| Failures | | an exception becomes a result | |
| Limits | counts, in the whole tree | counts, times out | |
| Payments | charges for it, if enabled | | |
| Effects | | runs side effects once | |
| Content | replaces unsupported input | | |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemPermission, supports_execution
from deepagents.middleware.skills import SkillsMiddleware
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.tools import BaseTool

from bathysphere.core.errors import ConfigError
from bathysphere.core.usage import Limits
from bathysphere.harness.flow import check_flow, flow_options
from bathysphere.harness.spec import AgentSpec, SubagentSpec, Tool
from bathysphere.middleware.approvals import Approval, ApprovalMode, ApprovalsMiddleware
from bathysphere.middleware.compaction import CompactionMiddleware
from bathysphere.middleware.consent import ConsentMiddleware
from bathysphere.middleware.constrained_calls import ConstrainedCallsMiddleware
from bathysphere.middleware.content import ContentMiddleware
from bathysphere.middleware.effects import EffectsMiddleware
from bathysphere.middleware.failures import FailuresMiddleware
from bathysphere.middleware.files import FilesMiddleware
from bathysphere.middleware.flow import FlowMiddleware
from bathysphere.middleware.limits import LimitsMiddleware
from bathysphere.middleware.loops import LoopsMiddleware
from bathysphere.middleware.one_step import OneStepMiddleware
from bathysphere.middleware.payments.middleware import PaymentsMiddleware, metered_summary
from bathysphere.middleware.planning import GUIDANCE, LEAN_GUIDANCE, PlanningMiddleware
from bathysphere.middleware.text_calls import TextCallsMiddleware
from bathysphere.middleware.turn import TurnMiddleware
from bathysphere.models.profiles import Profile
from bathysphere.models.tool_names import tool_name
from bathysphere.upstream import append_prompt_caching_middleware, approvals_from_permissions

Layer = AgentMiddleware[Any, Any, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """The layers of one agent, outermost first."""

    core: tuple[Layer, ...]
    own: tuple[Layer, ...]
    inner: tuple[Layer, ...]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers, in order."""
        return (*self.core, *self.own, *self.inner)


def layer_name(layer: Layer) -> str:
    """The name of a layer: its class, or its `name` if the class is private."""
    name = type(layer).__name__
    return layer.name if name.startswith("_") else name


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """One agent of a tree, with inherited values resolved."""

    name: str
    description: str
    model: BaseChatModel
    prompt: str
    tools: tuple[Tool, ...]
    stack: Stack
    response_format: Any


def main_agent(spec: AgentSpec) -> Agent:
    """The main agent of a spec."""
    return Agent(
        name=spec.name,
        description=spec.description,
        model=spec.model,
        prompt=_prompt(spec.prompt, spec.profile),
        tools=spec.tools,
        stack=_stack(
            model=spec.model,
            summary_model=spec.summary_model,
            backend=spec.backend,
            own=spec.middleware,
            approvals=spec.approvals,
            approval_mode=spec.approval_mode,
            permissions=spec.permissions,
            limits=spec.limits,
            flow=flow_options(spec, spec.tools, spec.middleware),
            profile=spec.profile,
        ),
        response_format=spec.response_format,
    )


def subagent(spec: AgentSpec, sub: SubagentSpec) -> Agent:
    """A subagent of a spec, with inherited values resolved."""
    model = sub.model or spec.subagent_model or spec.model
    skills = (
        SkillsMiddleware(backend=spec.backend, sources=list(sub.skills)) if sub.skills else None
    )
    tools = spec.tools if sub.tools is None else sub.tools
    return Agent(
        name=sub.name,
        description=sub.description,
        model=model,
        prompt=_prompt(sub.prompt, spec.profile),
        tools=tools,
        stack=_stack(
            model=model,
            summary_model=spec.summary_model,
            backend=spec.backend,
            own=(*sub.middleware, skills) if skills else sub.middleware,
            approvals=spec.approvals if sub.approvals is None else sub.approvals,
            approval_mode=spec.approval_mode,
            permissions=spec.permissions if sub.permissions is None else sub.permissions,
            limits=spec.limits,
            flow=flow_options(spec, tools, sub.middleware, is_subagent=True),
            profile=spec.profile,
        ),
        response_format=sub.response_format,
    )


def check_names(agent: Agent, *more: str) -> None:
    """Reject duplicate tool names: in LangChain the last one would silently win."""
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
    """Reject subagents without a unique name."""
    names = [sub.name for sub in spec.subagents]
    for name in names:
        if not name or names.count(name) > 1:
            problem = f"two subagents named '{name}'" if name else "a subagent without a name"
            raise ConfigError(
                f"Agent '{spec.name}' has {problem}", hint="give each subagent a unique name"
            )


def check_declarations(spec: AgentSpec, agents: Sequence[Agent]) -> None:
    """Reject flow declarations for tools or arguments that no agent of the spec has."""
    layers = [layer for agent in agents for layer in agent.stack.layers]
    tools = [tool for agent in agents for tool in agent.tools]
    tools += [tool for layer in layers for tool in _tools_of(layer)]
    check_flow(spec, tools, [name for layer in layers for name in getattr(layer, "servers", ())])


def _tools_of(layer: Layer) -> Sequence[BaseTool]:
    return getattr(layer, "tools", ())


def _prompt(prompt: str, profile: Profile) -> str:
    return f"{prompt}\n\n{LEAN_GUIDANCE if profile == 'lean' else GUIDANCE}".strip()


def _stack(
    *,
    model: BaseChatModel,
    summary_model: BaseChatModel | None,
    backend: BackendProtocol,
    own: Sequence[Layer],
    approvals: Mapping[str, Approval],
    approval_mode: ApprovalMode,
    permissions: Sequence[FilesystemPermission],
    limits: Limits,
    flow: Mapping[str, Any] | None,
    profile: Profile,
) -> Stack:
    is_lean = profile == "lean"
    counting = LimitsMiddleware(limits)
    inner: list[Layer] = []
    append_prompt_caching_middleware(inner)
    # A permission may require approval too; explicit approvals in the spec take precedence.
    from_permissions = approvals_from_permissions(list(permissions), backend)
    shell: dict[str, Approval] = {"execute": True} if supports_execution(backend) else {}
    gated = {**shell, **from_permissions, **approvals}
    batched: list[Layer] = []
    asking: list[Layer] = []
    if gated and approval_mode == "batched":
        batched.append(HumanInTheLoopMiddleware(gated))  # a graph step, so not among the fused ones
    elif flow is not None:
        layer = FlowMiddleware(**flow, approvals=gated)  # asks once for both
        inner.append(layer)
        asking.append(ConsentMiddleware(layer))
    elif gated:
        inner.append(ApprovalsMiddleware(gated))
        asking.append(ConsentMiddleware())
    inner += [
        *([OneStepMiddleware()] if is_lean else []),
        LoopsMiddleware(),
        TextCallsMiddleware(),
        ConstrainedCallsMiddleware(),
        FailuresMiddleware(),
        counting,
        PaymentsMiddleware(),
        EffectsMiddleware(),
        ContentMiddleware(),
    ]
    return Stack(
        core=(
            FilesMiddleware(backend, list(permissions) or None, lean=is_lean),
            PlanningMiddleware(lean=is_lean),
            CompactionMiddleware(
                model,
                backend,
                summary_model=summary_model,
                allow_summary=counting.allow_summary,
                around_summary=metered_summary,
            ),
            TurnMiddleware(),
            *(asking if own else ()),  # only the agent's own layers ask, too
        ),
        own=(*own, *batched),
        inner=tuple(inner),
    )
