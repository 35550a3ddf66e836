"""Schemas of threads and states, in LangGraph's format."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from bathysphere.server.schemas.protocol import Open

Limit = Annotated[int, Field(ge=1, le=1000)]
Offset = Annotated[int, Field(ge=0, le=2**31 - 1)]
Status = Literal["idle", "busy", "interrupted", "error"]
SortBy = Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"]
Metadata = dict[str, Any]
MAX_TTL_MINUTES = 100 * 366 * 24 * 60
"""A hundred years."""
ExtractPath = Annotated[
    str,
    Field(
        max_length=500,
        pattern=r"^(values|metadata|config|interrupts)(\.[^.\[\]]+|\[-?\d{1,9}\])*$",
        description="Path of a value: begins with `values`, `metadata`, `config` or `interrupts`.",
    ),
]


class SuperstepCommand(Open):
    """A command of a superstep's update."""

    update: Any = None
    goto: Any = None
    resume: Any = None


class SuperstepUpdate(Open):
    """What one node wrote in a superstep."""

    values: Any = None
    command: SuperstepCommand | None = None
    as_node: str


class Superstep(Open):
    """What the nodes of one superstep wrote."""

    updates: Annotated[list[SuperstepUpdate], Field(min_length=1, max_length=100)]


class Ttl(Open):
    """When a thread is deleted."""

    ttl: Annotated[
        float,
        Field(gt=0, le=MAX_TTL_MINUTES, allow_inf_nan=False, description="Minutes from now."),
    ]
    strategy: Literal["delete", "keep_latest"] = "delete"


class ThreadCreate(Open):
    """A new thread."""

    thread_id: UUID | None = None
    metadata: Metadata | None = None
    if_exists: Literal["raise", "do_nothing"] | None = None
    supersteps: Annotated[list[Superstep], Field(max_length=1000)] | None = None
    ttl: Ttl | None = None


class ThreadUpdate(Open):
    """Metadata to merge into a thread's, and its new time to live."""

    metadata: Metadata | None = None
    ttl: Ttl | None = None


class ThreadCount(Open):
    """Filter of threads to count."""

    metadata: Metadata | None = None
    status: Status | None = None
    values: dict[str, Any] | None = None


class ThreadSearch(ThreadCount):
    """Filter, order and page of threads; by default the last used come first."""

    ids: Annotated[list[UUID], Field(max_length=1000)] | None = None
    title_contains: Annotated[
        str,
        Field(max_length=200, description="Text that `metadata.title` contains, ignoring case."),
    ] = ""
    limit: Limit = 10
    offset: Offset = 0
    sort_by: SortBy | None = None
    sort_order: Literal["asc", "desc"] | None = None
    select: list[str] | None = None
    extract: Annotated[dict[str, ExtractPath], Field(max_length=10)] | None = None


class ThreadPrune(Open):
    """Threads to delete."""

    thread_ids: Annotated[list[UUID], Field(max_length=1000)]
    strategy: Literal["delete"] = "delete"


class ThreadView(BaseModel):
    """A thread."""

    model_config = ConfigDict(extra="allow")

    thread_id: str
    created_at: str
    updated_at: str
    metadata: Metadata
    status: Status
    values: dict[str, Any] | None = None
    interrupts: dict[str, Any] = Field(default_factory=dict)


class Checkpoint(Open):
    """A checkpoint of a thread."""

    checkpoint_id: str | None = None
    checkpoint_ns: str = ""


class StateUpdate(Open):
    """An update of the state."""

    values: Any = None
    as_node: str | None = None
    checkpoint: Checkpoint | None = None
    checkpoint_id: str | None = None


class StateAt(Open):
    """The checkpoint whose state to read."""

    checkpoint: Checkpoint
    subgraphs: bool | None = None


class History(Open):
    """Filter and page of the history, newest first."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 10
    before: str | dict[str, Any] | None = None
    metadata: Metadata | None = None
    checkpoint: Checkpoint | None = None

    def cursor(self) -> str | None:
        """The checkpoint before which the page starts."""
        if isinstance(self.before, dict):
            place = self.before.get("configurable", self.before)
            found = place.get("checkpoint_id") if isinstance(place, dict) else None
            return found if isinstance(found, str) else None
        return self.before


class StateView(BaseModel):
    """A thread's state."""

    model_config = ConfigDict(extra="allow")

    values: Any
    next: list[str]
    tasks: list[dict[str, Any]]
    checkpoint: dict[str, Any] | None
    metadata: dict[str, Any]
    created_at: str | None
    parent_checkpoint: dict[str, Any] | None
    interrupts: list[dict[str, Any]]
