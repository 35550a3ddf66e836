"""A new run: the request, and the statements that insert it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.errors import TooManyWaiting
from bathysphere.engine.fairness import ROOM, WaitingLimits
from bathysphere.engine.records import RUN_COLUMNS, Run, Strategy, Work
from bathysphere.engine.runs.queue import defer_sql


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
    thread_metadata: Mapping[str, str] = field(default_factory=dict)
    """Merged into the thread's metadata."""


async def insert(
    connection: Connection,
    new: NewRun,
    owner: Owner,
    *,
    inherits: list[UUID],
    waiting: WaitingLimits,
) -> Run:
    """Insert a run and its job, unless a limit of pending runs is reached.

    Raises:
        TooManyWaiting: A limit is reached.
    """
    work = new.work
    values = {
        "run": new.run_id,
        "thread": new.thread_id,
        "tenant": owner.tenant,
        "owner": owner.user,
        "graph": new.graph,
        "work": Jsonb(work.to_json()),
        "takes_kept": work.is_message and not work.after_seconds,
        "delay": work.after_seconds,
        "inherits": inherits,
        "deletes_thread": new.deletes_thread,
        **asdict(waiting),
    }
    row = await (await connection.execute(_INSERT, values)).fetchone()
    if row is None:
        room: Any = await (await connection.execute(ROOM.encode(), values)).fetchone()
        raise TooManyWaiting.of(new.thread_id, room, waiting)
    return Run.from_row(row)


# Inserts the run, its job and the answers it carries in one statement.
#
# A new message carries the answers that are still waiting for others, and those of the runs that it
# replaces (`inherits`), so that none of them is lost.
#
# Tags increase within a tenant, so the runs of a thread keep their order; which run is next is
# decided when a worker claims one (`engine.claim_job`).
_INSERT = f"""
WITH kept AS (
    UPDATE engine.answers SET run_id = %(run)s
     WHERE %(takes_kept)s AND thread_id = %(thread)s
       AND (run_id IS NULL OR run_id = ANY(%(inherits)s::uuid[]))
    RETURNING interrupt_id, answer
), taken AS (
    SELECT jsonb_object_agg(interrupt_id, answer) AS answers FROM kept
), fair AS MATERIALIZED (
    SELECT GREATEST(
           COALESCE(
               (SELECT max(tag) FROM engine.runs WHERE status = 'running'),
               (SELECT min(tag) FROM engine.runs WHERE status = 'pending'),
               0),
           COALESCE(
               (SELECT max(tag) + 1 FROM engine.runs
                 WHERE tenant = %(tenant)s AND status IN ('pending', 'running')),
               0)) AS tag
), room AS MATERIALIZED ({ROOM}
), job AS MATERIALIZED (
    SELECT {defer_sql("fair.tag", delay="%(delay)s::float8")} AS id FROM fair, room
     WHERE room.on_thread AND room.of_user AND room.of_tenant
)
INSERT INTO engine.runs
       (run_id, thread_id, tenant, owner, graph, work, tag, job_id, deletes_thread)
SELECT %(run)s, %(thread)s, %(tenant)s, %(owner)s, %(graph)s,
       CASE WHEN taken.answers IS NULL THEN %(work)s::jsonb
            ELSE jsonb_set(%(work)s::jsonb, '{{resume}}', taken.answers) END,
       fair.tag, job.id, %(deletes_thread)s
  FROM fair, job, taken
RETURNING {RUN_COLUMNS}
""".encode()  # noqa: S608  # our own constants
