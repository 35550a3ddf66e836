"""A thread's state: now, at a checkpoint, its history; changed by hand."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.jsonable import JSON
from bathysphere.server.schemas.threads import History, StateAt, StateUpdate, StateView
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/threads/{thread_id}", tags=["state"], route_class=StrictRoute)
Subgraphs = Annotated[bool, Query(description="With the states of subgraphs.")]


@router.get("/state", response_model=StateView)
async def get(
    thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep, subgraphs: Subgraphs = False
) -> Response:
    """The state now: what a client starts from when it opens a thread."""
    return JSON(await services.states.read(thread_id, owner=owner, subgraphs=subgraphs))


@router.post("/state", response_model=dict[str, Any])
async def update(
    thread_id: ThreadId, body: StateUpdate, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Change the state as if a node had; from an older checkpoint this forks."""
    place = body.checkpoint.checkpoint_id if body.checkpoint is not None else None
    config = await services.states.update(
        thread_id,
        body.values,
        owner=owner,
        as_node=body.as_node,
        checkpoint_id=body.checkpoint_id or place,
    )
    checkpoint = {**config["configurable"], "thread_id": str(thread_id)}
    return JSON({"checkpoint": checkpoint, "checkpoint_id": checkpoint.get("checkpoint_id")})


@router.post("/state/checkpoint", response_model=StateView)
async def get_at(
    thread_id: ThreadId, body: StateAt, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """The state at a checkpoint, of the thread or of one of its subgraphs."""
    state = await services.states.read(
        thread_id,
        owner=owner,
        checkpoint_id=body.checkpoint.checkpoint_id,
        namespace=body.checkpoint.checkpoint_ns,
        subgraphs=bool(body.subgraphs),
    )
    return JSON(state)


@router.get("/state/{checkpoint_id}", response_model=StateView)
async def get_checkpoint(
    thread_id: ThreadId,
    checkpoint_id: str,
    owner: CurrentOwner,
    services: ServicesDep,
    subgraphs: Subgraphs = False,
) -> Response:
    """The state at a checkpoint."""
    state = await services.states.read(
        thread_id, owner=owner, checkpoint_id=checkpoint_id, subgraphs=subgraphs
    )
    return JSON(state)


@router.post("/history", response_model=list[StateView])
async def history(
    thread_id: ThreadId, body: History, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """The states the thread went through, newest first."""
    states = await services.states.history(
        thread_id,
        owner=owner,
        limit=body.limit,
        before=body.cursor(),
        namespace=body.checkpoint.checkpoint_ns if body.checkpoint is not None else "",
        metadata=body.metadata,
    )
    return JSON(states)


@router.get("/history", response_model=list[StateView])
async def list_history(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    before: str | None = None,
) -> Response:
    """The states the thread went through, newest first."""
    states = await services.states.history(thread_id, owner=owner, limit=limit, before=before)
    return JSON(states)
