"""An agent as data: what it is made of, before anything is built.

`AgentSpec` can be printed, compared and kept in a snapshot. `GraphSpec` is for an agent whose flow
is fixed, and is a graph of its own. `harness.build` turns either into a compiled graph.
Nothing here reads the environment, opens a connection or calls a model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.filesystem import FilesystemPermission
from deepagents.middleware.subagents import DEFAULT_GENERAL_PURPOSE_DESCRIPTION
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langgraph.graph.state import StateGraph

from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.harness.state import HarnessState
from bathysphere.middleware.approvals import Approval

Tool = BaseTool | Callable[..., Any] | dict[str, Any]

SUBAGENT_PROMPT = """You were sent out by another agent to do one piece of work.
It sees only your last message, nothing of what you did on the way: put the whole answer there, with
what you could not do and why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubagentSpec:
    """An agent that the main agent can send out with the `task` tool.

    What is `None` is inherited from the main agent.
    """

    name: str
    description: str
    """What it is good for: the main agent chooses by this."""
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
    """A subagent that someone has built already; limits bind it only if this harness built it."""

    name: str
    description: str
    runnable: Runnable[Any, Any]


GENERAL_PURPOSE = SubagentSpec(
    name="general-purpose", description=DEFAULT_GENERAL_PURPOSE_DESCRIPTION
)
"""The subagent that every agent has unless its spec says otherwise: same tools, a clean desk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentSpec:
    """Everything that makes an agent."""

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
    """Tools that wait for the person's word, in the main agent and in all subagents."""
    limits: Limits = field(default_factory=Limits)
    """What the whole tree of agents may use in one run."""
    subagent_model: BaseChatModel | None = None
    summary_model: BaseChatModel | None = None
    skills: tuple[str, ...] = ()
    memory: tuple[str, ...] = ()
    permissions: tuple[FilesystemPermission, ...] = ()
    response_format: Any = None
    state_schema: type[HarnessState] = HarnessState
    context_schema: type[Any] | None = None

    def describe(self) -> str:
        """Print the agent: its parts, and every layer of the main agent and each subagent."""
        from bathysphere.harness.describe import describe  # the stack needs this module first

        return describe(self)

    def __str__(self) -> str:
        return self.describe()


@dataclass(frozen=True, kw_only=True, slots=True)
class GraphSpec:
    """An agent whose flow is fixed: its nodes and edges are its own, not the harness's loop."""

    name: str
    """Graph name, command line argument and URL segment."""
    graph: Callable[[], StateGraph[Any, Any, Any, Any]]
    """Makes the graph; nothing is opened, read or called by it."""
    description: str = ""
    prompt: str = ""
    """What its nodes tell their models."""
    answers: Mapping[str, Any] = field(default_factory=dict)
    """What its nodes' models must answer: node → JSON schema."""

    def describe(self) -> str:
        """Print the agent: its nodes, and where each may lead."""
        from bathysphere.harness.describe import describe_graph  # as above

        return describe_graph(self)

    def __str__(self) -> str:
        return self.describe()


Spec = AgentSpec | GraphSpec
"""What `build` takes, and what the package of an agent gives."""
