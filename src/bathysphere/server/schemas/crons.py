"""Schemas of schedules, in LangGraph's format."""

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bathysphere.engine.crons.service import CronSort
from bathysphere.server.schemas.protocol import Open, RunConfig, Strategy
from bathysphere.server.schemas.runs import StreamMode
from bathysphere.server.schemas.threads import Limit, Metadata, Offset


def _utc(moment: datetime) -> datetime:
    """A time without a zone is UTC, as schedules are."""
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


Moment = Annotated[datetime, AfterValidator(_utc)]
Webhook = Annotated[str, Field(min_length=1, max_length=2048)]


class CronFields(Open):
    """What can be set at creation and changed later."""

    timezone: str | None = Field(default=None, description="IANA time zone; default: UTC.")
    end_time: Moment | None = Field(default=None, description="After it there are no runs.")
    input: Any = None
    metadata: Metadata | None = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    webhook: Webhook | None = None
    interrupt_before: list[str] | Literal["*"] | None = None
    interrupt_after: list[str] | Literal["*"] | None = None
    on_run_completed: Literal["delete", "keep"] | None = None
    enabled: bool | None = None
    stream_mode: StreamMode | list[StreamMode] | None = None
    stream_subgraphs: bool | None = None
    stream_resumable: bool | None = None
    durability: Literal["sync", "async", "exit"] | None = None


class CronCreate(CronFields):
    """A schedule whose runs each have a thread of their own."""

    assistant_id: str
    schedule: str = Field(description="A cron expression, such as `0 9 * * mon-fri`.")


class ThreadCronCreate(CronCreate):
    """A schedule whose runs share a thread."""

    multitask_strategy: Strategy | None = None


class CronPatch(CronFields):
    """What to change; fields that are not sent stay. `end_time: null` removes the end."""

    schedule: str | None = None


class CronCount(Open):
    """Filter of schedules to count."""

    assistant_id: str | None = None
    thread_id: UUID | None = None
    metadata: Metadata | None = None


class CronSearch(CronCount):
    """Filter, order and page of schedules."""

    enabled: bool | None = None
    limit: Limit = 10
    offset: Offset = 0
    sort_by: CronSort = "created_at"
    sort_order: Literal["asc", "desc"] = "desc"
    select: list[str] | None = None


class CronView(BaseModel):
    """A schedule."""

    model_config = ConfigDict(extra="allow")

    cron_id: str
    assistant_id: str
    thread_id: str | None
    on_run_completed: Literal["delete", "keep"] | None
    end_time: str | None
    schedule: str
    timezone: str | None
    created_at: str
    updated_at: str
    user_id: str | None
    payload: dict[str, Any]
    next_run_date: str | None
    metadata: Metadata
    enabled: bool
    disabled_reason: str | None = Field(
        default=None, description="Why the server disabled it; null if its owner did."
    )
