"""Routes for runs of a thread: start, wait, stream, get, cancel."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.errors import RunNotFound
from bathysphere.engine.records import Run
from bathysphere.server.deps import CurrentOwner, Key, RunId, ServicesDep, Streaming, ThreadId
from bathysphere.server.langgraph_api.create_run import start
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.legacy_stream import LegacyStream
from bathysphere.server.langgraph_api.run_events import follow, outcome, wait_for_end, with_values
from bathysphere.server.langgraph_api.serializers import run_json, selected, statuses_shown_as
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.protocol.position import Position
from bathysphere.server.schemas.runs import RunCreate, RunStatus, RunView, StreamMode
from bathysphere.server.sse import EventStream, frame

router = APIRouter(prefix="/threads/{thread_id}/runs", tags=["runs"], route_class=StrictRoute)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
_POLL_SECONDS = 0.5  # how often to check that the client is connected
CancelHow = Annotated[
    Literal["interrupt", "rollback"],
    Query(description="`interrupt` keeps the run's changes, `rollback` undoes them."),
]


OnDisconnect = Callable[[], Awaitable[object]]
CancelOnDisconnect = Annotated[bool, Query(description="Cancel the run if the client leaves.")]


@router.post("", response_model=RunView)
async def create(
    thread_id: ThreadId, body: RunCreate, owner: CurrentOwner, services: ServicesDep, key: Key
) -> Response:
    """Start a run in the background."""
    run = await start(services, thread_id, body, owner=owner, key=key)
    return JSON(run_json(run), headers=location(run))


@router.post("/wait", response_model=dict[str, Any])
async def wait(
    thread_id: ThreadId,
    body: RunCreate,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    request: Request,
    key: Key,
) -> Response:
    """Start a run and wait for its result."""
    run = await start(services, thread_id, body, owner=owner, key=key)
    on_disconnect = on_disconnect_of(services, run, body, owner=owner)
    run = await wait_for_run(services, run, on_disconnect, owner=owner, request=request)
    await rules.check()
    return JSON(await outcome(services, run, owner=owner), headers=location(run))


@router.post("/stream", response_class=Response, responses=STREAM)
async def stream(
    thread_id: ThreadId,
    body: RunCreate,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    key: Key,
) -> Response:
    """Start a run and stream its events."""
    # A repeated request gets the events from the beginning of its run.
    position = 0 if key.is_given else await services.events.last_id(thread_id)
    run = await start(services, thread_id, body, owner=owner, key=key)
    parts = LegacyStream(body.modes(), subgraphs=bool(body.stream_subgraphs))
    chunks = (
        waiting_frames(services, run, owner=owner)
        if run.is_over
        else legacy_frames(services, run, parts, owner=owner, after=position)
    )
    on_disconnect = on_disconnect_of(services, run, body, owner=owner)
    return EventStream(chunks, rules=rules, headers=location(run), on_disconnect=on_disconnect)


@router.get("", response_model=list[RunView])
async def list_runs(
    thread_id: ThreadId,
    owner: CurrentOwner,
    services: ServicesDep,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    status: RunStatus | None = None,
    select: Annotated[list[str] | None, Query()] = None,
) -> Response:
    """List the thread's runs, newest first."""
    await services.threads.get(thread_id, owner=owner)
    runs = await services.runs.list_of_thread(
        thread_id,
        owner=owner,
        statuses=statuses_shown_as(status) if status is not None else None,
        limit=limit,
        offset=offset,
    )
    return JSON([selected(run_json(run), select) for run in runs])


