"""Threads: make, find, change, copy, delete."""

import asyncio
import contextlib
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Header
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.records import Owner
from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.errors import NotSupported, ThreadExists
from bathysphere.server.jsonable import JSON
from bathysphere.server.present import selected, thread_json
from bathysphere.server.schemas.threads import (
    ThreadCount,
    ThreadCreate,
    ThreadPrune,
    ThreadSearch,
    ThreadUpdate,
    ThreadView,
)
from bathysphere.server.services import Services
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/threads", tags=["threads"], route_class=StrictRoute)
_STOP_LOOKS = 100
_LOOK_SECONDS = 0.1


@router.post("", response_model=ThreadView)
async def create(body: ThreadCreate, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Make a thread, under the client's id or a fresh one."""
    if body.supersteps:
        raise NotSupported("supersteps are not supported", hint="copy the thread instead")
    thread_id = body.thread_id or uuid4()
    metadata = {k: v for k, v in (body.metadata or {}).items() if v is not None}
    thread = await services.threads.make(thread_id, owner=owner, metadata=metadata)
    if thread is None and body.if_exists == "do_nothing":
        # Another owner's: say no more than that the id is taken.
        with contextlib.suppress(ThreadNotFound):
            thread = await services.threads.get(thread_id, owner=owner)
    if thread is None:
        raise ThreadExists(f"thread id {thread_id} is in use", hint="send a fresh one")
    return JSON(thread_json(thread))


@router.post("/search", response_model=list[ThreadView])
async def search(body: ThreadSearch, owner: CurrentOwner, services: ServicesDep) -> Response:
    """The owner's threads, last used first."""
    _refuse_values(body)
    threads = await services.threads.search(
        owner=owner,
        status=body.status,
        metadata=body.metadata,
        ids=body.ids,
        limit=body.limit,
        offset=body.offset,
    )
    with_state = not body.select or bool({"values", "interrupts"} & set(body.select))
    views = []
    for thread in threads:
        state = None
        if with_state:
            state = await services.states.read(thread.thread_id, owner=owner)
        views.append(selected(thread_json(thread, state), body.select))
    return JSON(views)


@router.post("/count", response_model=int)
async def count(body: ThreadCount, owner: CurrentOwner, services: ServicesDep) -> Response:
    """How many threads there are."""
    _refuse_values(body)
    found = await services.threads.count(owner=owner, status=body.status, metadata=body.metadata)
    return JSON(found)


@router.post("/prune", response_model=dict[str, int])
async def prune(body: ThreadPrune, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Delete several threads; those that are not there are passed over."""
    pruned = 0
    for thread_id in body.thread_ids:
        try:
            await _delete(services, thread_id, owner)
            pruned += 1
        except ThreadNotFound:
            continue
    return JSON({"pruned_count": pruned})


@router.get("/{thread_id}", response_model=ThreadView)
async def get(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """One thread, with its values and open questions."""
    thread = await services.threads.get(thread_id, owner=owner)
    state = await services.states.read(thread_id, owner=owner)
    return JSON(thread_json(thread, state))


@router.patch("/{thread_id}", response_model=ThreadView)
async def update(
    thread_id: ThreadId,
    body: ThreadUpdate,
    owner: CurrentOwner,
    services: ServicesDep,
    prefer: Annotated[str | None, Header()] = None,
) -> Response:
    """Merge metadata into the thread's."""
    thread = await services.threads.update(thread_id, owner=owner, metadata=body.metadata or {})
    if prefer == "return=minimal":
        return Response(status_code=204)
    return JSON(thread_json(thread))


@router.delete("/{thread_id}", status_code=204)
async def delete(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Stop what runs on the thread and forget everything about it."""
    await _delete(services, thread_id, owner)
    return Response(status_code=204)


@router.post("/{thread_id}/copy", response_model=ThreadView)
async def copy(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """A thread of its own with the same history."""
    return JSON(thread_json(await services.threads.copy(thread_id, to=uuid4(), owner=owner)))


async def _delete(services: Services, thread_id: UUID, owner: Owner) -> None:
    await _close_account(services, thread_id, owner)
    for run in await services.runs.of_thread(thread_id, owner=owner, limit=10_000):
        if not run.is_over:
            await services.runs.cancel(run.run_id, owner=owner)
    for _ in range(_STOP_LOOKS):
        try:
            await services.threads.delete(thread_id, owner=owner)
        except ThreadBusy:
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            return
    await services.threads.delete(thread_id, owner=owner)


async def _close_account(services: Services, thread_id: UUID, owner: Owner) -> None:
    """What was paid in and not spent goes back."""
    if services.payments is not None:
        with contextlib.suppress(CallerError):
            await services.payments.close(str(thread_id), owner)


def _refuse_values(body: ThreadCount) -> None:
    if body.values:
        raise NotSupported("threads are not searched by values", hint="search by metadata")
