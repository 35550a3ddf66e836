"""Seed 002's model card: load the model and stream the progress."""

from collections.abc import AsyncGenerator

from fastapi import APIRouter
from starlette.responses import Response

from bathysphere.core.json_text import dumps
from bathysphere.server.deps import CurrentOwner, ResearchDep, Streaming
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.models.loading import Progress
from bathysphere.server.research.schemas import ModelLoad
from bathysphere.server.routes.runs import STREAM
from bathysphere.server.sse import EventStream

router = APIRouter(prefix="/api/model", tags=["model"], route_class=StrictRoute)


@router.post("/load", response_class=Response, responses=STREAM)
async def load(
    owner: CurrentOwner, research: ResearchDep, rules: Streaming, body: ModelLoad | None = None
) -> Response:
    """Load the model unless it is loaded, and stream the progress."""
    del owner  # only authenticated callers get here
    wanted = body.model_id if body is not None else None
    return EventStream(_frames(await research.loading.follow(wanted)), rules=rules)


async def _frames(events: AsyncGenerator[Progress, None]) -> AsyncGenerator[bytes, None]:
    # Seed 002's client reads `data:` lines alone here, so the events have no names.
    async for one in events:
        yield b"data: " + dumps(one) + b"\n\n"
