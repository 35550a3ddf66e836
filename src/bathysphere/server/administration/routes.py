"""Operations of all tenants, for administrators only.

`create_app` includes this router where somebody can be an administrator; elsewhere its paths do not
exist. Nothing here shows what was said: no input, result, title or message of an error.
"""

from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.records import RunStatus
from bathysphere.engine.usage.budgets import Budget
from bathysphere.engine.usage.report import Grouping, plain_sum
from bathysphere.server.administration.service import Administration
from bathysphere.server.administration.views import (
    Name,
    NewApiKey,
    NewBudget,
    Unit,
    audit_view,
    budget_view,
    key_view,
    run_view,
)
from bathysphere.server.deps import CurrentAdmin, ServicesDep, require_admin
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute

router = APIRouter(
    prefix="/admin",
    tags=["admin"],
    route_class=StrictRoute,
    dependencies=[Depends(require_admin)],  # of every route, also of one that forgets it
)
RunAction = Literal["cancel", "requeue", "replay"]
Limit = Annotated[int, Query(ge=1, le=500)]
Tenant = Annotated[str | None, Query(max_length=200)]


class BudgetNotFound(CallerError):
    """No such budget was set."""

    code = "budget_not_found"


async def _administration(request: Request) -> Administration:
    found: Administration = request.app.state.administration
    return found


Admin = Annotated[Administration, Depends(_administration)]


@router.get("/health", response_model=dict[str, Any])
async def health(services: ServicesDep, administration: Admin) -> Response:
    """Checks of this process, and what is waiting, working and given up."""
    return JSON(
        {
            "checks": await administration.health.check(),
            "runs": await services.operations.counts(),
            "has_keys": administration.api_keys is not None,
        }
    )


@router.get("/runs", response_model=list[dict[str, Any]])
async def list_runs(
    services: ServicesDep,
    status: RunStatus | None = None,
    tenant: Tenant = None,
    is_dead: bool = False,
    limit: Limit = 50,
) -> Response:
    """Runs of all tenants, newest first; `is_dead` keeps those that were given up."""
    found = await services.operations.list(
        status=status, tenant=tenant, is_dead=is_dead, limit=limit
    )
    return JSON([run_view(run) for run in found])


@router.post("/runs/{run_id}/{action}", response_model=dict[str, Any])
async def act_on_run(
    admin: CurrentAdmin, services: ServicesDep, run_id: UUID, action: RunAction
) -> Response:
    """Cancel a run, take it from its worker, or let a failed one go on after its last step."""
    operations = services.operations
    if action == "requeue":
        await operations.requeue(run_id, by=admin)
    elif action == "replay":
        await operations.replay(run_id, by=admin)
    else:
        run = await operations.get(run_id)
        await services.runs.cancel(run_id, owner=run.owner, by=admin)
    return JSON(run_view(await operations.get(run_id)))


@router.get("/usage", response_model=dict[str, Any])
async def read_usage(
    services: ServicesDep,
    by: Grouping = "tenant",
    tenant: Tenant = None,
    days: Annotated[int, Query(ge=1, le=366)] = 30,
) -> Response:
    """What the runs of all tenants used in the last days."""
    until = services.clock.now()
    since = until - timedelta(days=days)
    report = await services.usage.all(since=since, until=until, by=by, tenant=tenant)
    lines = [{"key": line.key, **plain_sum(line)} for line in report.lines]
    return JSON({"lines": lines, "total": plain_sum(report.total)})


@router.get("/budgets", response_model=list[dict[str, Any]])
async def list_budgets(services: ServicesDep) -> Response:
    """The budgets that were set."""
    return JSON([budget_view(budget) for budget in await services.budgets.list()])


@router.put("/budgets", response_model=dict[str, Any])
async def set_budget(admin: CurrentAdmin, services: ServicesDep, body: NewBudget) -> Response:
    """Set a budget per month, or change it."""
    budget = Budget(body.tenant, body.user, body.unit, body.amount)
    await services.budgets.set(budget, by=admin)
    return JSON(budget_view(budget))


@router.delete("/budgets", status_code=204)
async def remove_budget(
    admin: CurrentAdmin,
    services: ServicesDep,
    tenant: Annotated[Name, Query()],
    user: Annotated[str, Query(max_length=200)] = "",
    unit: Annotated[Unit, Query()] = "tokens",
) -> Response:
    """Remove a budget."""
    if not await services.budgets.remove(tenant, user, unit, by=admin):
        raise BudgetNotFound("No such budget", hint="see GET /admin/budgets")
    return Response(status_code=204)


@router.get("/keys", response_model=list[dict[str, Any]])
async def list_keys(services: ServicesDep, administration: Admin) -> Response:
    """All API keys, without their secrets."""
    now = services.clock.now()
    return JSON([key_view(key, now) for key in await administration.keys.all()])


@router.post("/keys", response_model=dict[str, Any])
async def create_key(
    admin: CurrentAdmin, services: ServicesDep, administration: Admin, body: NewApiKey
) -> Response:
    """Create an API key; its secret is in this answer only."""
    now = services.clock.now()
    created = await administration.keys.create(
        Owner(tenant=body.tenant, user=body.user),
        label=body.label,
        expires_at=now + timedelta(days=body.days),
        by=admin,
    )
    answer = JSON({**key_view(created.key, now), "secret": created.secret})
    answer.headers["cache-control"] = "no-store"
    return answer


@router.delete("/keys/{key_id}", status_code=204)
async def revoke_key(admin: CurrentAdmin, administration: Admin, key_id: str) -> Response:
    """Revoke an API key immediately."""
    await administration.keys.revoke(key_id, by=admin)
    return Response(status_code=204)


@router.get("/audit", response_model=dict[str, Any])
async def list_audit(
    services: ServicesDep,
    tenant: Tenant = None,
    before: Annotated[int | None, Query(ge=1, le=2**62)] = None,
    limit: Limit = 50,
) -> Response:
    """The audit log, newest first, and its head."""
    entries = await services.audit.list(tenant=tenant, before=before, limit=limit)
    head = await services.audit.head()
    return JSON({"head": str(head), "rows": [audit_view(entry) for entry in entries]})
