"""Routes for a thread's state: read, read at a checkpoint, history, update."""

from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.langgraph_api.bounded_answers import NEXT_HEADER, JSONList
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.protocol.position import Position
from bathysphere.server.schemas.threads import History, StateAt, StateUpdate, StateView

router = APIRouter(prefix="/threads/{thread_id}", tags=["state"], route_class=StrictRoute)
SEQ_HEADER = "x-applied-through-seq"


def _answers_with(header: str, kind: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The documentation of a route whose answers have a header of their own."""
    return {200: {"headers": {header: {"description": description, "schema": {"type": kind}}}}}


FOLLOWABLE = _answers_with(
    SEQ_HEADER, "integer", "An event that the state has, with all events before it."
)
CUT = _answers_with(NEXT_HEADER, "string", "Cursor of the next page: send it as `before`.")
Subgraphs = Annotated[bool, Query(description="Include the states of subgraphs.")]


@router.get("/state", response_model=StateView, responses=FOLLOWABLE)
async def get(
    thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep, subgraphs: Subgraphs = False
) -> Response:
    """Get the current state, from which a client starts when it opens a thread."""
    last = await services.events.last_id(thread_id)  # first, so that the state has all until there
    state = await services.states.read(thread_id, owner=owner, subgraphs=subgraphs)
    return JSON(state, headers={SEQ_HEADER: str(Position.end_of(last).seq)})


@router.post("/state", response_model=dict[str, Any])
async def update(
    thread_id: ThreadId, body: StateUpdate, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Update the state as if a node had written it; from an older checkpoint this forks."""
    checkpoint_id = body.checkpoint.checkpoint_id if body.checkpoint is not None else None
    await services.stored.reserve(owner, len(dumps(body.values)))
    config = await services.states.update(
        thread_id,
        body.values,
        owner=owner,
        as_node=body.as_node,
        checkpoint_id=body.checkpoint_id or checkpoint_id,
    )
    checkpoint = {**config["configurable"], "thread_id": str(thread_id)}
    named = {"checkpoint": checkpoint, "configurable": checkpoint}
    return JSON({**named, "checkpoint_id": checkpoint.get("checkpoint_id")})


@router.post("/state/checkpoint", response_model=StateView)
async def get_at(
    thread_id: ThreadId, body: StateAt, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Get the state at a checkpoint, of the thread or one of its subgraphs."""
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
    """Get the state at a checkpoint."""
    state = await services.states.read(
        thread_id, owner=owner, checkpoint_id=checkpoint_id, subgraphs=subgraphs
    )
    return JSON(state)


@router.post("/history", response_model=list[StateView], responses=CUT)
async def history(
    thread_id: ThreadId, body: History, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """List the thread's past states, newest first; long lists are paginated."""
    namespace = body.checkpoint.checkpoint_ns if body.checkpoint is not None else ""
    return await _history(
        services,
        owner,
        body.limit,
        thread_id=thread_id,
        before=body.cursor(),
        namespace=namespace,
        metadata=body.metadata,
    )


@router.get("/history", response_model=list[StateView], responses=CUT)
async def list_history(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    before: str | None = None,
) -> Response:
    """List the thread's past states, newest first; long lists are paginated."""
    return await _history(services, owner, limit, thread_id=thread_id, before=before)


async def _history(services: Services, owner: Owner, limit: int, **options: Any) -> Response:
    states, limits = services.states, services.states.limits
    items: list[bytes] = []
    size, last = 0, None
    max_states = min(limit, limits.states)
    async with states.reads.turn(owner):
        # One more than is sent, to know whether there is a next page.
        found = states.history(owner=owner, limit=max_states + (max_states < limit), **options)
        async with aclosing(found):
            async for state, encoded in found:
                size += len(encoded)
                if items and (size > limits.bytes or len(items) == max_states):
                    return JSONList(items, headers={NEXT_HEADER: str(last)})
                items.append(encoded)
                last = state["checkpoint_id"]
    return JSONList(items)
