"""Thread routes: create, search, update, copy, delete."""

import asyncio
import contextlib
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, Literal
from uuid import uuid4

import orjson
from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.records import Thread
from bathysphere.engine.thread_storage import measure_thread
from bathysphere.server.deps import CurrentOwner, ServicesDep, Streaming, ThreadId
from bathysphere.server.errors import NotSupported, ThreadExists
from bathysphere.server.langgraph_api.bounded_answers import OMITTED_HEADER, JSONList
from bathysphere.server.langgraph_api.delete_threads import delete_thread
from bathysphere.server.langgraph_api.extract_paths import extract, needs_state
from bathysphere.server.langgraph_api.graph_names import with_graph_name
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.serializers import selected, thread_json, ttl_json
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.langgraph_api.supersteps import check_supersteps, write_supersteps
from bathysphere.server.langgraph_api.thread_search import (
    StateReader,
    count_threads,
    search_threads,
)
from bathysphere.server.langgraph_api.thread_states import State
from bathysphere.server.langgraph_api.thread_stream import FROM_START, ThreadStream
from bathysphere.server.process.services import Services
from bathysphere.server.protocol.position import Position
from bathysphere.server.schemas.threads import (
    ThreadCount,
    ThreadCreate,
    ThreadPrune,
    ThreadSearch,
    ThreadUpdate,
    ThreadView,
    Ttl,
)
from bathysphere.server.sse import EventStream

router = APIRouter(prefix="/threads", tags=["threads"], route_class=StrictRoute)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
ThreadStreamMode = Literal["run_modes", "lifecycle", "state_update"]


