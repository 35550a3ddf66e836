"""`POST /api/agent`: one request to the workspace agent, compatible with the seed's clients.

In the seed, the client named its root in `configurable.gcs_root_path`. Here this selects one of the
caller's workspaces; anything else is refused. The identity comes from the credential; a request
that claims one in its body is refused.
"""

import re
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from bathysphere.core.errors import NotAllowed
from bathysphere.core.identity import Owner
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.server.deps import CurrentOwner, Key, ServicesDep, Streaming
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.langgraph_api.create_run import start
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.run_events import outcome, wait_for_end
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.langgraph_api.thread_states import fields
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.runs import RunCreate
from bathysphere.server.workspaces.routes import workspaces_of
from bathysphere.tenancy.errors import TenantChanged, WorkspaceNotAllowed

router = APIRouter(prefix="/api", tags=["agent"], route_class=StrictRoute)
AGENT = "workspace"
_ROOT = re.compile(r"/?([^/]+)/([^/]+)/?\Z")
_CHOICES = frozenset({"workspace", "gcs_root_path", "thread_id"})


class ForgedIdentity(NotAllowed):
    """The body claims an identity or trusted settings, which only the credential determines."""

    code = "forged_identity"


class AgentConfig(BaseModel):
    """Configuration: the workspace, and the thread to continue."""

    model_config = ConfigDict(extra="allow")
    configurable: dict[str, Any] = Field(default_factory=dict)


class AgentRequest(BaseModel):
    """Messages for the agent, or answers to its questions."""

    model_config = ConfigDict(extra="allow")
    messages: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    resume: Any = Field(default=None, description="Answers by question id, or a single answer.")
    workspace: Annotated[str, Field(max_length=200)] | None = None
    thread_id: UUID | None = None
    config: AgentConfig | None = None


@router.post("/agent", response_model=dict[str, Any])
async def agent(
    body: AgentRequest, owner: CurrentOwner, services: ServicesDep, rules: Streaming, key: Key
) -> Response:
    """Send messages or answers to the agent, and wait for its reply or questions."""
    _refuse_claims(body)
    workspaces = workspaces_of(services)  # raises without storage
    chosen, thread_id = (
        _requested_workspace(body, owner, workspaces.names(owner)),
        _requested_thread(body),
    )
    root = None
    if chosen is not None or thread_id is None:
        root = workspaces.root(owner, chosen)
    if thread_id is not None:
        await _check_pin(services, thread_id, owner, root.workspace if root else None)
    run = await start(
        services,
        thread_id or key.thread_id(),
        _run_request(body, root.workspace if root else None),
        owner=owner,
        key=key,
        create_if_missing=thread_id is None,
    )
    run = await wait_for_end(services, run, owner=owner)
    await rules.check()
    values = await outcome(services, run, owner=owner)
    answer: dict[str, Any] = {
        "thread_id": str(run.thread_id),
        "run_id": str(run.run_id),
        "status": run.status,
        "workspace": (values.get("workspace_pin") or {}).get("workspace"),
        "messages": values.get("messages", []),
        "interrupts": values.get("__interrupt__", []),
    }
    if "__error__" in values:
        answer["error"] = values["__error__"]
    return JSON(answer)


def _run_request(body: AgentRequest, workspace: str | None) -> RunCreate:
    if (body.messages is None) == (body.resume is None):
        raise InvalidRequest("Send either `messages` or `resume`")
    if body.resume is not None:
        return RunCreate.model_validate({"assistant_id": AGENT, "command": {"resume": body.resume}})
    values: dict[str, Any] = {"messages": body.messages}
    if workspace is not None:
        values["workspace"] = workspace
    return RunCreate(assistant_id=AGENT, input=values)


def _refuse_claims(body: AgentRequest) -> None:
    config = body.config or AgentConfig()
    claims = {*(body.model_extra or {}), *(config.model_extra or {})}
    claims |= config.configurable.keys() - _CHOICES
    if claims:
        raise ForgedIdentity(
            f"Fields not allowed: {', '.join(sorted(map(str, claims)))[:200]}",
            hint="your identity comes from your credential; use `workspace` to choose a workspace",
        )


def _requested_workspace(body: AgentRequest, owner: Owner, allowed: tuple[str, ...]) -> str | None:
    """The requested workspace, from any of its three fields."""
    configurable = body.config.configurable if body.config else {}
    names = [w for w in (body.workspace, configurable.get("workspace")) if w is not None]
    path = configurable.get("gcs_root_path")
    if path is not None:
        named = _ROOT.match(path) if isinstance(path, str) else None
        if named is None or named[1] != owner.tenant:
            paths = ", ".join(f"/{owner.tenant}/{name}/" for name in allowed)
            hint = f"your tenant is {owner.tenant!r}; choose from {paths}" if allowed else None
            raise WorkspaceNotAllowed("Workspace not found, or no access", hint=hint)
        names.append(named[2])
    if len({str(name) for name in names}) > 1:
        raise InvalidRequest("The request names more than one workspace")
    return str(names[0]) if names else None


def _requested_thread(body: AgentRequest) -> UUID | None:
    value = (body.config.configurable if body.config else {}).get("thread_id")
    if value is None:
        return body.thread_id
    try:
        return UUID(str(value))
    except ValueError:
        raise ThreadNotFound(f"Thread {value!r} not found") from None


async def _check_pin(
    services: Services, thread_id: UUID, owner: Owner, workspace: str | None
) -> None:
    """Refuse a different workspace before a run is created; the run would refuse it too."""
    state = await services.states.read(thread_id, owner=owner)
    pin = fields(state["values"]).get("workspace_pin")
    if pin is None:
        return
    is_other = workspace is not None and pin.get("workspace") != workspace
    if is_other or pin.get("tenant") != owner.tenant:
        raise TenantChanged("The thread belongs to another workspace")
