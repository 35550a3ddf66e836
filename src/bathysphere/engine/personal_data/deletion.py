"""Count and delete the rows of one person. Money and the tenant's records stay, without a name."""

import secrets
from typing import Any

from bathysphere.core.identity import Owner
from bathysphere.engine.audit.recording import OPERATOR, Actor, Recorded, record
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.personal_data.tables import PERSONAL_TABLES, parameters
from bathysphere.engine.thread_deletion import OwnedThread

Counts = dict[str, int]


class PersonalData:
    """The rows of any person, for operators and for the person themselves."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def count(self, owner: Owner) -> Counts:
        """Count the person's rows per kind; kinds without any are left out."""
        found = {}
        async with self._pool.connection() as connection:
            for kind, table in PERSONAL_TABLES.items():
                statement = f"SELECT count(*) AS n FROM {table.table} t WHERE {table.where}"  # noqa: S608
                cursor = await connection.execute(statement.encode(), parameters(owner))
                row: Any = await cursor.fetchone()
                if row["n"]:
                    found[kind] = int(row["n"])
        return found

    async def unclaimed_money(self, owner: Owner) -> int:
        """What the person has paid and neither spent nor got back, in the smallest unit."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(_UNCLAIMED, parameters(owner))
            row: Any = await cursor.fetchone()
        return int(row["amount"])

    async def revoke_access(self, owner: Owner) -> None:
        """Delete the person's API keys, schedules and push subscriptions: nothing new begins."""
        async with self._pool.connection() as connection, connection.transaction():
            for statement in _REVOKE:
                await connection.execute(statement.encode(), parameters(owner))

    async def threads(self, owner: Owner, *, limit: int) -> list[OwnedThread]:
        """The person's next threads."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(_THREADS, {**parameters(owner), "limit": limit})
            return [OwnedThread(row["thread_id"], owner) for row in await cursor.fetchall()]

    async def delete_rest(self, owner: Owner, *, by: Actor = OPERATOR) -> None:
        """Delete what belongs to no thread, and replace the name where a row must stay."""
        # Random, so that nobody can compute it from the name.
        values = {**parameters(owner), "pseudonym": f"deleted-{secrets.token_hex(8)}"}
        async with self._pool.connection() as connection, connection.transaction():
            for statement in _DELETE:
                await connection.execute(statement.encode(), values)
            done = Recorded(action="person.deleted", by=by, tenant=owner.tenant, user=owner.user)
            await record(connection, done)
            await connection.execute(_FORGET.encode(), values)

    async def record_export(self, owner: Owner, *, by: Actor = OPERATOR) -> None:
        """Record that the person's data are exported; nothing is written before that."""
        done = Recorded(action="person.exported", by=by, tenant=owner.tenant, user=owner.user)
        async with self._pool.connection() as connection, connection.transaction():
            await record(connection, done)


_OWN = "tenant = %(tenant)s AND owner = %(user)s"
# What the audit log has of them stays, under an id that leads nowhere now.
_FORGET = f"DELETE FROM engine.audit_people WHERE {_OWN}"  # noqa: S608  # our own constant
_UNCLAIMED = f"""
SELECT COALESCE((SELECT sum(balance) FROM payments.sessions
                  WHERE {_OWN} AND frozen_at IS NULL), 0)
     + COALESCE((SELECT sum(refund.amount) FROM payments.refunds refund
                   JOIN payments.sessions session USING (session_id)
                  WHERE {_OWN} AND refund.status <> 'claimed'), 0) AS amount
""".encode()  # noqa: S608  # our own constant
_REVOKE = (
    f"DELETE FROM identity.api_keys WHERE {_OWN}",  # noqa: S608  # our own constant
    f"DELETE FROM engine.crons WHERE {_OWN}",  # noqa: S608  # our own constant
    f"DELETE FROM engine.push_subscriptions WHERE {_OWN}",  # noqa: S608  # our own constant
)
_THREADS = f"""
SELECT thread_id FROM engine.threads WHERE {_OWN} ORDER BY thread_id LIMIT %(limit)s
""".encode()  # noqa: S608  # our own constant
_DELETE = (
    *_REVOKE,
    f"DELETE FROM engine.assistants WHERE {_OWN}",  # noqa: S608  # our own constant
    f"DELETE FROM engine.turns WHERE {_OWN}",  # noqa: S608  # our own constant
    f"DELETE FROM engine.budgets WHERE {_OWN}",  # noqa: S608  # our own constant
    """
    DELETE FROM store USING unnest(%(roots)s::text[]) AS gone (root)
     WHERE store.prefix = gone.root OR starts_with(store.prefix, gone.root || '.')
    """,
    # Earlier contents of a file that the person had changed: theirs, so undo ends with them.
    """
    UPDATE engine.file_changes
       SET asked_by = CASE WHEN asked_by = %(user)s THEN %(pseudonym)s ELSE asked_by END,
           approver = CASE WHEN approver = %(user)s THEN %(pseudonym)s ELSE approver END,
           before = CASE WHEN asked_by = %(user)s THEN NULL ELSE before END
     WHERE tenant = %(tenant)s AND (asked_by = %(user)s OR approver = %(user)s)
    """,
    f"""
    UPDATE payments.charges SET memo = NULL
     WHERE memo IS NOT NULL
       AND session_id IN (SELECT session_id FROM payments.sessions WHERE {_OWN})
    """,  # noqa: S608  # our own constant
    f"UPDATE payments.sessions SET owner = %(pseudonym)s WHERE {_OWN}",  # noqa: S608
    # The tenant's bill.
    f"UPDATE engine.usage SET owner = %(pseudonym)s WHERE {_OWN}",  # noqa: S608
    f"UPDATE engine.model_calls SET owner = %(pseudonym)s WHERE {_OWN}",  # noqa: S608
)
