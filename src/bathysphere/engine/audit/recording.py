"""Add rows to the audit log, in the transaction of what they record."""

import secrets
from dataclasses import dataclass, field
from typing import Any, Literal

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.audit.chain import EMPTY, AuditRow, Details, Head, person_id
from bathysphere.engine.database.pool import Connection
from bathysphere.engine.records import Run

AuditAction = Literal[
    "key.created",
    "key.revoked",
    "budget.set",
    "budget.removed",
    "run.cancelled",
    "run.requeued",
    "run.replayed",
    "person.exported",
    "person.deleted",
    "share.created",
    "share.revoked",
    "database.restored",
    "tenant.left",
    "tenant.arrived",
]


@dataclass(frozen=True, slots=True)
class Operator:
    """Whoever runs commands on the machine, with its access to the database."""


OPERATOR = Operator()
Actor = Owner | Operator


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """What was done, by whom, to what. Details hold neither contents nor secrets."""

    action: AuditAction
    by: Actor
    tenant: str
    user: str = ""
    """The user whose it is; empty if it is nobody's in particular."""
    subject: str = ""
    details: Details = field(default_factory=dict)


async def record(connection: Connection, done: Recorded) -> None:
    """Add a row, within the caller's transaction, whose last statement this should be.

    Until the transaction ends nobody else can add one: rows are in the order of their commits.
    """
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    # A statement of its own: its snapshot has the row of whoever held the lock before.
    last: Any = await (await connection.execute(_LAST)).fetchone()
    head = Head(last["seq"], last["hash"]) if last["seq"] is not None else EMPTY
    owner = Owner(tenant=done.tenant, user=done.user)
    row = AuditRow(
        seq=head.seq + 1,
        at=last["now"],
        tenant=done.tenant,
        actor=await _person(connection, done.by) if isinstance(done.by, Owner) else None,
        person=await _person(connection, owner) if owner.user else None,
        action=done.action,
        subject=done.subject,
        details=done.details,
    )
    values = {name: getattr(row, name) for name in AuditRow.__slots__}
    values |= {"details": Jsonb(dict(row.details)), "hash": row.hash_after(head.hash)}
    await connection.execute(_ADD, values)


async def record_run(connection: Connection, action: AuditAction, run: Run, by: Actor) -> None:
    """Add what an operator did to a run."""
    owner, subject = run.owner, str(run.run_id)
    done = Recorded(action=action, by=by, tenant=owner.tenant, user=owner.user, subject=subject)
    await record(connection, done)


async def _person(connection: Connection, owner: Owner) -> str:
    """The person's id, new if they have none yet."""
    salt = secrets.token_bytes(32)
    values = {"id": person_id(owner, salt), "salt": salt}
    values |= {"tenant": owner.tenant, "owner": owner.user}
    await connection.execute(_ADD_PERSON, values)
    found: Any = await (await connection.execute(_PERSON, values)).fetchone()
    return str(found["person_id"])


_LOCK = 0x6261_746A  # the advisory lock id after that of the store's migrations
_LAST = """
SELECT clock_timestamp() AS now, last.seq, last.hash
  FROM (VALUES (1)) AS one
  LEFT JOIN LATERAL (SELECT seq, hash FROM engine.audit ORDER BY seq DESC LIMIT 1) AS last ON true
"""
_ADD = """
INSERT INTO engine.audit (seq, at, tenant, actor, person, action, subject, details, hash)
VALUES (%(seq)s, %(at)s, %(tenant)s, %(actor)s, %(person)s, %(action)s, %(subject)s, %(details)s,
        %(hash)s)
"""
_ADD_PERSON = """
INSERT INTO engine.audit_people (person_id, tenant, owner, salt)
VALUES (%(id)s, %(tenant)s, %(owner)s, %(salt)s) ON CONFLICT (tenant, owner) DO NOTHING
"""
_PERSON = """
SELECT person_id FROM engine.audit_people WHERE tenant = %(tenant)s AND owner = %(owner)s
"""
