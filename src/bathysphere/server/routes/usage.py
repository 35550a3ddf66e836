"""Usage route: what the caller's runs used."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from bathysphere.engine.usage.report import OwnGrouping, UsageLine, plain_sum
from bathysphere.server.deps import CurrentOwner, ServicesDep
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.langgraph_api.json_values import JSON
from bathysphere.server.langgraph_api.strict_json import StrictRoute
from bathysphere.server.schemas.usage import UsageView

router = APIRouter(prefix="/usage", tags=["usage"], route_class=StrictRoute)
_DEFAULT = timedelta(days=30)
_LONGEST = timedelta(days=366)

Moment = Annotated[datetime | None, Query(description="A date or time; UTC if it has no zone.")]


@router.get("", response_model=UsageView)
async def read_usage(
    owner: CurrentOwner,
    services: ServicesDep,
    since: Moment = None,
    until: Moment = None,
    by: OwnGrouping = "day",
) -> Response:
    """What the caller's runs used, by day or by model; the last 30 days by default."""
    end = _with_zone(until) if until is not None else services.clock.now()
    start = _with_zone(since) if since is not None else _before(end)
    if not timedelta() < end - start <= _LONGEST:
        raise InvalidRequest(
            "The period must end after it starts, at most 366 days later",
            hint="pass since and until, such as since=2026-01-01&until=2026-02-01",
        )
    report = await services.usage.own(owner, since=start, until=end, by=by)
    return JSON(
        {
            "since": start.isoformat(),
            "until": end.isoformat(),
            "by": by,
            "lines": [_line(line) for line in report.lines],
            "total": plain_sum(report.total),
        }
    )


def _line(line: UsageLine) -> dict[str, Any]:
    return {"key": line.key, **plain_sum(line)}


def _with_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _before(end: datetime) -> datetime:
    try:
        return end - _DEFAULT
    except OverflowError:
        return end
