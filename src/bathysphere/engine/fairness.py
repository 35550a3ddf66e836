"""Fair scheduling: the order of claims, shares of a worker's slots, limits on pending runs.

Tenants take turns, and so do the users of a tenant: whoever was served longest ago is next. A
tenant or user that holds its share of a worker's slots leaves the last free ones to others, if
there are any; a user who is alone on a server gets all of it. The SQL is in `0006_claims.sql`.
"""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Shares:
    """How many of a worker's slots a tenant and a user may hold while others need them."""

    slots: int
    tenant: int
    user: int
    reserve: int

    @classmethod
    def of(cls, slots: int, *, reserve: float) -> Self:
        """Compute a worker's shares: a third for a tenant, a quarter for a user.

        Args:
            slots: Concurrent runs of the worker.
            reserve: Fraction of the slots reserved for tenants below their share, and again for
                users below theirs; 0 reserves none.
        """
        reserved = max(1, int(slots * reserve)) if reserve > 0 and slots > 1 else 0
        tenant, user = max(1, slots // 3), max(1, slots // 4)
        return cls(slots=slots, tenant=tenant, user=user, reserve=reserved)


ANY_SHARE = Shares(slots=1, tenant=1, user=1, reserve=0)
"""No shares: every slot goes to whoever is next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingLimits:
    """How many runs may be pending; None means unlimited."""

    per_thread: int | None = 100
    per_user: int | None = 200
    per_tenant: int | None = 1000


UNLIMITED = WaitingLimits(per_thread=None, per_user=None, per_tenant=None)

CLAIM = """
SELECT held_back, (job).id, (job).status::text AS status, (job).priority, (job).lock,
       (job).queueing_lock, (job).args, (job).scheduled_at, (job).queue_name, (job).task_name,
       (job).attempts, (job).abort_requested, (job).worker_id,
       EXISTS (SELECT 1 FROM procrastinate_jobs other
                WHERE other.status = 'todo' AND other.queue_name = ANY (%(queues)s::text[])
                  AND other.id IS DISTINCT FROM (job).id) AS has_more,
       (SELECT count(*) FROM procrastinate_workers
         WHERE last_heartbeat > now() - interval '5 seconds') AS workers,
       (SELECT extract(epoch FROM min(due.scheduled_at) - now())::float8
          FROM procrastinate_jobs due
         WHERE due.status = 'todo' AND due.scheduled_at > now()) AS due_in
  FROM engine.claim_job(%(worker)s, %(queues)s::text[], %(slots)s, %(tenant)s, %(user)s,
                        %(reserve)s)
"""
