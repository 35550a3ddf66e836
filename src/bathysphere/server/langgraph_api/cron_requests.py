"""Convert requests for schedules to the engine's options, and schedules to LangGraph's format."""

from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.crons.records import Cron, CronOptions
from bathysphere.server.errors import InvalidRequest
from bathysphere.server.langgraph_api.assistants import find_assistant
from bathysphere.server.langgraph_api.create_run import work_of
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.crons import CronCreate, CronPatch, ThreadCronCreate
from bathysphere.server.schemas.runs import RunCreate

_RUN_FIELDS = frozenset(
    {
        "assistant_id",
        "input",
        "config",
        "context",
        "metadata",
        "webhook",
        "interrupt_before",
        "interrupt_after",
        "multitask_strategy",
        "stream_mode",
        "stream_subgraphs",
        "stream_resumable",
        "durability",
    }
)
"""The fields of a request that describe its runs; clients see them as `payload`."""


async def options_of(services: Services, body: CronCreate, *, owner: Owner) -> CronOptions:
    """The options of a new schedule, checked like a run.

    Raises:
        GraphNotFound: There is no such assistant.
        NotSupported: It has a webhook, and webhooks are disabled on this server.
        InvalidRequest: The runs would start from a checkpoint.
    """
    payload = body.model_dump(mode="json", include=set(_RUN_FIELDS), exclude_none=True)
    run = RunCreate.model_validate(payload)
    assistant = await find_assistant(services, run.assistant_id, owner=owner)
    work = work_of(services, run, assistant)
    if work.checkpoint_id is not None:
        raise InvalidRequest(
            "config: A schedule cannot start from a checkpoint",
            hint="leave out configurable.checkpoint_id",
        )
    strategy = body.multitask_strategy if isinstance(body, ThreadCronCreate) else None
    return CronOptions(
        graph=assistant.definition.graph,
        assistant_id=assistant.assistant_id,
        schedule=body.schedule,
        timezone=body.timezone,
        end_time=body.end_time,
        is_enabled=body.enabled is not False,
        work=work,
        payload=payload,
        strategy=strategy or "enqueue",
        keeps_thread=body.on_run_completed == "keep",
        metadata=body.metadata or {},
    )


async def changed_options(services: Services, cron: Cron, patch: CronPatch) -> CronOptions:
    """The options of a schedule after a change; metadata is merged, other fields are replaced."""
    options = cron.options
    sent = patch.model_dump(exclude_unset=True)
    changes = {
        name: value for name, value in sent.items() if value is not None or name == "end_time"
    }
    body: dict[str, Any] = {
        **options.payload,
        "schedule": options.schedule,
        "timezone": options.timezone,
        "end_time": options.end_time,
        "enabled": options.is_enabled,
        "on_run_completed": "keep" if options.keeps_thread else "delete",
        **changes,
        "metadata": {**options.metadata, **(patch.metadata or {})},
    }
    return await options_of(services, ThreadCronCreate.model_validate(body), owner=cron.owner)


def cron_json(cron: Cron) -> dict[str, Any]:
    """Serialize a schedule."""
    options = cron.options
    on_run_completed = "keep" if options.keeps_thread else "delete"
    return {
        "cron_id": str(cron.cron_id),
        "assistant_id": str(options.assistant_id),
        "thread_id": _text(cron.thread_id),
        "on_run_completed": on_run_completed if cron.thread_id is None else None,
        "end_time": options.end_time.isoformat() if options.end_time else None,
        "schedule": options.schedule,
        "timezone": options.timezone,
        "created_at": cron.created_at.isoformat(),
        "updated_at": cron.updated_at.isoformat(),
        "user_id": cron.owner.user,
        "payload": {"config": {}, **options.payload, "schedule": options.schedule},
        "next_run_date": cron.next_run_at.isoformat() if cron.next_run_at else None,
        "metadata": dict(options.metadata),
        "enabled": options.is_enabled,
        "disabled_reason": cron.disabled_reason,
    }


def _text(value: UUID | None) -> str | None:
    return str(value) if value is not None else None
