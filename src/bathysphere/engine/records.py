"""Records of the engine: threads, runs and the work of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, NamedTuple, Self
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.work import open_work

RunStatus = Literal["pending", "running", "success", "error", "interrupted", "timeout", "cancelled"]
ACTIVE: tuple[RunStatus, ...] = ("pending", "running")
ThreadStatus = Literal["idle", "busy", "interrupted", "error"]
ThreadSortBy = Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"]
Strategy = Literal["reject", "enqueue", "interrupt", "rollback"]
CancelAction = Literal["interrupt", "rollback"]
Mode = Literal["values", "updates", "messages", "custom", "tools", "checkpoints", "tasks"]

_OPTIONAL = (
    *("context", "assistant_id", "tags", "stream_modes", "stream_subgraphs"),
    *("interrupt_before", "interrupt_after", "after_seconds", "webhook", "model"),
)
_TUPLES = ("goto", "modes", "tags", "stream_modes", "interrupt_before", "interrupt_after")
MODES: tuple[Mode, ...] = ("values", "updates", "messages", "custom", "tools", "checkpoints")


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The work of a run: an input, or answers to interrupts by their ids.

    With both, the answers are applied first: the calls they belong to finish before the input
    enters.

    There is no `configurable` here: LangGraph stores it in plain text, so the worker builds it
    itself.
    """

    input: Any = None
    resume: Mapping[str, Any] | None = None
    update: Any = None
    goto: tuple[str | Mapping[str, Any], ...] = ()
    """Names of nodes, or `{node, arg}` for a node with an input of its own."""
    checkpoint_id: str | None = None
    recursion_limit: int = 1000
    metadata: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[Mode, ...] = MODES
    context: Mapping[str, Any] | None = None
    """What the client sent in the shape of the graph's `context_schema`; never identity."""
    assistant_id: str | None = None
    """The stored assistant the run was started with; None for that of the graph."""
    tags: tuple[str, ...] = ()
    stream_modes: tuple[str, ...] = ()
    """What a client that joins the thread's stream is sent; empty: values."""
    stream_subgraphs: bool = False
    interrupt_before: tuple[str, ...] = ()
    interrupt_after: tuple[str, ...] = ()
    """Nodes before and after which the run pauses; `*` means all."""
    after_seconds: float = 0.0
    """How long the run waits for its time."""
    webhook: str | None = None
    """URL that is told when the run has ended (`engine.webhooks`)."""
    model: str | None = None
    """The main model, one of `Graphs.choice`; None: that of the operator's settings."""

    @property
    def is_command(self) -> bool:
        """Whether the run continues a step instead of starting with an input."""
        return self.resume is not None or self.update is not None or bool(self.goto)

    @property
    def is_message(self) -> bool:
        """Whether the run only appends an input to the thread."""
        return self.input is not None and not self.is_command and self.checkpoint_id is None

    @property
    def answers_first(self) -> bool:
        """Whether the run applies answers to an interrupted step before its input."""
        return self.resume is not None and self.input is not None

    @property
    def leaves_step(self) -> bool:
        """Whether the run leaves the current step, which closes its open questions."""
        return self.input is not None or self.checkpoint_id is not None

    @property
    def takes_answers(self) -> bool:
        """Whether answers may be added to the run while it is pending."""
        is_step = self.update is not None or bool(self.goto) or self.checkpoint_id is not None
        return not is_step and (self.input is not None or self.resume is not None)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form stored in `engine.runs`."""
        # Not `asdict`, which copies the whole input. Optional fields that are empty are left out:
        # workers of an older version do not know them.
        data = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: v for name, v in data if name not in _OPTIONAL or v}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form stored in `engine.runs`; fields of a newer version are ignored."""
        known = cls.__dataclass_fields__
        values: dict[str, Any] = {
            k: tuple(v) if k in _TUPLES else v for k, v in data.items() if k in known
        }
        return cls(**values)


@dataclass(frozen=True, kw_only=True, slots=True)
class Thread:
    """A conversation; its runs are executed in order."""

    thread_id: UUID
    owner: Owner
    status: ThreadStatus
    metadata: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build a thread from a row of `engine.threads`."""
        return cls(
            thread_id=row["thread_id"],
            owner=Owner(tenant=row["tenant"], user=row["owner"]),
            status=row["status"],
            metadata=row["metadata"],
            created_at=row["created_at"],
            updated_at=row["updated_at"],
        )


class ThreadTtl(NamedTuple):
    """A thread's own time to live."""

    minutes: float
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One request to a graph on a thread, and its outcome."""

    run_id: UUID
    thread_id: UUID
    owner: Owner
    graph: str
    work: Work
    status: RunStatus
    cancel: CancelAction | None
    attempt: int
    strikes: int
    """Attempts since the run last made progress."""
    losses: int
    """Workers lost since the run last made progress."""
    token: int | None
    seq: int
    tag: int
    job_id: int | None
    error: Mapping[str, Any] | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    has_interrupt: bool = False
    """Whether the thread's last step was interrupted when this attempt was opened."""
    has_checkpoints: bool = True
    """Whether the thread may have had checkpoints when this attempt was opened."""

    @property
    def is_over(self) -> bool:
        """Whether the run has ended."""
        return self.status not in ACTIVE

    @classmethod
    def from_row(cls, row: Mapping[str, Any], encryption: Encryption) -> Self:
        """Build a run from a row of `engine.runs`, whose contents are opened."""
        cipher = encryption.tenant(row["tenant"])
        place = {"thread_id": row["thread_id"], "run_id": row["run_id"]}
        values = {name: row[name] for name in _PLAIN_OF_RUN}
        return cls(
            owner=Owner(tenant=row["tenant"], user=row["owner"]),
            work=Work.from_json(open_work(row["work"], cipher, **place)),
            has_interrupt=row.get("has_interrupt", False),
            has_checkpoints=row.get("has_checkpoints", True),
            **values,
        )


_PLAIN_OF_RUN = (
    "run_id",
    "thread_id",
    "graph",
    "status",
    "cancel",
    "attempt",
    "strikes",
    "losses",
    "token",
    "seq",
    "tag",
    "job_id",
    "error",
    "created_at",
    "started_at",
    "finished_at",
)
# Statements name their columns: a prepared `SELECT *` fails once a newer version has added one.
RUN_COLUMNS = ", ".join(("tenant", "owner", "work", *_PLAIN_OF_RUN))
THREAD_COLUMNS = "thread_id, tenant, owner, status, metadata, created_at, updated_at"
