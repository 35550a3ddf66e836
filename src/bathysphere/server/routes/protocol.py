"""Protocol v2: commands to a thread, and its events."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from bathysphere.server.access import thread_exists
from bathysphere.server.deps import CurrentOwner, Heartbeat, ServicesDep, ThreadId
from bathysphere.server.jsonable import JSON
from bathysphere.server.protocol.commands import Desk
from bathysphere.server.protocol.feed import Feed
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.schemas.protocol import Command, CommandAnswer, Subscription
from bathysphere.server.sse import EventStream
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/threads/{thread_id}", tags=["protocol"], route_class=StrictRoute)
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.post("/commands", response_model=CommandAnswer)
async def command(
    thread_id: ThreadId, command: Command, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Do one command; a command that is refused is answered with `type: error`."""
    desk = Desk(services=services, thread_id=thread_id, owner=owner)
    return JSON(await desk.handle(command))


@router.post("/stream/events", response_class=Response, responses=_STREAM)
async def stream_events(
    thread_id: ThreadId,
    subscription: Subscription,
    owner: CurrentOwner,
    services: ServicesDep,
    heartbeat: Heartbeat,
) -> Response:
    """The thread's events, past and to come, until the client leaves."""
    await thread_exists(services.pool, thread_id, owner=owner)
    namespaces = subscription.namespaces
    wishes = Filter(
        channels=frozenset(subscription.channels),
        namespaces=tuple(map(tuple, namespaces)) if namespaces is not None else None,
        depth=subscription.depth,
    )
    feed = Feed(services, thread_id, owner=owner, wishes=wishes, since=subscription.since or 0)
    return EventStream(feed.frames(), heartbeat=heartbeat)
