"""Withdrawals: earned proofs leave the vault as a token, each exactly once.

A withdrawal is stored before its token is shown: if a command dies in between, the next command
shows that withdrawal once its lease has expired. Concurrent commands wait for each other and take
different proofs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.core.ids import new_id
from bathysphere.payments.ledger.accounts import post
from bathysphere.payments.ledger.records import Connection, Pool
from bathysphere.payments.ledger.sealing import Sealer

MAX_PROOFS = 500
"""Maximum number of proofs in one token: wallets and mints have limits too."""
LEASE = timedelta(minutes=1)
"""How long a command may take to show its withdrawal."""
_LOCK = 0x6261_7468_7761_6C


class CannotWithdraw(CallerError):
    """The vault cannot pay out this amount."""

    code = "cannot_withdraw"


@dataclass(frozen=True, kw_only=True, slots=True)
class Withdrawal:
    """Earnings taken out of the vault; anyone who holds `proofs` can spend `amount`."""

    withdrawal_id: str
    amount: int
    made_at: datetime
    proofs: tuple[bytes, ...]


class Withdrawals:
    """The operator's withdrawals from the vault."""

    def __init__(self, pool: Pool, *, sealer: Sealer, clock: Clock) -> None:
        self._pool = pool
        self._sealer = sealer
        self._clock = clock

    async def withdraw(self, sats: int | None = None) -> Withdrawal:
        """Take earnings out of the vault: everything, or exactly `sats`.

        A withdrawal that an earlier command stored but never showed comes first.

        Raises:
            CannotWithdraw: The vault is empty, or no proofs add up to the amount.
        """
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            now = self._clock.now()
            lease = {"now": now, "until": now + LEASE}
            unshown = await (await connection.execute(_UNSHOWN, lease)).fetchone()
            if unshown is not None:
                return await self._read(connection, unshown)
            rows = await (await connection.execute(_AVAILABLE, (MAX_PROOFS,))).fetchall()
            taken = _choose(rows, sats)
            withdrawal_id = new_id("withdrawal")
            made = {
                "withdrawal_id": withdrawal_id,
                "amount": sum(row["amount"] for row in taken),
                "made_at": now,
                "until": now + LEASE,
            }
            await connection.execute(_MAKE, made)
            for row in taken:
                await connection.execute(_TAKE, (row["y"], withdrawal_id))
            await self._post(connection, taken, withdrawal_id, now)
            return await self._read(connection, made)

    async def mark_shown(self, withdrawal_id: str) -> None:
        """Record that the token was shown to the operator."""
        async with self._pool.connection() as connection:
            await connection.execute(_SHOWN, (self._clock.now(), withdrawal_id))

    async def get(self, withdrawal_id: str) -> Withdrawal:
        """Return an earlier withdrawal, to show its token again.

        Raises:
            CannotWithdraw: The id is unknown.
        """
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_ONE, (withdrawal_id,))).fetchone()
            if row is None:
                raise CannotWithdraw(f"Unknown withdrawal: {withdrawal_id}")
            return await self._read(connection, row)

    async def _post(
        self, connection: Connection, taken: Sequence[dict[str, Any]], ref: str, now: datetime
    ) -> None:
        """Write one journal entry per session that the earnings came from."""
        by_session: dict[str, int] = {}
        for row in taken:
            by_session[row["session_id"]] = by_session.get(row["session_id"], 0) + row["amount"]
        for session_id, amount in sorted(by_session.items()):
            await post(connection, session_id, "withdraw", ref, "withdrawn", "vault",
                       amount, now)  # fmt: skip

    async def _read(self, connection: Connection, row: dict[str, Any]) -> Withdrawal:
        cursor = await connection.execute(_PROOFS, (row["withdrawal_id"],))
        proofs = [
            self._sealer.open(f"vault/{one['y']}", one["proof"]) for one in await cursor.fetchall()
        ]
        return Withdrawal(
            withdrawal_id=row["withdrawal_id"],
            amount=row["amount"],
            made_at=row["made_at"],
            proofs=tuple(proofs),
        )


def _choose(rows: Sequence[dict[str, Any]], sats: int | None) -> list[dict[str, Any]]:
    """Choose proofs worth exactly the amount. Powers of two: taking the largest first works."""
    if not rows:
        raise CannotWithdraw("The vault is empty", hint="settle sessions with `payments sweep`")
    chosen, left = [], sats
    for row in rows:
        if left is None or row["amount"] <= left:
            chosen.append(row)
            left = None if left is None else left - row["amount"]
    if left:
        found = sum(row["amount"] for row in chosen)
        raise CannotWithdraw(
            f"The vault has no proofs worth exactly {sats} sats",
            hint=f"withdraw {found} sats, or everything" if found else "withdraw everything",
        )
    return chosen


_UNSHOWN = b"""
UPDATE payments.withdrawals SET leased_till = %(until)s
 WHERE withdrawal_id = (SELECT withdrawal_id FROM payments.withdrawals
                         WHERE shown_at IS NULL AND leased_till <= %(now)s
                         ORDER BY made_at LIMIT 1)
RETURNING withdrawal_id, amount, made_at
"""
_ONE = b"""
SELECT withdrawal_id, amount, made_at FROM payments.withdrawals WHERE withdrawal_id = %s
"""
_AVAILABLE = b"""
SELECT vault.y, vault.amount, deposit.session_id
  FROM payments.vault vault
  JOIN payments.swaps swap USING (swap_id)
  JOIN payments.deposits deposit USING (deposit_id)
 WHERE NOT EXISTS (SELECT FROM payments.withdrawn w WHERE w.y = vault.y)
 ORDER BY vault.amount DESC, vault.y LIMIT %s
"""
_MAKE = b"""
INSERT INTO payments.withdrawals (withdrawal_id, amount, made_at, leased_till)
VALUES (%(withdrawal_id)s, %(amount)s, %(made_at)s, %(until)s)
"""
_TAKE = b"INSERT INTO payments.withdrawn (y, withdrawal_id) VALUES (%s, %s)"
_SHOWN = b"""
UPDATE payments.withdrawals SET shown_at = %s WHERE withdrawal_id = %s AND shown_at IS NULL
"""
_PROOFS = b"""
SELECT vault.y, vault.proof FROM payments.withdrawn JOIN payments.vault vault USING (y)
 WHERE withdrawn.withdrawal_id = %s ORDER BY vault.amount DESC, vault.y
"""
