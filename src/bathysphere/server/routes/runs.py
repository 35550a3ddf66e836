"""Runs of a thread: start, wait, stream, look up, stop."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from bathysphere.engine.errors import RunNotFound
from bathysphere.engine.records import Owner, Run
from bathysphere.server.deps import CurrentOwner, Heartbeat, RunId, ServicesDep, ThreadId
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.following import ended, follow, outcome
from bathysphere.server.jsonable import JSON, dumps
from bathysphere.server.present import run_json, selected
from bathysphere.server.protocol.older import OlderStream
from bathysphere.server.schemas.runs import RunCreate, RunStatus, RunView, StreamMode
from bathysphere.server.services import Services
from bathysphere.server.sse import EventStream, frame
from bathysphere.server.starting import start
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/threads/{thread_id}/runs", tags=["runs"], route_class=StrictRoute)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
CancelHow = Annotated[Literal["interrupt", "rollback"], Query(description="Keep or undo.")]


@router.post("", response_model=RunView)
async def create(
    thread_id: ThreadId, body: RunCreate, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Start a run in the background."""
    run = await start(services, thread_id, body, owner=owner)
    return JSON(run_json(run), headers=location(run))


@router.post("/wait", response_model=dict[str, Any])
async def wait(
    thread_id: ThreadId, body: RunCreate, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Start a run and wait for what it leaves behind."""
    run = await start(services, thread_id, body, owner=owner)
    run = await ended(services, run, owner=owner)
    return JSON(await outcome(services, run, owner=owner), headers=location(run))


@router.post("/stream", response_class=Response, responses=STREAM)
async def stream(
    thread_id: ThreadId,
    body: RunCreate,
    owner: CurrentOwner,
    services: ServicesDep,
    heartbeat: Heartbeat,
) -> Response:
    """Start a run and stream what happens."""
    position = await services.events.last_id(thread_id)
    run = await start(services, thread_id, body, owner=owner)
    parts = OlderStream(body.modes(), subgraphs=bool(body.stream_subgraphs))
    chunks = older_frames(services, run, parts, owner=owner, after=position)
    return EventStream(chunks, heartbeat=heartbeat, headers=location(run))


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
    """The thread's runs, newest first."""
    await services.threads.get(thread_id, owner=owner)
    if status is None:
        runs = await services.runs.of_thread(thread_id, owner=owner, limit=limit, offset=offset)
        return JSON([selected(run_json(run), select) for run in runs])
    runs = await services.runs.of_thread(thread_id, owner=owner, limit=10_000)
    views = [view for run in runs if (view := run_json(run))["status"] == status]
    return JSON([selected(view, select) for view in views[offset : offset + limit]])


@router.get("/{run_id}", response_model=RunView)
async def get(
    thread_id: ThreadId, run_id: RunId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """One run."""
    return JSON(run_json(await find(services, thread_id, run_id, owner)))


@router.delete("/{run_id}", status_code=204)
async def delete(
    thread_id: ThreadId, run_id: RunId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Stop a run if it is not over. What it did to the thread stays, and so does its record."""
    await find(services, thread_id, run_id, owner)
    await services.runs.cancel(run_id, owner=owner)
    return Response(status_code=204)


@router.post("/{run_id}/cancel", response_model=None)
async def cancel(
    thread_id: ThreadId,
    run_id: RunId,
    owner: CurrentOwner,
    services: ServicesDep,
    action: CancelHow = "interrupt",
    wait: Annotated[bool, Query(description="Answer when the run is over.")] = False,
) -> Response:
    """Stop a run, keeping what it did or undoing it."""
    run = await find(services, thread_id, run_id, owner)
    await services.runs.cancel(run_id, owner=owner, action=action)
    if wait:
        await ended(services, run, owner=owner)
    return Response(status_code=204)


@router.get("/{run_id}/join", response_model=dict[str, Any])
async def join(
    thread_id: ThreadId, run_id: RunId, owner: CurrentOwner, services: ServicesDep
) -> Response:
    """Wait for a run and get what it leaves behind."""
    run = await find(services, thread_id, run_id, owner)
    run = await ended(services, run, owner=owner)
    return JSON(await outcome(services, run, owner=owner))


@router.get("/{run_id}/stream", response_class=Response, responses=STREAM)
async def join_stream(
    thread_id: ThreadId,
    run_id: RunId,
    owner: CurrentOwner,
    services: ServicesDep,
    heartbeat: Heartbeat,
    stream_mode: Annotated[list[StreamMode] | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """The events of a run, from the last one the client has seen."""
    run = await find(services, thread_id, run_id, owner)
    parts = OlderStream(frozenset(stream_mode or ("values",)), subgraphs=False)
    chunks = older_frames(services, run, parts, owner=owner, after=number_of(last_event_id))
    return EventStream(chunks, heartbeat=heartbeat, headers=location(run))


async def older_frames(
    services: Services, run: Run, parts: OlderStream, *, owner: Owner, after: int
) -> AsyncGenerator[bytes, None]:
    """A run's older stream, as server-sent events."""
    yield frame(dumps({"run_id": str(run.run_id), "attempt": 1}), event="metadata")
    async for events in follow(services, run, owner=owner, after=after):
        frames = [
            frame(dumps(data), event=name, id=number)
            for number, event in events
            for name, data in parts.map(event)
        ]
        if frames:
            yield b"".join(frames)


async def find(services: Services, thread_id: UUID, run_id: UUID, owner: Owner) -> Run:
    """The owner's run of this thread.

    Raises:
        RunNotFound: It is missing, another owner's or another thread's.
    """
    run = await services.runs.get(run_id, owner=owner)
    if run.thread_id != thread_id:
        raise RunNotFound(f"no run {run_id}")
    return run


def location(run: Run) -> dict[str, str]:
    """Where the run is found again."""
    path = f"/threads/{run.thread_id}/runs/{run.run_id}"
    return {"Content-Location": path, "Location": f"{path}/stream"}


def number_of(last_event_id: str | None) -> int:
    """The id a stream goes on from.

    Raises:
        InvalidRequest: It is not an id of a stream.
    """
    if not last_event_id or last_event_id == "-1":
        return 0
    try:
        number = int(last_event_id)
    except ValueError as error:
        raise InvalidRequest("Last-Event-ID is not an id of this stream") from error
    return max(0, min(number, 2**62))
