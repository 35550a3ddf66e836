"""A new run: the request, and the statements that insert it (`0430_run_statements.sql`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from psycopg import DatabaseError
from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.work import open_answers, seal_work
from bathysphere.engine.errors import TooManyWaiting
from bathysphere.engine.fairness import WaitingLimits
from bathysphere.engine.records import Run, Strategy, Work


@dataclass(frozen=True, kw_only=True, slots=True)
class NewRun:
    """A request for a run; a client can choose the run id, so that it can retry the request."""

    thread_id: UUID
    graph: str
    work: Work
    strategy: Strategy = "enqueue"
    run_id: UUID = field(default_factory=uuid4)
    creates_thread: bool = True
    deletes_thread: bool = False
    """Whether the thread is only for this run, and is deleted after it."""
    thread_metadata: Mapping[str, Any] = field(default_factory=dict)
    """Merged into the thread's metadata."""


class Storing(NamedTuple):
    """How runs are stored: the limits of those that wait, and the encryption of their contents."""

    waiting: WaitingLimits
    encryption: Encryption


def sealed_work(work: Work, run: Run | NewRun, encryption: Encryption, tenant: str) -> Any:
    """The JSON form of a run's work that is stored."""
    cipher = encryption.tenant(tenant)
    return seal_work(work.to_json(), cipher, thread_id=run.thread_id, run_id=run.run_id)


async def insert(
    connection: Connection,
    new: NewRun,
    owner: Owner,
    storing: Storing,
    *,
    inherits: list[UUID],
) -> Run:
    """Insert a run and its job, unless a limit of pending runs is reached.

    Raises:
        TooManyWaiting: A limit is reached.
    """
    values = _values(new, owner, storing, inherits)
    row = await (await connection.execute(_INSERT, values)).fetchone()
    if row is None:
        room: Any = await (await connection.execute(_ROOM, values)).fetchone()
        raise TooManyWaiting.of(new.thread_id, room, storing.waiting)
    return _run(new, owner, row, storing)


async def enqueue(
    connection: Connection, new: NewRun, owner: Owner, storing: Storing
) -> Run | None:
    """Insert a run behind the thread's others and mark the thread busy, in one round trip.

    Returns None if that is not possible: the caller's transaction then finds out why.
    """
    values = {
        **_values(new, owner, storing, []),
        "creates_thread": new.creates_thread,
        "metadata": Jsonb(dict(new.thread_metadata)),
    }
    try:
        row = await (await connection.execute(_ENQUEUE, values)).fetchone()
    except DatabaseError as error:
        if error.sqlstate != _NO_ROOM:
            raise
        return None
    return _run(new, owner, row, storing) if row is not None else None


def _values(new: NewRun, owner: Owner, storing: Storing, inherits: list[UUID]) -> dict[str, Any]:
    work, waiting = new.work, storing.waiting
    return {
        "run": new.run_id,
        "thread": new.thread_id,
        "tenant": owner.tenant,
        "owner": owner.user,
        "graph": new.graph,
        "work": Jsonb(sealed_work(work, new, storing.encryption, owner.tenant)),
        "takes_kept": work.is_message and not work.after_seconds,
        "delay": work.after_seconds,
        "inherits": inherits,
        "deletes_thread": new.deletes_thread,
        "per_thread": waiting.per_thread,
        "per_user": waiting.per_user,
        "per_tenant": waiting.per_tenant,
    }


def _run(new: NewRun, owner: Owner, row: Mapping[str, Any], storing: Storing) -> Run:
    """The inserted run, which has the answers that were waiting for it."""
    cipher = storing.encryption.tenant(owner.tenant)
    answers = row["answers"]
    if answers is not None:
        answers = open_answers(answers, cipher, thread_id=new.thread_id)
    return Run(
        run_id=new.run_id,
        thread_id=new.thread_id,
        owner=owner,
        graph=new.graph,
        work=replace(new.work, resume=answers) if answers is not None else new.work,
        status="pending",
        cancel=None,
        attempt=0,
        strikes=0,
        losses=0,
        token=None,
        seq=row["seq"],
        tag=row["tag"],
        job_id=row["job_id"],
        error=None,
        created_at=row["created_at"],
        started_at=None,
        finished_at=None,
    )


_NO_ROOM = "BS001"
_ROW = "answers, seq, tag, job_id, created_at"
_LIMITS = "%(per_thread)s::bigint, %(per_user)s::bigint, %(per_tenant)s::bigint"
_ARGUMENTS = f"""
    %(run)s, %(thread)s, %(tenant)s, %(owner)s, %(graph)s, %(work)s, %(takes_kept)s,
    %(delay)s::float8, %(inherits)s::uuid[], %(deletes_thread)s, {_LIMITS}"""
_INSERT = f"SELECT {_ROW} FROM engine.insert_run({_ARGUMENTS})".encode()  # noqa: S608  # our names
_ENQUEUE = f"""
SELECT {_ROW} FROM engine.enqueue_run({_ARGUMENTS}, %(creates_thread)s, %(metadata)s)
""".encode()  # noqa: S608  # our own names
_ROOM = f"""
SELECT on_thread, of_user, of_tenant
  FROM engine.room(%(thread)s, %(tenant)s, %(owner)s, {_LIMITS})
""".encode()  # noqa: S608  # our own names
