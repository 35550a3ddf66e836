"""Choose the model and enter provider keys. Only a server for one person at its machine has these.

`create_app` includes this router with a `ModelSetup` alone; elsewhere its paths do not exist.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from pydantic import Field, SecretStr
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.models.setup import ModelSetup
from bathysphere.server.schemas.protocol import Open

router = APIRouter(prefix="/models/setup", tags=["models"], route_class=StrictRoute)
Provider = Annotated[str, Path(description="Name of the provider.", max_length=100)]


class ChosenModel(Open):
    """The model to use from now on."""

    model: Annotated[str, Field(max_length=300)]


class ProviderKey(Open):
    """An API key; it is stored, and never sent back."""

    key: SecretStr


async def _setup(request: Request) -> ModelSetup:
    setup: ModelSetup = request.app.state.model_setup
    return setup


Setup = Annotated[ModelSetup, Depends(_setup)]


@router.get("", response_model=dict[str, Any])
async def get(_: CurrentOwner, setup: Setup) -> Response:
    """The chosen model, and the models and providers to choose from now."""
    return JSON(await setup.view())


@router.put("", response_model=dict[str, Any])
async def choose(_: CurrentOwner, setup: Setup, body: ChosenModel) -> Response:
    """Use a model from now on."""
    await setup.choose(body.model)
    return JSON(await setup.view())


@router.put("/keys/{provider}", response_model=dict[str, Any])
async def set_key(_: CurrentOwner, setup: Setup, provider: Provider, body: ProviderKey) -> Response:
    """Store a provider's API key."""
    await setup.set_key(provider, body.key)
    return JSON(await setup.view())


@router.delete("/keys/{provider}", response_model=dict[str, Any])
async def delete_key(_: CurrentOwner, setup: Setup, provider: Provider) -> Response:
    """Remove a provider's API key."""
    await setup.set_key(provider, None)
    return JSON(await setup.view())