@router.post("", response_model=ThreadView)
async def create(body: ThreadCreate, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Create a thread, with the client's id or a new one, and the history of its supersteps."""
    ttl_minutes = _ttl_minutes(services, body.ttl)
    thread_id = body.thread_id or uuid4()
    given = with_graph_name(services.graphs, body.metadata)
    metadata = {k: v for k, v in given.items() if v is not None}
    if body.supersteps:
        check_supersteps(services.graphs, metadata.get("graph_id"), body.supersteps)
        await services.stored.reserve(owner, len(dumps(body.supersteps)))
    thread = await services.threads.try_create(
        thread_id, owner=owner, metadata=metadata, ttl_minutes=ttl_minutes
    )
    if thread is not None and body.supersteps:
        await write_supersteps(services, thread_id, body.supersteps, owner=owner)
    if thread is None and body.if_exists == "do_nothing":
        # If it is another owner's, reveal only that the id is in use.
        with contextlib.suppress(ThreadNotFound):
            thread = await services.threads.get(thread_id, owner=owner)
    if thread is None:
        raise ThreadExists(f"Thread id {thread_id} is already in use", hint="choose another id")
    return JSON(thread_json(thread))


@router.post("/search", response_model=list[ThreadView])
async def search(body: ThreadSearch, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Search threads; by default the last used come first."""
    body = body.model_copy(update=_filter(services, body))
    threads = await search_threads(services, body, owner=owner)
    paths = (body.extract or {}).values()
    selects_state = not body.select or bool({"values", "interrupts"} & set(body.select))
    if not selects_state and not any(map(needs_state, paths)):
        return JSON([_view(thread, None, body) for thread in threads])
    async with services.states.reads.turn(owner):
        return await _with_states(services, threads, body, owner)


def _filter(services: Services, body: ThreadCount) -> dict[str, Any]:
    return {"metadata": with_graph_name(services.graphs, body.metadata) or None}


async def _with_states(
    services: Services, threads: list[Thread], body: ThreadSearch, owner: Owner
) -> Response:
    """Threads with their values, until the size limit is reached; the rest without."""
    limits = services.states.limits
    reader = StateReader(services, threads[: limits.states], owner=owner)
    items: list[bytes] = []
    size = 0
    async with aclosing(reader.states()) as found:
        async for thread, state in found:
            # A thread that was deleted meanwhile is sent as it was found.
            items.append(await asyncio.to_thread(_encoded, thread, state, body))
            reader.measure(len(items[-1]))
            size += len(items[-1])
            if size >= limits.bytes:
                break
    rest = threads[len(items) :]
    items += [_encoded(thread, None, body) for thread in rest]
    headers = {OMITTED_HEADER: str(len(rest))} if rest else {}
    return JSONList(items, headers=headers)


def _view(thread: Thread, state: State | None, body: ThreadSearch) -> dict[str, Any]:
    view = thread_json(thread, state)
    shown = selected(view, body.select)
    if body.extract:
        plain = orjson.loads(dumps(view))
        shown["extracted"] = {alias: extract(plain, path) for alias, path in body.extract.items()}
    return shown


def _encoded(thread: Thread, state: State | None, body: ThreadSearch) -> bytes:
    return dumps(_view(thread, state, body))


@router.post("/count", response_model=int)
async def count(body: ThreadCount, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Count threads."""
    body = body.model_copy(update=_filter(services, body))
    return JSON(await count_threads(services, body, owner=owner))


@router.post("/prune", response_model=dict[str, int])
async def prune(body: ThreadPrune, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Delete several threads; missing ones are skipped."""
    pruned = 0
    for thread_id in body.thread_ids:
        try:
            await delete_thread(services, thread_id, owner=owner)
            pruned += 1
        except ThreadNotFound:
            continue
    return JSON({"pruned_count": pruned})


@router.get("/{thread_id}", response_model=ThreadView)
async def get(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    include: Annotated[
        Literal["ttl", ""] | None, Query(description="`ttl` adds the thread's time to live.")
    ] = None,
) -> Response:
    """Get a thread, with its values and open questions."""
    thread = await services.threads.get(thread_id, owner=owner)
    state = await services.states.read(thread_id, owner=owner)
    view = thread_json(thread, state)
    if include == "ttl" and (ttl := await services.threads.ttl(thread_id, owner=owner)):
        view["ttl"] = ttl_json(ttl)
    return JSON(view)


@router.get("/{thread_id}/storage", response_model=dict[str, Any])
async def storage(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """The bytes that the thread's checkpoints take."""
    await services.threads.get(thread_id, owner=owner)
    sizes = await measure_thread(services.pool, thread_id, owner=owner)
    return JSON({"thread_id": str(thread_id), **sizes})


@router.get("/{thread_id}/stream", response_class=Response, responses=STREAM)
async def join_stream(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    stream_mode: Annotated[list[ThreadStreamMode] | None, Query()] = None,
    stream_modes: Annotated[list[ThreadStreamMode] | None, Query()] = None,
    last_event_id: Annotated[
        str | None, Header(description="Continue after this event; `-` for the whole log.")
    ] = None,
) -> Response:
    """Stream what the thread's runs stream, one after the other, until the client disconnects."""
    await services.threads.get(thread_id, owner=owner)
    modes = frozenset((*(stream_mode or ()), *(stream_modes or ()))) or {"run_modes"}
    if last_event_id is None:
        after = await services.events.last_id(thread_id)
    elif last_event_id == FROM_START:
        after = 0
    else:
        after = Position.from_last_event_id(last_event_id).entry
    stream = ThreadStream(services, thread_id, owner=owner, modes=frozenset(modes))
    check_access = partial(services.threads.get, thread_id, owner=owner)
    return EventStream(stream.frames(after=after), rules=rules.with_check(check_access))


@router.patch("/{thread_id}", response_model=ThreadView)
async def update(
    thread_id: ThreadId,
    body: ThreadUpdate,
    owner: CurrentOwner,
    services: ServicesDep,
    prefer: Annotated[str | None, Header()] = None,
) -> Response:
    """Merge metadata into the thread's metadata; set its time to live."""
    ttl_minutes = _ttl_minutes(services, body.ttl)
    metadata = with_graph_name(services.graphs, body.metadata)
    thread = await services.threads.update(
        thread_id, owner=owner, metadata=metadata, ttl_minutes=ttl_minutes
    )
    if prefer == "return=minimal":
        return Response(status_code=204)
    return JSON(thread_json(thread))


@router.delete("/{thread_id}", status_code=204)
async def delete(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Cancel the thread's runs and delete all of its data."""
    await delete_thread(services, thread_id, owner=owner)
    return Response(status_code=204)


@router.post("/{thread_id}/copy", response_model=ThreadView)
async def copy(thread_id: ThreadId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Copy a thread with its history."""
    await services.threads.get(thread_id, owner=owner)
    await services.stored.reserve_copy(owner, thread_id)
    async with services.states.reads.turn(owner):
        thread = await services.threads.copy(thread_id, to=uuid4(), owner=owner)
    return JSON(thread_json(thread))


def _ttl_minutes(services: Services, ttl: Ttl | None) -> float | None:
    """The minutes after which a thread is deleted.

    Raises:
        NotSupported: It asks for what this server cannot do.
    """
    if ttl is None:
        return None
    if ttl.strategy != "delete":
        raise NotSupported(
            "A thread cannot keep only its latest state: it is computed from earlier ones",
            hint='use the strategy "delete"',
        )
    if services.payments is not None:
        raise NotSupported("Threads with money on them cannot expire", hint="omit ttl")
    return ttl.ttl
