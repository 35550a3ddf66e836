"""Declarative specs of agents.

`AgentSpec` can be printed, compared and stored as a snapshot. `GraphSpec` is for an agent with a
fixed flow, defined by its own graph. `harness.build` compiles either into a graph. Nothing here
reads the environment, opens a connection or calls a model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemPermission
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.graph.state import StateGraph

from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.flow import FlowPolicy
from bathysphere.harness.state import HarnessState
from bathysphere.middleware.approvals import Approval, ApprovalMode
from bathysphere.models.profiles import Profile

Tool = BaseTool | Callable[..., Any] | dict[str, Any]

SUBAGENT_PROMPT = """You were sent out by another agent to do one piece of work.
It sees only your last message, nothing of what you did on the way: put the whole answer there, with
what you could not do and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubagentSpec:
    """An agent that the main agent can start with the `task` tool.

    Fields that are None are inherited from the main agent.
    """

    name: str
    description: str
    """When to use the subagent; the main agent selects subagents by it."""
    prompt: str = SUBAGENT_PROMPT
    model: BaseChatModel | None = None
    tools: tuple[Tool, ...] | None = None
    middleware: tuple[AgentMiddleware[Any, Any, Any], ...] = ()
    approvals: Mapping[str, Approval] | None = None
    skills: tuple[str, ...] = ()
    permissions: tuple[FilesystemPermission, ...] | None = None
    response_format: Any = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CompiledSubagent:
    """A precompiled subagent; limits apply to it only if this harness built it."""

    name: str
    description: str
    runnable: Runnable[Any, Any]


GENERAL_PURPOSE = SubagentSpec(
    name="general-purpose",
    description="Searches, and work of many steps, in a context of its own.",
)
"""The default subagent: the same tools, with an empty context."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """The complete specification of an agent."""

    name: str
    """Graph name, command line argument and URL segment."""
    model: BaseChatModel
    prompt: str = ""
    description: str = ""
    tools: tuple[Tool, ...] = ()
    subagents: tuple[SubagentSpec | CompiledSubagent, ...] = (GENERAL_PURPOSE,)
    backend: BackendProtocol = field(default_factory=ScratchBackend)
    middleware: tuple[AgentMiddleware[Any, Any, Any], ...] = ()
    """This agent's own layers, outermost first, inside the harness's core layers."""
    approvals: Mapping[str, Approval] = field(default_factory=dict)
    """Tools that need approval, in the main agent and all subagents.

    If the backend has a shell, `execute` is included unless it is set to False here.
    """
    approval_mode: ApprovalMode = "per_call"
    """Whether each call waits on its own, or all calls of a turn in one question."""
    flow: FlowPolicy | Literal["auto"] | None = "auto"
    """What the tools do, if calls are to be vouched for once untrusted text was read.

    `auto`: if the agent has tools of MCP servers or for the web. None: never.
    """
    limits: Limits = field(default_factory=Limits)
    """Limits of a run, for the whole tree of agents."""
    subagent_model: BaseChatModel | None = None
    summary_model: BaseChatModel | None = None
    skills: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    permissions: tuple[FilesystemPermission, ...] = ()
    response_format: Any = None
    state_schema: type[HarnessState] = HarnessState
    context_schema: type[Any] | None = None
    requires_writers: bool = True
    """Whether `build` rejects state fields without a declared writer."""
    profile: Profile = "full"
    """`lean`: fewer file tools, short words, one tool call at a time, for models that need it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphSpec:
    """An agent with a fixed flow, defined by its own graph instead of the harness's loop."""

    name: str
    """Graph name, command line argument and URL segment."""
    graph: Callable[[], StateGraph[Any, Any, Any, Any]]
    """Creates the graph, without side effects."""
    description: str = ""
    prompt: str = ""
    """The prompts of its nodes."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """Node → JSON schema of its model's answers."""
    requires_writers: bool = True
    """Whether `build` rejects state fields without a declared writer."""


Spec = AgentSpec | GraphSpec
"""The spec of an agent package, as accepted by `build`."""
