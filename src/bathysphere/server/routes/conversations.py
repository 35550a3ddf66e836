"""Conversation routes: search in what was said, and share it."""

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.responses import HTMLResponse, Response

from bathysphere.engine.conversations.message_index import ThreadHit
from bathysphere.engine.conversations.message_texts import texts_of
from bathysphere.engine.conversations.shares import Share
from bathysphere.engine.errors import ShareNotFound
from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.langgraph_api.thread_states import fields
from bathysphere.server.schemas.conversations import (
    MessageSearch,
    ShareCreate,
    ShareView,
    ThreadHitView,
)
from bathysphere.server.shared_page import missing_page, page_headers, shared_page

router = APIRouter(prefix="/threads", tags=["conversations"], route_class=StrictRoute)
shared_router = APIRouter(prefix="/shared", tags=["conversations"])
"""Without an owner: the link is the key."""
ShareId = Annotated[str, Path(description="ID of the shared snapshot.", max_length=64)]


@router.post("/messages/search", response_model=list[ThreadHitView])
async def search_messages(
    body: MessageSearch, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Search the messages of the caller's threads; the last used threads come first."""
    found = await services.messages.search(
        body.query, owner=owner, metadata=body.metadata, limit=body.limit
    )
    return JSON([_hit(hit) for hit in found])


@router.post("/{thread_id}/shares", response_model=ShareView)
async def share(
    thread_id: ThreadId, body: ShareCreate, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Share a snapshot of what was said: whoever gets its link can read it until it expires."""
    thread = await services.threads.get(thread_id, owner=owner)
    state = await services.states.read(thread_id, owner=owner)
    texts = texts_of(fields(state["values"]).get("messages") or ())
    title = thread.metadata.get("title")
    made = await services.shares.create(
        thread_id,
        texts,
        owner=owner,
        title=title if isinstance(title, str) else "",
        days=body.days,
    )
    return JSON(_share(made))


@router.get("/{thread_id}/shares", response_model=list[ShareView])
async def list_shares(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """The thread's shared snapshots that can be read now, newest first."""
    await services.threads.get(thread_id, owner=owner)
    found = await services.shares.list_of_thread(thread_id, owner=owner)
    return JSON([_share(each) for each in found])


@router.delete("/{thread_id}/shares/{share_id}", status_code=204)
async def revoke_share(
    thread_id: ThreadId, share_id: ShareId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Revoke a shared snapshot: its link shows nothing from now on."""
    await services.shares.revoke(share_id, thread_id=thread_id, owner=owner)
    return Response(status_code=204)


@shared_router.get("/{share_id}", response_class=HTMLResponse)
async def read_shared(share_id: ShareId, services: ServicesDep) -> Response:
    """A shared conversation as a page that needs no sign-in; 404 if it is not shared any more."""
    try:
        page, status = shared_page(await services.shares.read(share_id)), 200
    except ShareNotFound:
        page, status = missing_page(), 404
    return HTMLResponse(page, status_code=status, headers=page_headers())


def _share(share: Share) -> dict[str, Any]:
    return {
        "share_id": share.share_id,
        "path": f"{shared_router.prefix}/{share.share_id}",
        "title": share.title,
        "message_count": share.message_count,
        "created_at": share.created_at.isoformat(),
        "expires_at": share.expires_at.isoformat(),
    }


def _hit(hit: ThreadHit) -> dict[str, Any]:
    title = hit.metadata.get("title")
    return {
        "thread_id": str(hit.thread_id),
        "title": title if isinstance(title, str) else None,
        "updated_at": hit.updated_at.isoformat(),
        "count": hit.count,
        "hits": [
            {
                "message_id": each.message_id,
                "role": each.role,
                "excerpt": [part._asdict() for part in each.excerpt],
            }
            for each in hit.hits
        ],
    }
