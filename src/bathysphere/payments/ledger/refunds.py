"""Refunds: delivered as often as requested, until the mint reports them as spent."""

from collections.abc import Sequence

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.payments.ledger.records import REFUND_COLUMNS, Pool, Refund


class Refunds:
    """The refunds of all sessions."""

    def __init__(self, pool: Pool, *, clock: Clock) -> None:
        self._pool = pool
        self._clock = clock

    async def deliver(self, thread_id: str, *, payer: Owner) -> list[Refund]:
        """Return the payer's refunds on the thread, oldest first, and mark them as delivered."""
        values = {
            "thread": thread_id,
            "tenant": payer.tenant,
            "owner": payer.user,
            "now": self._clock.now(),
        }
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_DELIVER, values)).fetchall()
        return [Refund.from_row(row) for row in rows]

    async def unclaimed(self, *, limit: int = 100) -> list[Refund]:
        """List refunds not known to be claimed, least recently checked first."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "UPDATE payments.refunds SET asked_at = %s WHERE refund_id IN"  # noqa: S608  # our constant
                " (SELECT refund_id FROM payments.refunds WHERE status <> 'claimed'"
                "  ORDER BY asked_at NULLS FIRST LIMIT %s FOR UPDATE SKIP LOCKED)"
                f" RETURNING {REFUND_COLUMNS}".encode(),
                (self._clock.now(), limit),
            )
            return [Refund.from_row(row) for row in await cursor.fetchall()]

    async def mark_claimed(self, refund_ids: Sequence[str]) -> None:
        """Record refunds that the mint reports as spent."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE payments.refunds SET status = 'claimed', claimed_at = %s"
                " WHERE refund_id = ANY(%s) AND status <> 'claimed'",
                (self._clock.now(), list(refund_ids)),
            )


_DELIVER = f"""
WITH mine AS (
    SELECT refund.refund_id FROM payments.refunds refund
      JOIN payments.sessions session USING (session_id)
     WHERE session.thread_id = %(thread)s AND session.tenant = %(tenant)s
       AND session.owner = %(owner)s
), delivered AS (
    UPDATE payments.refunds SET status = 'delivered', delivered_at = %(now)s
     WHERE refund_id IN (SELECT refund_id FROM mine) AND status = 'ready'
)
SELECT {REFUND_COLUMNS} FROM payments.refunds
 WHERE refund_id IN (SELECT refund_id FROM mine) ORDER BY made_at
""".encode()  # noqa: S608  # our own constant
