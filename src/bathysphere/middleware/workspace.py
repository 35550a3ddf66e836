"""Workspace: which root a run works in, from who is asking, pinned to the thread.

The tenant and the user come from the run's context, which the worker makes from the run's row, or
from the server's authenticated user under `langgraph dev`. A mapping in the context is what a
client sent: it is not believed. The workspace may be chosen in the input (`workspace`), among
those the identity may use. The first run of a thread pins both; every step compares.

Order: among the agent's own layers, in the main agent and in each subagent. State: `workspace`,
`workspace_pin`, shared by the tree.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NotRequired

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph._internal._constants import CONFIG_KEY_READ
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from bathysphere.core.errors import BathysphereError
from bathysphere.tenancy.directory import Directory, Identity
from bathysphere.tenancy.errors import NoTenant, TenantChanged
from bathysphere.tenancy.pin import Pin
from bathysphere.tenancy.root import Root

ToolResult = ToolMessage | Command[Any]

# ── words to the model ──

REFUSED = "permission_denied: {error}"


class WorkspaceState(AgentState[Any]):
    """What Workspace remembers between steps."""

    workspace: NotRequired[str]
    workspace_pin: NotRequired[dict[str, str]]


def identity_of(runtime: Runtime[Any]) -> Identity:
    """Who is asking, as the server knows them.

    Raises:
        NoTenant: Nobody whom a server has authenticated.
    """
    context = runtime.context
    if context is None or isinstance(context, Mapping):
        info = runtime.server_info
        context = info.user if info is not None else None
        user = getattr(context, "identity", None)
    else:
        user = getattr(context, "user", None)
    tenant = getattr(context, "tenant", None)
    if not isinstance(tenant, str) or not isinstance(user, str) or not tenant or not user:
        raise NoTenant("there is no workspace without an identity")
    return Identity(tenant=tenant, user=user)


class RunRoot:
    """The root of the run that is under way: what a backend asks on every call."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __call__(self) -> Root:
        """The root.

        Raises:
            NotAllowed: There is no run, no identity, no right to it, or another one is pinned.
        """
        try:
            runtime = get_runtime()
            read = get_config()["configurable"][CONFIG_KEY_READ]
        except (RuntimeError, KeyError) as error:
            raise NoTenant("there is no workspace outside a run") from error
        state = {name: read(name, False) for name in ("workspace", "workspace_pin")}
        return self.of(runtime, state)

    def of(self, runtime: Runtime[Any], state: Mapping[str, Any]) -> Root:
        """The root for this caller and thread, compared with the pin."""
        kept = state.get("workspace_pin")
        if kept is None:
            raise TenantChanged("the thread does not say which workspace it belongs to")
        pin = Pin.from_json(kept)
        root = self._directory.root(identity_of(runtime), pin.workspace)
        pin.check(root)
        return root

    def begin(self, runtime: Runtime[Any], state: Mapping[str, Any]) -> Root:
        """The root of a run that begins: the pinned one, else the chosen one."""
        chosen = state.get("workspace")
        if state.get("workspace_pin") is None:
            return self._directory.root(identity_of(runtime), chosen)
        root = self.of(runtime, state)
        if chosen is not None and chosen != root.workspace:
            raise TenantChanged("this thread belongs to another workspace")
        return root


class WorkspaceMiddleware(AgentMiddleware[Any, Any, Any]):
    """Pins the thread to its workspace, and lets no tool run under another."""

    state_schema = WorkspaceState

    def __init__(self, root: RunRoot) -> None:
        super().__init__()
        self._root = root

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Pin, or compare; a run that may not go on ends here."""
        root = self._root.begin(runtime, state)
        if state.get("workspace_pin") is not None:
            return None
        return {"workspace": root.workspace, "workspace_pin": Pin.of(root).to_json()}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Pin, or compare; a run that may not go on ends here."""
        return self.before_agent(state, runtime)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Compare once more: a step that goes on after a pause did not begin here."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Compare once more: a step that goes on after a pause did not begin here."""
        return self._refusal(request) or await handler(request)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        try:
            self._root.of(get_runtime(), request.state)
        except BathysphereError as error:
            call = request.tool_call
            text = REFUSED.format(error=error)
            return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        return None
