"""Seed 002's model card: get the model ready, and say how far it is."""

from collections.abc import AsyncGenerator

from fastapi import APIRouter
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner, DeskDep, Heartbeat
from bathysphere.server.jsonable import dumps
from bathysphere.server.model_loading import Progress
from bathysphere.server.routes.runs import STREAM
from bathysphere.server.schemas.research import ModelLoad
from bathysphere.server.sse import EventStream
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/api/model", tags=["model"], route_class=StrictRoute)


@router.get("/load", response_class=Response, responses=STREAM)
async def follow(owner: CurrentOwner, desk: DeskDep, heartbeat: Heartbeat) -> Response:
    """Load the model, unless it is loaded, and stream the progress."""
    del owner  # nobody comes in without an identity
    return EventStream(_frames(await desk.loading.follow()), heartbeat=heartbeat)


@router.post("/load", response_class=Response, responses=STREAM)
async def load(
    owner: CurrentOwner, desk: DeskDep, heartbeat: Heartbeat, body: ModelLoad | None = None
) -> Response:
    """Load the model, unless it is loaded, and stream the progress."""
    del owner
    wanted = body.model_id if body is not None else None
    return EventStream(_frames(await desk.loading.follow(wanted)), heartbeat=heartbeat)


async def _frames(news: AsyncGenerator[Progress, None]) -> AsyncGenerator[bytes, None]:
    # Seed 002's client reads `data:` lines alone here, so the events have no names.
    async for one in news:
        yield b"data: " + dumps(one) + b"\n\n"
