"""Routes for stateless runs, whose thread is created and deleted with them, and bulk cancel."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.engine.records import ACTIVE, Run
from bathysphere.server.deps import Charge, CurrentOwner, Key, ServicesDep, Streaming
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.langgraph_api.create_run import start
from bathysphere.server.langgraph_api.idempotency import RequestKey
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.legacy_stream import LegacyStream
from bathysphere.server.langgraph_api.run_events import outcome
from bathysphere.server.langgraph_api.serializers import run_json
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.routes.runs import (
    STREAM,
    CancelHow,
    find,
    legacy_frames,
    location,
    on_disconnect_of,
    wait_for_run,
)
from bathysphere.server.schemas.runs import CancelMany, RunCreate, RunView
from bathysphere.server.sse import EventStream

router = APIRouter(prefix="/runs", tags=["stateless"], route_class=StrictRoute)


@router.post("", response_model=RunView)
async def create(body: RunCreate, owner: CurrentOwner, services: ServicesDep, key: Key) -> Response:
    """Start a run in the background, on a new thread."""
    run = await _start(services, body, owner, key)
    return JSON(run_json(run), headers=location(run))


@router.post("/batch", response_model=list[RunView])
async def batch(
    bodies: Annotated[list[RunCreate], Field(max_length=100)],
    owner: CurrentOwner,
    services: ServicesDep,
    charge: Charge,
    key: Key,
) -> Response:
    """Start several runs, each on a new thread; each counts toward the rate limit."""
    await charge(max(0, len(bodies) - 1))
    runs = [await _start(services, body, owner, key, n) for n, body in enumerate(bodies)]
    return JSON([run_json(run) for run in runs])


@router.post("/wait", response_model=dict[str, Any])
async def wait(
    body: RunCreate,
    owner: CurrentOwner,
    services: ServicesDep,
    rules: Streaming,
    request: Request,
    key: Key,
) -> Response:
    """Start a run and wait for its result; its thread is deleted at the end."""
    run = await _start(services, body, owner, key)
    on_disconnect = on_disconnect_of(services, run, body, owner=owner)
    run = await wait_for_run(services, run, on_disconnect, owner=owner, request=request)
    await rules.check()
    return JSON(await outcome(services, run, owner=owner), headers=location(run))


@router.post("/stream", response_class=Response, responses=STREAM)
async def stream(
    body: RunCreate, owner: CurrentOwner, services: ServicesDep, rules: Streaming, key: Key
) -> Response:
    """Start a run and stream its events; its thread is deleted at the end."""
    run = await _start(services, body, owner, key)
    parts = LegacyStream(body.modes(), subgraphs=bool(body.stream_subgraphs))
    chunks = legacy_frames(services, run, parts, owner=owner, after=0)
    on_disconnect = on_disconnect_of(services, run, body, owner=owner)
    return EventStream(chunks, rules=rules, headers=location(run), on_disconnect=on_disconnect)


@router.post("/cancel", status_code=204)
async def cancel_many(
    body: CancelMany,
    owner: CurrentOwner,
    services: ServicesDep,
    action: CancelHow = "interrupt",
) -> Response:
    """Cancel several runs of a thread, by id or by status."""
    if body.thread_id is None:
        raise InvalidRequest("Missing `thread_id`", hint="cancel the runs of one thread at a time")
    for run_id in await _selected_runs(services, body.thread_id, body, owner):
        await services.runs.cancel(run_id, owner=owner, action=action)
    return Response(status_code=204)


async def _selected_runs(
    services: Services, thread_id: UUID, body: CancelMany, owner: Owner
) -> list[UUID]:
    if body.run_ids is not None:
        return [(await find(services, thread_id, run, owner)).run_id for run in body.run_ids]
    await services.threads.get(thread_id, owner=owner)
    statuses = ACTIVE if body.status is None or body.status == "all" else (body.status,)
    runs = await services.runs.list_of_thread(
        thread_id, owner=owner, statuses=statuses, limit=10_000
    )
    return [run.run_id for run in reversed(runs)]


async def _start(
    services: Services, body: RunCreate, owner: Owner, key: RequestKey, number: int = 0
) -> Run:
    thread_id = key.thread_id(number)
    return await start(services, thread_id, body, owner=owner, key=key, is_stateless=True)
