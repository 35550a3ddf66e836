"""The models that answer here, for a person who wants to know where their words go."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner
from bathysphere.server.jsonable import JSON
from bathysphere.server.models import Look

router = APIRouter(tags=["models"])


@router.get("/models", response_model=list[dict[str, Any]])
async def models(_: CurrentOwner, request: Request) -> Response:
    """The model of each role: its name, whether it is local, whether it can be used now."""
    look: Look | None = request.app.state.look_at_models
    return JSON([card.json() for card in await look()] if look is not None else [])
