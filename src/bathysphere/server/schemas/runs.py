"""Schemas of runs, in LangGraph's format."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from bathysphere.server.schemas.protocol import Open, RunConfig, Strategy
from bathysphere.server.schemas.threads import Checkpoint

StreamMode = Literal[
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "custom",
    "events",
    "tasks",
    "checkpoints",
    "debug",
]
RunStatus = Literal["pending", "running", "error", "success", "timeout", "interrupted"]


Nodes = Annotated[list[str], Field(max_length=1000)]
_YEAR = 366 * 24 * 3600


class RunCommand(Open):
    """A command that continues a thread without input."""

    resume: Any = None
    update: Any = None
    goto: Any = None


class RunCreate(Open):
    """A run to create. `context` is what the graph declares; most of `config` is ignored."""

    assistant_id: str
    input: Any = None
    command: RunCommand | None = None
    config: RunConfig | None = None
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    checkpoint: Checkpoint | None = None
    checkpoint_id: str | None = None
    multitask_strategy: Strategy | None = None
    if_not_exists: Literal["create", "reject"] | None = None
    stream_mode: StreamMode | list[StreamMode] | None = None
    stream_subgraphs: bool | None = None
    on_disconnect: Literal["cancel", "continue"] | None = None
    on_completion: Literal["delete", "keep"] | None = None
    interrupt_before: Nodes | Literal["*"] | None = None
    interrupt_after: Nodes | Literal["*"] | None = None
    webhook: str | None = None
    after_seconds: Annotated[float, Field(ge=0, le=_YEAR, allow_inf_nan=False)] | None = None
    durability: Annotated[
        Literal["sync", "async", "exit"] | None,
        Field(description="Every step is saved before the next, whatever is asked for."),
    ] = None
    checkpoint_during: Annotated[bool | None, Field(description="See `durability`.")] = None

    def modes(self) -> frozenset[str]:
        """The stream modes; default: `values`."""
        mode = self.stream_mode
        if mode is None:
            return frozenset({"values"})
        return frozenset(mode) if isinstance(mode, list) else frozenset({mode})

    def stored_modes(self) -> list[str]:
        """The stream modes to keep with the run; none for the default."""
        modes = sorted(self.modes())
        return modes if modes != ["values"] else []


class CancelMany(Open):
    """Runs to cancel."""

    thread_id: UUID | None = None
    run_ids: Annotated[list[UUID], Field(max_length=1000)] | None = None
    status: Literal["pending", "running", "all"] | None = None


class RunView(BaseModel):
    """A run."""

    model_config = ConfigDict(extra="allow")

    run_id: str
    thread_id: str
    assistant_id: str
    created_at: str
    updated_at: str
    status: RunStatus
    metadata: dict[str, Any]
    kwargs: dict[str, Any]
    multitask_strategy: str | None = None
