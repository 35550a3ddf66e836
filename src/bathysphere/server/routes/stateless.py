"""Runs without a thread of their own: made for one run, gone with it. And runs stopped together."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any
from uuid import UUID, uuid4

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from bathysphere.engine.records import Owner, Run
from bathysphere.server.deps import CurrentOwner, Heartbeat, ServicesDep
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.following import ended, outcome
from bathysphere.server.jsonable import JSON
from bathysphere.server.present import run_json
from bathysphere.server.protocol.older import OlderStream
from bathysphere.server.routes.runs import STREAM, CancelHow, find, location, older_frames
from bathysphere.server.schemas.runs import CancelMany, RunCreate, RunView
from bathysphere.server.services import Services
from bathysphere.server.sse import EventStream
from bathysphere.server.starting import start
from bathysphere.server.strict import StrictRoute

router = APIRouter(prefix="/runs", tags=["stateless"], route_class=StrictRoute)


@router.post("", response_model=RunView)
async def create(body: RunCreate, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Start a run in the background, on a thread made for it."""
    run = await _start(services, body, owner)
    return JSON(run_json(run), headers=location(run))


@router.post("/batch", response_model=list[RunView])
async def batch(
    bodies: Annotated[list[RunCreate], Field(max_length=100)],
    owner: CurrentOwner,
    services: ServicesDep,
) -> Response:
    """Start several runs, each on a thread of its own."""
    return JSON([run_json(await _start(services, body, owner)) for body in bodies])


@router.post("/wait", response_model=dict[str, Any])
async def wait(body: RunCreate, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Start a run and wait for what it leaves behind; its thread goes with it."""
    run = await _start(services, body, owner)
    run = await ended(services, run, owner=owner)
    values = await outcome(services, run, owner=owner)
    if body.on_completion != "keep":
        await services.threads.delete(run.thread_id, owner=owner)
    return JSON(values, headers=location(run))


@router.post("/stream", response_class=Response, responses=STREAM)
async def stream(
    body: RunCreate, owner: CurrentOwner, services: ServicesDep, heartbeat: Heartbeat
) -> Response:
    """Start a run and stream what happens; its thread goes with it."""
    run = await _start(services, body, owner)
    chunks = _then_delete(services, run, body, owner)
    return EventStream(chunks, heartbeat=heartbeat, headers=location(run))


@router.post("/cancel", status_code=204)
async def cancel_many(
    body: CancelMany,
    owner: CurrentOwner,
    services: ServicesDep,
    action: CancelHow = "interrupt",
) -> Response:
    """Stop several runs of a thread: those named, or those of a status."""
    if body.thread_id is None:
        raise InvalidRequest("thread_id is missing", hint="runs are stopped thread by thread")
    for run_id in await _chosen(services, body.thread_id, body, owner):
        await services.runs.cancel(run_id, owner=owner, action=action)
    return Response(status_code=204)


async def _chosen(
    services: Services, thread_id: UUID, body: CancelMany, owner: Owner
) -> list[UUID]:
    if body.run_ids is not None:
        return [(await find(services, thread_id, run, owner)).run_id for run in body.run_ids]
    await services.threads.get(thread_id, owner=owner)
    runs = await services.runs.of_thread(thread_id, owner=owner, limit=10_000)
    wanted = ("pending", "running") if body.status in (None, "all") else (body.status,)
    return [run.run_id for run in reversed(runs) if run.status in wanted]


async def _start(services: Services, body: RunCreate, owner: Owner) -> Run:
    return await start(services, uuid4(), body, owner=owner, creates=True)


async def _then_delete(
    services: Services, run: Run, body: RunCreate, owner: Owner
) -> AsyncGenerator[bytes, None]:
    parts = OlderStream(body.modes(), subgraphs=bool(body.stream_subgraphs))
    async for chunk in older_frames(services, run, parts, owner=owner, after=0):
        yield chunk
    if body.on_completion != "keep":
        await services.threads.delete(run.thread_id, owner=owner)
