"""Records of schedules: what an owner asks for, and what is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.records import Strategy, Work


@dataclass(frozen=True, kw_only=True, slots=True)
class Grant:
    """What a schedule's right to run depends on, after the request that made it is over.

    An API key ends its schedules when it is revoked or expires. Other credentials cannot be checked
    later, so their schedules must be renewed after some time. A server without authentication has
    nothing to check.
    """

    key_id: str | None = None
    is_unlimited: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class CronOptions:
    """A schedule as its owner asks for it."""

    graph: str
    assistant_id: UUID
    schedule: str
    work: Work
    payload: Mapping[str, Any]
    timezone: str | None = None
    end_time: datetime | None = None
    is_enabled: bool = True
    strategy: Strategy = "enqueue"
    keeps_thread: bool = False
    """Whether the thread of a run is kept, if each run has its own."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cron:
    """A stored schedule."""

    cron_id: UUID
    owner: Owner
    thread_id: UUID | None
    """The thread of all its runs; None if each run has a thread of its own."""
    options: CronOptions
    next_run_at: datetime | None
    disabled_reason: str | None
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build a schedule from a row of `engine.crons`."""
        return cls(
            owner=Owner(tenant=row["tenant"], user=row["owner"]),
            options=CronOptions(
                work=Work.from_json(row["work"]),
                is_enabled=row["enabled"],
                keeps_thread=row["keeps_thread"],
                metadata=row["metadata"],
                **{name: row[name] for name in _OPTIONS},
            ),
            **{name: row[name] for name in _PLAIN},
        )


_PLAIN = ("cron_id", "thread_id", "next_run_at", "disabled_reason", "created_at", "updated_at")
_OPTIONS = ("graph", "assistant_id", "schedule", "payload", "timezone", "end_time", "strategy")
CRON_COLUMNS = ", ".join(
    ("tenant", "owner", "work", "enabled", "keeps_thread", "metadata", *_OPTIONS, *_PLAIN)
)
