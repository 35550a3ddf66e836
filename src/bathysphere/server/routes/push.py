"""Push routes: the browsers in which the caller wants to be told about their runs."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from starlette.responses import Response

from bathysphere.engine.push.subscriptions import NewSubscription, PushSubscriptions
from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.errors import NotSupported
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.schemas.protocol import Open

router = APIRouter(prefix="/push", tags=["push"], route_class=StrictRoute)
Endpoint = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2048,
        pattern=r"^[\x21-\x7e]+$",
        description="The browser's URL at its push service.",
    ),
]
Key = Annotated[str, Field(min_length=1, max_length=128)]


class PushOffer(BaseModel):
    """Whether this server sends push notices."""

    public_key: str | None = Field(
        description="What browsers subscribe to (`applicationServerKey`); null: no Web Push."
    )


class PushKeys(Open):
    """The keys of a subscription."""

    p256dh: Key
    auth: Key


class PushSubscription(Open):
    """A browser's subscription, as `PushSubscription.toJSON()` writes it."""

    endpoint: Endpoint
    keys: PushKeys


class PushEndpoint(Open):
    """A subscription to delete."""

    endpoint: Endpoint


async def _subscriptions(services: ServicesDep) -> PushSubscriptions:
    if services.push is None:
        raise NotSupported(
            "Web Push is disabled on this server",
            hint="the operator enables it with BATHYSPHERE_PUSH_CONTACT",
        )
    return services.push.subscriptions


Subscriptions = Annotated[PushSubscriptions, Depends(_subscriptions)]


@router.get("", response_model=PushOffer)
async def read_offer(_: CurrentOwner, services: ServicesDep) -> Response:
    """Get the key that browsers subscribe to."""
    push = services.push
    return JSON({"public_key": push.subscriptions.public_key if push is not None else None})


@router.put("/subscription", status_code=204)
async def subscribe(
    body: PushSubscription, owner: CurrentOwner, subscriptions: Subscriptions
) -> Response:
    """Keep a browser's subscription: it becomes the caller's, whoever subscribed with it before."""
    new = NewSubscription(endpoint=body.endpoint, p256dh=body.keys.p256dh, auth=body.keys.auth)
    await subscriptions.put(new, owner=owner)
    return Response(status_code=204)


@router.delete("/subscription", status_code=204)
async def unsubscribe(
    body: PushEndpoint, owner: CurrentOwner, subscriptions: Subscriptions
) -> Response:
    """Delete a browser's subscription, if it is the caller's."""
    await subscriptions.delete(body.endpoint, owner=owner)
    return Response(status_code=204)
