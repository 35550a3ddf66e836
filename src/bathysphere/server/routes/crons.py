"""Routes for schedules: runs that are created at the times of a cron expression."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path
from starlette.responses import Response

from bathysphere.core.identity import Owner
from bathysphere.engine.crons.service import CronFilter
from bathysphere.server.deps import CurrentGrant, CurrentOwner, ServicesDep, ThreadId
from bathysphere.server.langgraph_api.assistants import find_assistant
from bathysphere.server.langgraph_api.cron_requests import changed_options, cron_json, options_of
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.serializers import selected
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.crons import (
    CronCount,
    CronCreate,
    CronPatch,
    CronSearch,
    CronView,
    ThreadCronCreate,
)

router = APIRouter(tags=["crons"], route_class=StrictRoute)
CronId = Annotated[UUID, Path(description="ID of the schedule.")]


@router.post("/threads/{thread_id}/runs/crons", response_model=CronView)
async def create_for_thread(
    thread_id: ThreadId,
    body: ThreadCronCreate,
    owner: CurrentOwner,
    grant: CurrentGrant,
    services: ServicesDep,
) -> Response:
    """Create a schedule whose runs share a thread."""
    await services.threads.get(thread_id, owner=owner)
    options = await options_of(services, body, owner=owner)
    cron = await services.crons.create(options, owner=owner, grant=grant, thread_id=thread_id)
    return JSON(cron_json(cron))


@router.post("/runs/crons", response_model=CronView)
async def create(
    body: CronCreate, owner: CurrentOwner, grant: CurrentGrant, services: ServicesDep
) -> Response:
    """Create a schedule whose runs each have a thread of their own."""
    options = await options_of(services, body, owner=owner)
    cron = await services.crons.create(options, owner=owner, grant=grant)
    return JSON(cron_json(cron))


@router.post("/runs/crons/search", response_model=list[CronView])
async def search(body: CronSearch, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Search schedules, newest first by default."""
    found = await services.crons.search(
        await _filter(services, body, owner, is_enabled=body.enabled),
        owner=owner,
        sort_by=body.sort_by,
        is_descending=body.sort_order == "desc",
        limit=body.limit,
        offset=body.offset,
    )
    return JSON([selected(cron_json(cron), body.select) for cron in found])


@router.post("/runs/crons/count", response_model=int)
async def count(body: CronCount, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Count schedules."""
    return JSON(await services.crons.count(await _filter(services, body, owner), owner=owner))


@router.get("/runs/crons/{cron_id}", response_model=CronView)
async def get(cron_id: CronId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Get a schedule."""
    return JSON(cron_json(await services.crons.get(cron_id, owner=owner)))


@router.patch("/runs/crons/{cron_id}", response_model=CronView)
async def update(
    cron_id: CronId,
    body: CronPatch,
    owner: CurrentOwner,
    grant: CurrentGrant,
    services: ServicesDep,
) -> Response:
    """Change a schedule; it then runs with the authorization of this request."""
    cron = await services.crons.get(cron_id, owner=owner)
    options = await changed_options(services, cron, body)
    return JSON(cron_json(await services.crons.replace(cron_id, options, owner=owner, grant=grant)))


@router.delete("/runs/crons/{cron_id}", status_code=204)
async def delete(cron_id: CronId, owner: CurrentOwner, services: ServicesDep) -> Response:
    """Delete a schedule; runs that it has created stay."""
    await services.crons.delete(cron_id, owner=owner)
    return Response(status_code=204)


async def _filter(
    services: Services, body: CronCount, owner: Owner, *, is_enabled: bool | None = None
) -> CronFilter:
    name = body.assistant_id
    found = await find_assistant(services, name, owner=owner) if name else None
    return CronFilter(
        assistant_id=found.assistant_id if found is not None else None,
        thread_id=body.thread_id,
        is_enabled=is_enabled,
        metadata=body.metadata,
    )
