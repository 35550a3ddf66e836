"""Thread routes: create, search, update, copy, delete."""

import asyncio
import contextlib
from typing import Annotated
from uuid import UUID, uuid4

from fastapi import APIRouter, Header
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.errors import ThreadBusy, ThreadNotFound
from bathysphere.engine.records import ACTIVE, Thread
from bathysphere.server.deps import CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.errors import NotSupported, ThreadExists
from bathysphere.server.langgraph_api.bounded_answers import OMITTED_HEADER, JSONList, encode
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.serializers import selected, thread_json
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.threads import (
    ThreadCount,
    ThreadCreate,
    ThreadPrune,
    ThreadSearch,
    ThreadUpdate,
    ThreadView,
)

router = APIRouter(prefix="/threads", tags=["threads"], route_class=StrictRoute)
_STOP_POLLS = 100
_POLL_SECONDS = 0.1
_PAGE_THREADS = 25
_PAGE_BYTES = 8 * 1024 * 1024


@router.post("", response_model=ThreadView)
async def create(body: ThreadCreate, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Create a thread, with the client's id or a new one."""
    if body.supersteps:
        raise NotSupported("`supersteps` is not supported", hint="copy the thread instead")
    thread_id = body.thread_id or uuid4()
    metadata = {k: v for k, v in (body.metadata or {}).items() if v is not None}
    thread = await services.threads.try_create(thread_id, owner=owner, metadata=metadata)
    if thread is None and body.if_exists == "do_nothing":
        # If it is another owner's, reveal only that the id is in use.
        with contextlib.suppress(ThreadNotFound):
            thread = await services.threads.get(thread_id, owner=owner)
    if thread is None:
        raise ThreadExists(f"Thread id {thread_id} is already in use", hint="choose another id")
    return JSON(thread_json(thread))


@router.post("/search", response_model=list[ThreadView])
async def search(body: ThreadSearch, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Search threads, last used first."""
    _refuse_values(body)
    threads = await services.threads.search(
        owner=owner,
        status=body.status,
        metadata=body.metadata,
        ids=body.ids,
        title_contains=body.title_contains,
        limit=body.limit,
        offset=body.offset,
    )
    if body.select and not {"values", "interrupts"} & set(body.select):
        return JSON([selected(thread_json(thread), body.select) for thread in threads])
    async with services.states.reads.turn(owner):
        return await _with_states(services, threads, body.select, owner)


async def _with_states(
    services: Services, threads: list[Thread], select: list[str] | None, owner: Owner
) -> Response:
    """Threads with their values, until the size limit is reached; the rest without.

    They are read in pages: first one thread, then as many as fit by the largest so far.
    """
    limits = services.states.limits
    items: list[bytes] = []
    size, largest = 0, 1
    while len(items) < min(len(threads), limits.states) and size < limits.bytes:
        count = max(1, min(_PAGE_THREADS, _PAGE_BYTES // largest)) if items else 1
        page = threads[len(items) : min(len(items) + count, limits.states)]
        ids = [thread.thread_id for thread in page]
        states = await services.states.read_several(ids, owner=owner)
        for thread in page:
            # A thread that was deleted meanwhile is sent as it was found.
            view = thread_json(thread, states.pop(thread.thread_id, None))
            items.append(await encode(selected(view, select)))
            size, largest = size + len(items[-1]), max(largest, len(items[-1]))
            if size >= limits.bytes:
                break
    rest = threads[len(items) :]
    items += [await encode(selected(thread_json(thread), select)) for thread in rest]
    headers = {OMITTED_HEADER: str(len(rest))} if rest else {}
    return JSONList(items, headers=headers)


@router.post("/count", response_model=int)
async def count(body: ThreadCount, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Count threads."""
    _refuse_values(body)
    found = await services.threads.count(owner=owner, status=body.status, metadata=body.metadata)
    return JSON(found)


@router.post("/prune", response_model=dict[str, int])
async def prune(body: ThreadPrune, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Delete several threads; missing ones are skipped."""
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
    """Get a thread, with its values and open questions."""
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
    """Merge metadata into the thread's metadata."""
    thread = await services.threads.update(thread_id, owner=owner, metadata=body.metadata or {})
    if prefer == "return=minimal":
        return Response(status_code=204)
    return JSON(thread_json(thread))


@router.delete("/{thread_id}", status_code=204)
async def delete(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Cancel the thread's runs and delete all of its data."""
    await _delete(services, thread_id, owner)
    return Response(status_code=204)


@router.post("/{thread_id}/copy", response_model=ThreadView)
async def copy(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Copy a thread with its history."""
    await services.threads.get(thread_id, owner=owner)
    await services.stored.reserve_copy(owner, thread_id)
    return JSON(thread_json(await services.threads.copy(thread_id, to=uuid4(), owner=owner)))


async def _delete(services: Services, thread_id: UUID, owner: Owner) -> None:
    await _close_account(services, thread_id, owner)
    active = await services.runs.list_of_thread(
        thread_id, owner=owner, statuses=ACTIVE, limit=10_000
    )
    for run in active:
        await services.runs.cancel(run.run_id, owner=owner)
    for _ in range(_STOP_POLLS):
        try:
            await services.threads.delete(thread_id, owner=owner)
        except ThreadBusy:
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return
    await services.threads.delete(thread_id, owner=owner)


async def _close_account(services: Services, thread_id: UUID, owner: Owner) -> None:
    """Close the payment account, so that unspent deposits are refunded."""
    if services.payments is not None:
        with contextlib.suppress(CallerError):
            await services.payments.close(str(thread_id), owner)


def _refuse_values(body: ThreadCount) -> None:
    if body.values:
        raise NotSupported("Threads cannot be searched by values", hint="search by metadata")
