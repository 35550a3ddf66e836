"""The outbox of webhooks: claim one that is due, and record what became of it.

A claim is a lease: if its process dies, the webhook is due again when the lease has passed. Rows
are written by a trigger on `engine.runs` (`0420_webhooks.sql`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """An attempt to send a webhook."""

    webhook_id: UUID
    run_id: UUID
    owner: Owner
    url: str
    receiver: str
    checkpoint_id: str | None
    attempts: int
    """Attempts including this one."""
    created_at: datetime

    @property
    def message_id(self) -> str:
        """The id that receivers see; the same at every attempt."""
        return f"msg_{self.webhook_id.hex}"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build from a row of `engine.webhooks`."""
        return cls(
            owner=Owner(tenant=row["tenant"], user=row["owner"]),
            **{name: row[name] for name in _PLAIN},
        )


_PLAIN = ("webhook_id", "run_id", "url", "receiver", "checkpoint_id", "attempts", "created_at")
_COLUMNS = ", ".join(("tenant", "owner", *_PLAIN))


class Outbox:
    """The webhooks of all tenants."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def claim(
        self,
        *,
        lease_seconds: float,
        busy_tenants: Collection[str] = (),
        busy_receivers: Collection[tuple[str, str]] = (),
    ) -> Delivery | None:
        """Claim the webhook that has been due longest, except those of busy receivers.

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
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_CLAIM, values)).fetchone()
        return Delivery.from_row(row) if row is not None else None

    async def remove(self, delivery: Delivery) -> None:
        """Remove a webhook that was delivered."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "DELETE FROM engine.webhooks WHERE webhook_id = %s", (delivery.webhook_id,)
            )

    async def retry(self, delivery: Delivery, *, seconds: float, error: str) -> None:
        """Send it again after some seconds."""
        await self._record(delivery, _RETRY, {"seconds": seconds, "error": error})

    async def give_up(self, delivery: Delivery, *, error: str) -> None:
        """Keep it as undeliverable; it is not sent again."""
        await self._record(delivery, _GIVE_UP, {"error": error})

    async def _record(self, delivery: Delivery, statement: str, values: dict[str, Any]) -> None:
        # A process whose lease has passed changes nothing: another one has the webhook.
        fence = {"webhook": delivery.webhook_id, "attempts": delivery.attempts}
        async with self._pool.connection() as connection:
            await connection.execute(statement.encode(), {**values, **fence})


_CLAIM = f"""
UPDATE engine.webhooks
   SET attempts = attempts + 1, next_attempt_at = now() + make_interval(secs => %(lease)s)
 WHERE webhook_id = (
       SELECT webhook_id FROM engine.webhooks
        WHERE dead_at IS NULL AND next_attempt_at <= now()
          AND tenant <> ALL(%(tenants)s::text[])
          AND NOT EXISTS (
              SELECT 1 FROM unnest(%(receiver_tenants)s::text[], %(receivers)s::text[])
                         AS busy (tenant, receiver)
               WHERE busy.tenant = webhooks.tenant AND busy.receiver = webhooks.receiver)
        ORDER BY next_attempt_at LIMIT 1
          FOR UPDATE SKIP LOCKED)
RETURNING {_COLUMNS}
""".encode()  # noqa: S608  # our own constant
_FENCE = "WHERE webhook_id = %(webhook)s AND attempts = %(attempts)s AND dead_at IS NULL"
_RETRY = f"""
UPDATE engine.webhooks
   SET next_attempt_at = now() + make_interval(secs => %(seconds)s), last_error = %(error)s
 {_FENCE}
"""  # noqa: S608  # our own constant
_GIVE_UP = f"""
UPDATE engine.webhooks SET dead_at = now(), last_error = %(error)s {_FENCE}
"""  # noqa: S608  # our own constant
