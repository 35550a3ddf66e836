"""Protocol v2 routes: commands to a thread, and its event stream."""

from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from bathysphere.server.deps import CurrentOwner, Key, ServicesDep, Streaming, ThreadId
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.langgraph_api.thread_access import thread_exists
from bathysphere.server.protocol.commands import CommandHandler
from bathysphere.server.protocol.feed import Feed
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.schemas.protocol import Command, CommandAnswer, Subscription
from bathysphere.server.sse import EventStream

router = APIRouter(prefix="/threads/{thread_id}", tags=["protocol"], route_class=StrictRoute)
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.post("/commands", response_model=CommandAnswer)
async def command(
    thread_id: ThreadId, command: Command, services: ServicesDep, key: Key
) -> Response:
    """Execute one command; a refused command gets a response with `type: error`."""
    handler = CommandHandler(services=services, thread_id=thread_id, key=key)
    return JSON(await handler.handle(command))


@router.post("/stream/events", response_class=Response, responses=_STREAM)
async def stream_events(
    thread_id: ThreadId,
    subscription: Subscription,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
) -> Response:
    """Stream the thread's past and future events until the client disconnects."""
    await thread_exists(services.pool, thread_id, owner=owner)
    namespaces = subscription.namespaces
    event_filter = Filter(
        channels=frozenset(subscription.channels),
        namespaces=tuple(map(tuple, namespaces)) if namespaces is not None else None,
        depth=subscription.depth,
    )
    feed = Feed(
        services, thread_id, owner=owner, event_filter=event_filter, since=subscription.since or 0
    )
    check_access = partial(thread_exists, services.pool, thread_id, owner=owner)
    return EventStream(feed.frames(), rules=rules.with_check(check_access))
