"""Read the audit log, and verify its chain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.audit.chain import EMPTY, AuditRow, Head, person_id
from bathysphere.engine.database.pool import Connection, Pool


class BrokenChain(CallerError):
    """The audit log is not what was written to it."""

    code = "broken_audit_chain"


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """A row with the names of its people."""

    row: AuditRow
    actor: str
    """`tenant/user`, or who else it was."""
    user: str
    """Empty if it is nobody's in particular."""


class AuditLog:
    """The audit log of all tenants, for operators."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list(
        self,
        *,
        tenant: str | None = None,
        action: str | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[AuditEntry]:
        """Return rows, newest first; `before` continues a list."""
        values = {"tenant": tenant, "action": action, "before": before, "limit": limit}
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_LIST, values)).fetchall()
        return [_entry(row) for row in rows]

    async def head(self) -> Head:
        """Return the last row's number and hash, which can be published."""
        async with self._pool.connection() as connection:
            row: Any = await (await connection.execute(_HEAD)).fetchone()
        return Head(row["seq"], row["hash"]) if row is not None else EMPTY

    async def verify(self, published: Head | None = None) -> Head:
        """Compute the whole chain again; return its head.

        Raises:
            BrokenChain: A row or a name is not what was written, or the published head is not in
                the chain. The message names the first such row.
        """
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            head = await _verify_rows(connection, published)
            await _verify_names(connection)
        return head


async def _verify_rows(connection: Connection, published: Head | None) -> Head:
    head, is_found = EMPTY, published in {None, EMPTY}
    async with connection.cursor() as cursor:
        async for row in cursor.stream(_ALL):
            if row["seq"] != head.seq + 1:
                raise BrokenChain(f"Row {head.seq + 1} is missing", hint=_HINT)
            if row["hash"] != AuditRow.from_row(row).hash_after(head.hash):
                raise BrokenChain(
                    f"Row {row['seq']} was changed, or a row before it was replaced", hint=_HINT
                )
            head = Head(row["seq"], row["hash"])
            is_found = is_found or head == published
    if not is_found and published is not None:
        what = (
            f"Rows after {head.seq} are missing, up to {published.seq} at least"
            if published.seq > head.seq
            else f"Row {published.seq} is not the one that was published"
        )
        raise BrokenChain(what, hint=_HINT)
    return head


async def _verify_names(connection: Connection) -> None:
    async with connection.cursor() as cursor:
        async for row in cursor.stream(_NAMES):
            owner = Owner(tenant=row["tenant"], user=row["owner"])
            if person_id(owner, bytes(row["salt"])) != row["person_id"]:
                raise BrokenChain(
                    f"The name of person {row['person_id'][:12]} was changed", hint=_HINT
                )
    nameless = await (await connection.execute(_NAMELESS)).fetchone()
    if nameless is not None:
        raise BrokenChain(
            f"Row {nameless['seq']}: the name of a person is missing, who was not deleted",
            hint=_HINT,
        )


def _entry(row: Mapping[str, Any]) -> AuditEntry:
    found = AuditRow.from_row(row)
    actor = "operator"
    if found.actor is not None:
        name = _name(found.actor, row["actor_name"])
        actor = name if row["actor_tenant"] is None else f"{row['actor_tenant']}/{name}"
    user = "" if found.person is None else _name(found.person, row["person_name"])
    return AuditEntry(row=found, actor=actor, user=user)


def _name(identifier: str, name: str | None) -> str:
    return name if name is not None else f"deleted-{identifier[:12]}"


_HINT = "keep a copy of the database as it is, and compare it with a backup"
_COLUMNS = "t.seq, t.at, t.tenant, t.actor, t.person, t.action, t.subject, t.details"
_LIST = f"""
SELECT {_COLUMNS}, actor.tenant AS actor_tenant, actor.owner AS actor_name,
       person.owner AS person_name
  FROM engine.audit t
  LEFT JOIN engine.audit_people actor ON actor.person_id = t.actor
  LEFT JOIN engine.audit_people person ON person.person_id = t.person
 WHERE (%(tenant)s::text IS NULL OR t.tenant = %(tenant)s)
   AND (%(action)s::text IS NULL OR t.action = %(action)s)
   AND (%(before)s::bigint IS NULL OR t.seq < %(before)s)
 ORDER BY t.seq DESC LIMIT %(limit)s
""".encode()  # noqa: S608  # our own constants
_HEAD = "SELECT seq, hash FROM engine.audit ORDER BY seq DESC LIMIT 1"
_ALL = f"SELECT {_COLUMNS}, t.hash FROM engine.audit t ORDER BY t.seq".encode()  # noqa: S608
_NAMELESS = """
SELECT t.seq FROM engine.audit t, unnest(ARRAY[t.actor, t.person]) AS named (id)
 WHERE named.id IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM engine.audit_people p WHERE p.person_id = named.id)
   AND NOT EXISTS (SELECT 1 FROM engine.audit d
                    WHERE d.action = 'person.deleted' AND d.person = named.id)
 ORDER BY t.seq LIMIT 1
"""
_NAMES = "SELECT person_id, tenant, owner, salt FROM engine.audit_people ORDER BY person_id"
