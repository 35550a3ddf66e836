"""Outboxes: claim what is due, and record what became of it.

A claim is a lease: if its process dies, the message is due again when the lease has passed. Rows
are written by triggers on `engine.runs` (`0420_webhooks.sql`, `0460_push.sql`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxTable:
    """A table of messages to send. Its names are put into statements as they are."""

    name: str
    key: str
    details: tuple[str, ...]
    """Columns that only this kind of message has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """An attempt to send a message."""

    key: UUID
    run_id: UUID
    owner: Owner
    receiver: str
    """Scheme and host of the receiver."""
    attempts: int
    """Attempts including this one."""
    created_at: datetime
    details: Mapping[str, Any]

    @property
    def message_id(self) -> str:
        """The id that receivers see; the same at every attempt."""
        return f"msg_{self.key.hex}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any], table: OutboxTable) -> Self:
        """Build from a row of an outbox."""
        return cls(
            key=row[table.key],
            owner=Owner(tenant=row["tenant"], user=row["owner"]),
            details={name: row[name] for name in table.details},
            **{name: row[name] for name in _PLAIN},
        )


_PLAIN = ("run_id", "receiver", "attempts", "created_at")


class Outbox:
    """The messages of one kind, of all tenants."""

    def __init__(self, pool: Pool, table: OutboxTable) -> None:
        self._pool = pool
        self._table = table

    async def claim(
        self,
        *,
        lease_seconds: float,
        busy_tenants: Collection[str] = (),
        busy_receivers: Collection[tuple[str, str]] = (),
    ) -> Delivery | None:
        """Claim the message that has been due longest, except those of busy receivers.

        Args:
            lease_seconds: When another process may send it, if nothing is recorded before.
            busy_tenants: Tenants that use their share of this process.
            busy_receivers: Tenants and receivers that do.
        """
        values = {
            "lease": lease_seconds,
            "tenants": list(busy_tenants),
            "receiver_tenants": [tenant for tenant, _ in busy_receivers],
            "receivers": [receiver for _, receiver in busy_receivers],
        }
        columns = ", ".join((self._table.key, "tenant", "owner", *_PLAIN, *self._table.details))
        statement = self._statement(_CLAIM.replace("{columns}", columns))
        async with self._pool.connection() as connection:
            row = await (await connection.execute(statement, values)).fetchone()
        return Delivery.from_row(row, self._table) if row is not None else None

    async def remove(self, delivery: Delivery) -> None:
        """Remove a message that was delivered, or that nobody needs any more."""
        async with self._pool.connection() as connection:
            await connection.execute(self._statement(_REMOVE), {"key": delivery.key})

    async def retry(self, delivery: Delivery, *, seconds: float, error: str) -> None:
        """Send it again after some seconds."""
        await self._record(delivery, _RETRY, {"seconds": seconds, "error": error})

    async def give_up(self, delivery: Delivery, *, error: str) -> None:
        """Keep it as undeliverable; it is not sent again."""
        await self._record(delivery, _GIVE_UP, {"error": error})

    async def _record(self, delivery: Delivery, statement: str, values: dict[str, Any]) -> None:
        # A process whose lease has passed changes nothing: another one has the message.
        fence = {"key": delivery.key, "attempts": delivery.attempts}
        async with self._pool.connection() as connection:
            await connection.execute(self._statement(statement), {**values, **fence})

    def _statement(self, text: str) -> bytes:
        return text.replace("{table}", self._table.name).replace("{key}", self._table.key).encode()


_CLAIM = """
UPDATE {table}
   SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => %(lease)s)
 WHERE {key} = (
       SELECT {key} FROM {table} due
        WHERE dead_at IS NULL AND next_attempt_at <= now()
          AND tenant <> ALL(%(tenants)s::text[]) AND engine.is_tenant_here(tenant)
          AND NOT EXISTS (
              SELECT 1 FROM unnest(%(receiver_tenants)s::text[], %(receivers)s::text[])
                         AS busy (tenant, receiver)
               WHERE busy.tenant = due.tenant AND busy.receiver = due.receiver)
        ORDER BY next_attempt_at LIMIT 1
          FOR UPDATE SKIP LOCKED)
RETURNING {columns}
"""
_REMOVE = "DELETE FROM {table} WHERE {key} = %(key)s"
_RETRY = """
UPDATE {table}
   SET next_attempt_at = now() + make_interval(secs => %(seconds)s), last_error = %(error)s
 WHERE {key} = %(key)s AND attempts = %(attempts)s AND dead_at IS NULL
"""
_GIVE_UP = """
UPDATE {table} SET dead_at = now(), last_error = %(error)s
 WHERE {key} = %(key)s AND attempts = %(attempts)s AND dead_at IS NULL
"""
