"""Settlement storage: the swaps of closing sessions, and how they end.

A swap is stored before it is posted and never changes, so every worker posts the same body. Workers
lease swaps, so no row is locked during a request to the mint. Each ending is one transaction that
does nothing if another worker was first.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from bathysphere.core.clock import Clock
from bathysphere.core.ids import new_id
from bathysphere.payments.ledger.accounts import post
from bathysphere.payments.ledger.errors import Unsealable
from bathysphere.payments.ledger.records import (
    SESSION_COLUMNS,
    Connection,
    Pool,
    Prepare,
    Proof,
    RefundToken,
    Session,
    Swap,
    ToSettle,
)
from bathysphere.payments.ledger.sealing import Sealer


class Swaps:
    """The swaps of all sessions."""

    def __init__(
        self,
        pool: Pool,
        *,
        sealer: Sealer,
        clock: Clock,
        grace: timedelta = timedelta(minutes=15),
    ) -> None:
        self._pool = pool
        self._sealer = sealer
        self._clock = clock
        self._grace = grace

    # ── freezing sessions ──

    async def closing(self, *, limit: int = 100) -> list[str]:
        """List closing sessions that are not frozen yet."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT session_id FROM payments.sessions"
                " WHERE status = 'closing' AND frozen_at IS NULL"
                " ORDER BY freeze_error IS NOT NULL, closing_at LIMIT %s",
                (limit,),
            )
            return [row["session_id"] for row in await cursor.fetchall()]

    async def freeze(self, session_id: str, prepare: Prepare) -> bool:
        """Fix the amounts spent and refunded, and store every swap.

        Returns False while a model call is in progress. A call unfinished after the grace period is
        voided: its answer was not delivered and no longer can be.
        """
        async with self._pool.connection() as connection, connection.transaction():
            session = await self._lock(connection, session_id)
            if session is None or session.status != "closing" or session.is_frozen:
                return True
            if not await self._end_charges(connection, session):
                return False
            now = self._clock.now()
            row = await (
                await connection.execute(
                    "UPDATE payments.sessions SET refunded = credited - spent, frozen_at = %s,"  # noqa: S608  # our constant
                    " freeze_error = NULL WHERE session_id = %s"
                    f" RETURNING {SESSION_COLUMNS}".encode(),
                    (now, session_id),
                )
            ).fetchone()
            frozen = Session.from_row(row or {})
            await post(connection, session_id, "close", session_id, "balance", "due",
                       frozen.refunded, now)  # fmt: skip
            await self._allocate(connection, frozen, prepare, now)
            await _close_if_settled(connection, session_id, now)
            return True

    async def record_freeze_error(self, session_id: str, error: str) -> None:
        """Record the error; the session is retried after those without one."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE payments.sessions SET freeze_error = %s"
                " WHERE session_id = %s AND frozen_at IS NULL",
                (error[:500], session_id),
            )

    async def _lock(self, connection: Connection, session_id: str) -> Session | None:
        row = await (
            await connection.execute(
                f"SELECT {SESSION_COLUMNS} FROM payments.sessions"  # noqa: S608  # our constant
                " WHERE session_id = %s FOR NO KEY UPDATE".encode(),
                (session_id,),
            )
        ).fetchone()
        return Session.from_row(row) if row is not None else None

    async def _end_charges(self, connection: Connection, session: Session) -> bool:
        now = self._clock.now()
        rows = await (
            await connection.execute(
                "SELECT thread_id, key, charged_at FROM payments.charges"
                " WHERE session_id = %s AND status = 'captured'",
                (session.session_id,),
            )
        ).fetchall()
        if any(row["charged_at"] > now - self._grace for row in rows):
            return False
        await connection.execute(  # a streamed answer counts as delivered
            "UPDATE payments.charges SET status = 'kept'"
            " WHERE session_id = %s AND status = 'captured' AND streamed",
            (session.session_id,),
        )
        for row in rows:
            await connection.execute(
                "SELECT payments.void(%s, %s, %s)", (row["thread_id"], row["key"], now)
            )
        return True

    async def _allocate(
        self, connection: Connection, session: Session, prepare: Prepare, now: datetime
    ) -> None:
        """Allocate the amount spent to the oldest deposits first."""
        left = session.spent
        deposits = await (
            await connection.execute(
                f"SELECT {_DEPOSIT_COLUMNS} FROM payments.deposits"  # noqa: S608  # our constant
                " WHERE session_id = %s ORDER BY seq".encode(),
                (session.session_id,),
            )
        ).fetchall()
        for deposit in deposits:
            consumed = min(left, deposit["credited"])
            left -= consumed
            await connection.execute(
                "UPDATE payments.deposits SET consumed = %s, status = 'settling'"
                " WHERE deposit_id = %s",
                (consumed, deposit["deposit_id"]),
            )
            await self._write_swap(
                connection, session, {**deposit, "consumed": consumed}, 1, prepare, now
            )

    async def _write_swap(
        self,
        connection: Connection,
        session: Session,
        deposit: dict[str, Any],
        attempt: int,
        prepare: Prepare,
        now: datetime,
    ) -> None:
        swap_id = new_id("swap")
        rows = await (
            await connection.execute(
                "SELECT y, amount, proof FROM payments.proofs WHERE deposit_id = %s ORDER BY y",
                (deposit["deposit_id"],),
            )
        ).fetchall()
        proofs = [
            Proof(r["y"], r["amount"], self._sealer.open(f"proofs/{r['y']}", r["proof"]))
            for r in rows
        ]
        refund = deposit["credited"] - deposit["consumed"]
        prepared = prepare(
            ToSettle(
                swap_id=swap_id,
                attempt=attempt,
                session_id=session.session_id,
                deposit_id=deposit["deposit_id"],
                refund_pubkey=session.refund_pubkey,
                earn=deposit["consumed"],
                refund=refund,
                fee=deposit["fee"],
                proofs=tuple(proofs),
            )
        )
        await connection.execute(
            "INSERT INTO payments.swaps (swap_id, deposit_id, attempt, body, outputs, earn, refund,"
            " fee, due_at, made_at) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            (
                swap_id,
                deposit["deposit_id"],
                attempt,
                self._sealer.seal(f"swaps/{swap_id}/body", prepared.body),
                self._sealer.seal(f"swaps/{swap_id}/outputs", prepared.outputs),
                deposit["consumed"],
                refund,
                deposit["fee"],
                now,
                now,
            ),
        )

    # ── working on swaps ──

    async def take(self, *, limit: int = 10, lease: timedelta = timedelta(minutes=1)) -> list[Swap]:
        """Lease due swaps; their `tries` includes this one."""
        now, token = self._clock.now(), new_id("lease")
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                _TAKE, {"now": now, "until": now + lease, "lease": token, "limit": limit}
            )
            rows = await cursor.fetchall()
        return [swap for row in rows if (swap := await self._opened(row, token)) is not None]

    async def _opened(self, row: dict[str, Any], lease: str) -> Swap | None:
        """Decrypt the swap; one that cannot be decrypted raises an alarm and is skipped."""
        try:
            return self._swap(row, lease)
        except Unsealable as error:
            await self._alarm(row["swap_id"], str(error), look_again=timedelta(hours=1))
            return None

    def _swap(self, row: dict[str, Any], lease: str) -> Swap:
        place = f"swaps/{row['swap_id']}"
        names = (
            "swap_id", "attempt", "status", "session_id", "deposit_id", "refund_pubkey",
            "earn", "refund", "fee", "tries", "locktime", "pending_at",
        )  # fmt: skip
        return Swap(
            body=self._sealer.open(f"{place}/body", row["body"]),
            outputs=self._sealer.open(f"{place}/outputs", row["outputs"]),
            lease=lease,
            **{name: row[name] for name in names},
        )

    async def postpone(
        self, swap: Swap, error: str, *, after: timedelta, is_pending: bool = False
    ) -> None:
        """Postpone a swap whose outcome is not known yet."""
        now = self._clock.now()
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE payments.swaps SET last_error = %s, due_at = %s, leased_by = NULL,"
                " leased_till = NULL,"
                " pending_at = CASE WHEN %s THEN coalesce(pending_at, %s) END"
                " WHERE swap_id = %s AND leased_by = %s",
                (error[:500], now + after, is_pending, now, swap.swap_id, swap.lease),
            )

    async def mark_stuck(self, swap: Swap, error: str, *, look_again: timedelta) -> bool:
        """Raise an alarm for a swap that the mint neither performs nor refuses; still retried."""
        return await self._alarm(swap.swap_id, error, look_again=look_again)

    async def _alarm(self, swap_id: str, error: str, *, look_again: timedelta) -> bool:
        now = self._clock.now()
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "UPDATE payments.swaps SET status = 'stuck', last_error = %s, due_at = %s,"
                    " leased_by = NULL, leased_till = NULL"
                    " WHERE swap_id = %s AND status IN ('prepared', 'stuck') RETURNING 1",
                    (error[:500], now + look_again, swap_id),
                )
            ).fetchone()
        return row is not None

    async def supersede(self, swap: Swap, prepare: Prepare, error: str) -> bool:
        """Store a new attempt after a definite refusal with nothing signed."""
        now = self._clock.now()
        async with self._pool.connection() as connection, connection.transaction():
            deposit = await self._end(connection, swap, "superseded", error, now)
            if deposit is None:
                return False
            session = await self._lock(connection, swap.session_id)
            assert session is not None  # noqa: S101  # a swap's session is never deleted
            await self._write_swap(connection, session, deposit, swap.attempt + 1, prepare, now)
            return True

    async def complete(
        self, swap: Swap, earned: Sequence[Proof], refund: RefundToken | None
    ) -> bool:
        """Complete the swap: store the earnings and make the refund ready."""
        if sum(proof.amount for proof in earned) != swap.earn or (refund is None) != (
            swap.refund == 0
        ):
            raise ValueError(f"Result of swap {swap.swap_id} does not match its plan")
        now = self._clock.now()
        async with self._pool.connection() as connection, connection.transaction():
            if await self._end(connection, swap, "done", None, now) is None:
                return False
            for proof in earned:
                await connection.execute(
                    "INSERT INTO payments.vault (y, swap_id, amount, proof)"
                    " VALUES (%s, %s, %s, %s)",
                    (proof.y, swap.swap_id, proof.amount,
                     self._sealer.seal(f"vault/{proof.y}", proof.data)),
                )  # fmt: skip
            if refund is not None:
                await connection.execute(
                    "INSERT INTO payments.refunds"
                    " (refund_id, session_id, swap_id, amount, token, ys, made_at)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s)",
                    (new_id("refund"), swap.session_id, swap.swap_id, swap.refund,
                     refund.token, list(refund.ys), now),
                )  # fmt: skip
            for debit, credit, amount in (
                ("vault", "mint", swap.earn),
                ("due", "mint", swap.refund),
                ("fees", "mint", swap.fee),
            ):
                await post(connection, swap.session_id, "settle", swap.swap_id, debit, credit,
                           amount, now)  # fmt: skip
            await self._settle(connection, swap, "settled", now)
            return True

    async def mark_lost(self, swap: Swap, error: str) -> bool:
        """Record that the payer reclaimed the deposit after its locktime; its earnings are lost."""
        now = self._clock.now()
        async with self._pool.connection() as connection, connection.transaction():
            if await self._end(connection, swap, "lost", error, now) is None:
                return False
            face = swap.earn + swap.refund + swap.fee
            for debit, credit, amount in (
                ("lost", "mint", face),
                ("due", "lost", swap.refund),  # the payer already has it
                ("fees", "lost", swap.fee),  # the mint never took it from us
            ):
                await post(connection, swap.session_id, "loss", swap.swap_id, debit, credit,
                           amount, now)  # fmt: skip
            await self._settle(connection, swap, "lost", now)
            return True

    async def _end(
        self, connection: Connection, swap: Swap, status: str, error: str | None, now: datetime
    ) -> dict[str, Any] | None:
        """End the swap and return its deposit, or None if another worker has ended it."""
        # Lock the session first, like every other transaction; otherwise workers could deadlock.
        await self._lock(connection, swap.session_id)
        row = await (
            await connection.execute(
                "UPDATE payments.swaps SET status = %s, last_error = %s, ended_at = %s,"
                " leased_by = NULL, leased_till = NULL"
                " WHERE swap_id = %s AND status IN ('prepared', 'stuck') RETURNING deposit_id",
                (status, error and error[:500], now, swap.swap_id),
            )
        ).fetchone()
        if row is None:
            return None
        return await (
            await connection.execute(
                f"SELECT {_DEPOSIT_COLUMNS} FROM payments.deposits"  # noqa: S608  # our constant
                " WHERE deposit_id = %s".encode(),
                (row["deposit_id"],),
            )
        ).fetchone()

    async def _settle(self, connection: Connection, swap: Swap, status: str, now: datetime) -> None:
        await connection.execute(
            "UPDATE payments.deposits SET status = %s WHERE deposit_id = %s",
            (status, swap.deposit_id),
        )
        await _close_if_settled(connection, swap.session_id, now)


async def _close_if_settled(connection: Connection, session_id: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE payments.sessions SET status = 'closed', closed_at = %s"
        " WHERE session_id = %s AND status = 'closing' AND NOT EXISTS (SELECT FROM"
        " payments.deposits WHERE session_id = %s AND status IN ('accepted', 'settling'))",
        (now, session_id, session_id),
    )


_DEPOSIT_COLUMNS = "deposit_id, credited, consumed, fee"
_TAKE = """
WITH taken AS (
    UPDATE payments.swaps SET leased_by = %(lease)s, leased_till = %(until)s, tries = tries + 1
     WHERE swap_id IN (
        SELECT swap_id FROM payments.swaps
         WHERE status IN ('prepared', 'stuck') AND due_at <= %(now)s
           AND (leased_till IS NULL OR leased_till <= %(now)s)
         ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
    RETURNING swap_id, attempt, status, deposit_id, body, outputs, earn, refund, fee, tries,
              pending_at
)
SELECT taken.*, deposit.session_id, deposit.locktime, session.refund_pubkey
  FROM taken JOIN payments.deposits deposit USING (deposit_id)
             JOIN payments.sessions session USING (session_id)
"""
