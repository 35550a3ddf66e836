"""Workspace: selects the file root of a run by its user, and pins it to the thread.

The tenant and user come from the run's context, which the worker builds from the run's row, or from
the server's authenticated user under `langgraph dev`. A plain mapping in the context comes from a
client and is not trusted. The input may select one of the user's workspaces (`workspace`). The
first run of a thread pins both; every step checks the pin.

Order: among the agent's own layers, in the main agent and in each subagent. State: `workspace`,
`workspace_pin`, shared by the tree.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NotRequired

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime, get_runtime
from langgraph.types import Command

from bathysphere.core.errors import BathysphereError
from bathysphere.core.identity import Owner
from bathysphere.core.run_context import context_of
from bathysphere.core.writers import ByClient, ByEngine
from bathysphere.tenancy.directory import Directory
from bathysphere.tenancy.errors import NoTenant, TenantChanged
from bathysphere.tenancy.pin import Pin
from bathysphere.tenancy.root import Root
from bathysphere.upstream import CONFIG_KEY_READ

ToolResult = ToolMessage | Command[Any]

# ── text for the model ──

REFUSED = "permission_denied: {error}"


class WorkspaceState(AgentState[Any]):
    """State of the Workspace layer."""

    workspace: NotRequired[ByClient[str]]
    workspace_pin: NotRequired[ByEngine[dict[str, str]]]


def owner_of(runtime: Runtime[Any]) -> Owner:
    """The authenticated user of the run.

    Raises:
        NoTenant: The run has no authenticated user.
    """
    context = context_of(runtime)
    if not context.tenant or not context.user:
        raise NoTenant("Workspaces need an authenticated user")
    return Owner(tenant=context.tenant, user=context.user)


class RunRoot:
    """Resolves the root of the current run, for each call of a backend."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def __call__(self) -> Root:
        """Resolve the root.

        Raises:
            NotAllowed: There is no run or user, access is denied, or another root is pinned.
        """
        try:
            runtime = get_runtime()
            read = get_config()["configurable"][CONFIG_KEY_READ]
        except (RuntimeError, KeyError) as error:
            raise NoTenant("Workspaces are available only within a run") from error
        state = {name: read(name, False) for name in ("workspace", "workspace_pin")}
        return self.of(runtime, state)

    def of(self, runtime: Runtime[Any], state: Mapping[str, Any]) -> Root:
        """The pinned root of a thread, after checking the user's access."""
        stored_pin = state.get("workspace_pin")
        if stored_pin is None:
            raise TenantChanged("The thread has no workspace")
        pin = Pin.from_json(stored_pin)
        root = self._directory.root(owner_of(runtime), pin.workspace)
        pin.check(root)
        return root

    def begin(self, runtime: Runtime[Any], state: Mapping[str, Any]) -> Root:
        """The root of a new run: the pinned one, or the selected one."""
        chosen = state.get("workspace")
        if state.get("workspace_pin") is None:
            return self._directory.root(owner_of(runtime), chosen)
        root = self.of(runtime, state)
        if chosen is not None and chosen != root.workspace:
            raise TenantChanged("The thread belongs to another workspace")
        return root


class WorkspaceMiddleware(AgentMiddleware[Any, Any, Any]):
    """Pins the thread to its workspace and rejects tool calls in any other."""

    state_schema = WorkspaceState

    def __init__(self, root: RunRoot) -> None:
        super().__init__()
        self._root = root

    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Pin the workspace or check the pin; ends the run on a mismatch."""
        root = self._root.begin(runtime, state)
        if state.get("workspace_pin") is not None:
            return None
        return {"workspace": root.workspace, "workspace_pin": Pin.of(root).to_json()}

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Pin the workspace or check the pin; ends the run on a mismatch."""
        return self.before_agent(state, runtime)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]
    ) -> ToolResult:
        """Check the pin again: a resumed step skips `before_agent`."""
        return self._refusal(request) or handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Check the pin again: a resumed step skips `before_agent`."""
        return self._refusal(request) or await handler(request)

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        try:
            self._root.of(get_runtime(), request.state)
        except BathysphereError as error:
            call = request.tool_call
            text = REFUSED.format(error=error)
            return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error")
        return None