@router.get("/{run_id}", response_model=RunView)
async def get(
    thread_id: ThreadId, run_id: RunId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Get a run."""
    return JSON(run_json(await find(services, thread_id, run_id, owner)))


@router.delete("/{run_id}", status_code=204)
async def delete(
    thread_id: ThreadId, run_id: RunId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Cancel a run that is not over. Its changes to the thread and its record are kept."""
    await find(services, thread_id, run_id, owner)
    await services.runs.cancel(run_id, owner=owner)
    return Response(status_code=204)


@router.post("/{run_id}/cancel", response_model=dict[str, Any])
async def cancel(
    thread_id: ThreadId,
    run_id: RunId,
    owner: CurrentOwner,
    services: ServicesDep,
    action: CancelHow = "interrupt",
    wait: Annotated[bool, Query(description="Respond when the run is over.")] = False,
) -> Response:
    """Cancel a run, keeping or undoing its changes."""
    run = await find(services, thread_id, run_id, owner)
    await services.runs.cancel(run_id, owner=owner, action=action)
    if wait:
        await wait_for_end(services, run, owner=owner)
    return JSON({}, status_code=200 if wait else 202)


@router.get("/{run_id}/join", response_model=dict[str, Any])
async def join(
    thread_id: ThreadId,
    run_id: RunId,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    request: Request,
    cancel_on_disconnect: CancelOnDisconnect = False,
) -> Response:
    """Wait for a run and get its result."""
    run = await find(services, thread_id, run_id, owner)
    on_disconnect = cancels(services, run, owner=owner) if cancel_on_disconnect else None
    run = await wait_for_run(services, run, on_disconnect, owner=owner, request=request)
    await rules.check()
    return JSON(await outcome(services, run, owner=owner))


@router.get("/{run_id}/stream", response_class=Response, responses=STREAM)
async def join_stream(
    thread_id: ThreadId,
    run_id: RunId,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    stream_mode: Annotated[list[StreamMode | Literal[""]] | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
    cancel_on_disconnect: CancelOnDisconnect = False,
) -> Response:
    """Stream the events of a run after `Last-Event-ID`."""
    run = await find(services, thread_id, run_id, owner)
    # The Python client sends an empty mode for none.
    modes = frozenset(filter(None, stream_mode or ())) or frozenset(run.work.stream_modes)
    subgraphs = run.work.stream_subgraphs
    parts = LegacyStream(modes or frozenset({"values"}), subgraphs=subgraphs)
    after = Position.from_last_event_id(last_event_id).entry
    chunks = legacy_frames(services, run, parts, owner=owner, after=after)
    on_disconnect = cancels(services, run, owner=owner) if cancel_on_disconnect else None
    return EventStream(chunks, rules=rules, headers=location(run), on_disconnect=on_disconnect)


async def legacy_frames(
    services: Services, run: Run, parts: LegacyStream, *, owner: Owner, after: int
) -> AsyncGenerator[bytes, None]:
    """The legacy stream of a run, as server-sent events."""
    yield frame(dumps({"run_id": str(run.run_id), "attempt": 1}), event="metadata")
    async for found in follow(services, run, owner=owner, after=after):
        events = await with_values(services, run, found, owner=owner)
        frames = [
            frame(dumps(data), event=name, id=number)
            for number, event in events
            for name, data in parts.map(event)
        ]
        if frames:
            yield b"".join(frames)


async def waiting_frames(
    services: Services, run: Run, *, owner: Owner
) -> AsyncGenerator[bytes, None]:
    """The stream of a request that started no run: other answers are still missing."""
    yield frame(dumps({"run_id": str(run.run_id), "attempt": 1}), event="metadata")
    yield frame(dumps(await outcome(services, run, owner=owner)), event="values")


def cancels(services: Services, run: Run, *, owner: Owner) -> OnDisconnect:
    """Return the callback that cancels the run."""
    return partial(services.runs.cancel, run.run_id, owner=owner)


def on_disconnect_of(
    services: Services, run: Run, body: RunCreate, *, owner: Owner
) -> OnDisconnect | None:
    """Return the callback that cancels the run on disconnect, if the client asked for it."""
    return cancels(services, run, owner=owner) if body.on_disconnect == "cancel" else None


async def wait_for_run(
    services: Services, run: Run, cancel: OnDisconnect | None, *, owner: Owner, request: Request
) -> Run:
    """Wait for the run to end; call back if the client disconnects before."""
    if cancel is None:
        return await wait_for_end(services, run, owner=owner)
    waiting = asyncio.create_task(wait_for_end(services, run, owner=owner))
    while not waiting.done():
        await asyncio.wait([waiting], timeout=_POLL_SECONDS)
        if not waiting.done() and await request.is_disconnected():
            await cancel()
            break
    return await waiting


async def find(services: Services, thread_id: UUID, run_id: UUID, owner: Owner) -> Run:
    """Return the owner's run of this thread.

    Raises:
        RunNotFound: It is missing, or belongs to another owner or thread.
    """
    run = await services.runs.get(run_id, owner=owner)
    if run.thread_id != thread_id:
        raise RunNotFound(f"Run {run_id} not found")
    return run


def location(run: Run) -> dict[str, str]:
    """Headers with the run's URLs."""
    path = f"/threads/{run.thread_id}/runs/{run.run_id}"
    return {"Content-Location": path, "Location": f"{path}/stream"}
