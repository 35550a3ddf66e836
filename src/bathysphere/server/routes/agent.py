"""`POST /api/agent`: one request to the workspace agent, as the seed's clients send it.

The seed let the client name its root in `configurable.gcs_root_path`. Here it is a choice among
the workspaces of the caller's identity, and refused if it names anything else. Who the caller is
comes from the credential; a request that claims it in its body is refused.
"""

import re
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from bathysphere.core.errors import NotAllowed
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.records import Owner
from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.following import ended, outcome
from bathysphere.server.jsonable import JSON
from bathysphere.server.routes.workspaces import workspaces_of
from bathysphere.server.schemas.runs import RunCreate
from bathysphere.server.services import Services
from bathysphere.server.starting import start
from bathysphere.server.strict import StrictRoute
from bathysphere.tenancy.errors import TenantChanged, WorkspaceNotAllowed

router = APIRouter(prefix="/api", tags=["agent"], route_class=StrictRoute)
AGENT = "workspace"
_ROOT = re.compile(r"/?([^/]+)/([^/]+)/?\Z")
_CHOICES = frozenset({"workspace", "gcs_root_path", "thread_id"})


class ForgedIdentity(NotAllowed):
    """The body says who the caller is, or what a run may trust: only the credential does."""

    code = "forged_identity"


class AgentConfig(BaseModel):
    """What may be configured: the workspace, and the thread to go on with."""

    model_config = ConfigDict(extra="allow")
    configurable: dict[str, Any] = Field(default_factory=dict)


class AgentRequest(BaseModel):
    """Messages for the agent, or answers to its questions."""

    model_config = ConfigDict(extra="allow")
    messages: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    resume: Any = Field(
        default=None, description="Answers, by the id of the question, or one answer."
    )
    workspace: Annotated[str, Field(max_length=200)] | None = None
    thread_id: UUID | None = None
    config: AgentConfig | None = None


@router.post("/agent", response_model=dict[str, Any])
async def agent(body: AgentRequest, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Give the agent messages, or answers, and wait for what it says or asks."""
    _refuse_claims(body)
    chosen, thread_id = _choice(body, owner), _thread(body)
    root = None
    if chosen is not None or thread_id is None:
        root = workspaces_of(services).root(owner, chosen)
    if thread_id is not None:
        await _check_pin(services, thread_id, owner, root.workspace if root else None)
    run = await start(
        services,
        thread_id or uuid4(),
        _wanted(body, root.workspace if root else None),
        owner=owner,
        creates=thread_id is None,
    )
    run = await ended(services, run, owner=owner)
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


def _wanted(body: AgentRequest, workspace: str | None) -> RunCreate:
    if (body.messages is None) == (body.resume is None):
        raise InvalidRequest("send messages, or answers in `resume`")
    if body.resume is not None:
        return RunCreate.model_validate({"assistant_id": AGENT, "command": {"resume": body.resume}})
    given: dict[str, Any] = {"messages": body.messages}
    if workspace is not None:
        given["workspace"] = workspace
    return RunCreate(assistant_id=AGENT, input=given)


def _refuse_claims(body: AgentRequest) -> None:
    config = body.config or AgentConfig()
    claims = {*(body.model_extra or {}), *(config.model_extra or {})}
    claims |= config.configurable.keys() - _CHOICES
    if claims:
        raise ForgedIdentity(
            f"the request may not say {', '.join(sorted(map(str, claims)))[:200]}",
            hint="who you are comes from your credential; choose a `workspace` you may use",
        )


def _choice(body: AgentRequest, owner: Owner) -> str | None:
    """The workspace that the request asks for, in one of the three ways it may."""
    configurable = body.config.configurable if body.config else {}
    asked = [w for w in (body.workspace, configurable.get("workspace")) if w is not None]
    path = configurable.get("gcs_root_path")
    if path is not None:
        named = _ROOT.match(path) if isinstance(path, str) else None
        if named is None or named[1] != owner.tenant:
            raise WorkspaceNotAllowed("this identity has no such workspace")
        asked.append(named[2])
    if len({str(name) for name in asked}) > 1:
        raise InvalidRequest("the request names more than one workspace")
    return str(asked[0]) if asked else None


def _thread(body: AgentRequest) -> UUID | None:
    given = (body.config.configurable if body.config else {}).get("thread_id")
    if given is None:
        return body.thread_id
    try:
        return UUID(str(given))
    except ValueError:
        raise ThreadNotFound(f"no thread {given!r}") from None


async def _check_pin(
    services: Services, thread_id: UUID, owner: Owner, workspace: str | None
) -> None:
    """Refuse before a run is made; the run itself would refuse too."""
    state = await services.states.read(thread_id, owner=owner)
    pin = state["values"].get("workspace_pin")
    if pin is None:
        return
    is_other = workspace is not None and pin.get("workspace") != workspace
    if is_other or pin.get("tenant") != owner.tenant:
        raise TenantChanged("this thread belongs to another workspace")
