"""List the models in use, so that people can see where their messages go."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.models.catalog import ListModels

router = APIRouter(tags=["models"], route_class=StrictRoute)


@router.get("/models", response_model=list[dict[str, Any]])
async def models(_: CurrentOwner, request: Request) -> Response:
    """The model of each role, and those offered for conversations: local, usable now, changeable.

    Cards of the role `offered` are there if there are two or more; a run chooses one by its name,
    as `bathysphere_model` in `config.configurable`.
    """
    list_models: ListModels | None = request.app.state.list_models
    is_changeable = request.app.state.model_setup is not None
    cards = await list_models() if list_models is not None else []
    return JSON([card.json() | {"is_changeable": is_changeable} for card in cards])
