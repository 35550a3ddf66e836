"""Accounts: payment sessions, deposits and charges.

Charging, completing and voiding are database functions: one round trip each, under a lock on the
session's row. They are idempotent by key, so a caller that misses the response calls again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from psycopg.errors import UniqueViolation

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.core.ids import new_id
from bathysphere.payments.ledger.errors import (
    NoPaymentSession,
    PaymentSessionTaken,
    TokenAlreadyUsed,
)
from bathysphere.payments.ledger.records import (
    SESSION_COLUMNS,
    Checked,
    Connection,
    Deposited,
    NewSession,
    Pool,
    Session,
)
from bathysphere.payments.ledger.sealing import Sealer

Outcome = Literal["charged", "done", "completed", "voided", "insufficient", "expired", "no_session"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Posted:
    """The outcome of a charge or its completion, and the account's totals after it."""

    outcome: Outcome
    balance: int
    spent: int
    memo: bytes | None


class Accounts:
    """The accounts of all threads."""

    def __init__(
        self,
        pool: Pool,
        *,
        sealer: Sealer,
        clock: Clock,
        close_before: timedelta = timedelta(hours=1),
    ) -> None:
        self._pool = pool
        self._sealer = sealer
        self._clock = clock
        self._close_before = close_before

    # ── sessions ──

    async def open(self, new: NewSession) -> Session:
        """Open a session, or return the open one of the same payer and key.

        Raises:
            PaymentSessionTaken: The thread's open session has a different payer or key.
        """
        values = {
            "session": new.session_id,
            "thread": new.thread_id,
            "tenant": new.payer.tenant,
            "owner": new.payer.user,
            "mint": new.mint_url,
            "unit": new.unit,
            "key": new.session_pubkey,
            "refund": new.refund_pubkey,
            "now": self._clock.now(),
        }
        for _ in range(5):
            async with self._pool.connection() as connection:
                row = await _one(connection, _OPEN_OF_THREAD, values)
                if row is None:
                    try:
                        row = await _one(connection, _OPEN, values)
                    except UniqueViolation:
                        continue  # another caller opened it between the two statements
            if row is not None:
                session = Session.from_row(row)
                if session.payer != new.payer or session.refund_pubkey != new.refund_pubkey:
                    raise PaymentSessionTaken(
                        f"Thread {new.thread_id} has an open session with a different key",
                        hint="close it first; later deposits go to a new one",
                    )
                return session
        raise PaymentSessionTaken(f"Another caller is opening a session on thread {new.thread_id}")

    async def current(self, thread_id: str, *, payer: Owner) -> Session | None:
        """Return the payer's newest session on the thread, if any."""
        async with self._pool.connection() as connection:
            row = await _one(
                connection,
                f"SELECT {SESSION_COLUMNS} FROM payments.sessions"  # noqa: S608  # our constant
                " WHERE thread_id = %s AND tenant = %s AND owner = %s ORDER BY epoch DESC LIMIT 1",
                (thread_id, payer.tenant, payer.user),
            )
        return Session.from_row(row) if row is not None else None

    def is_expired(self, session: Session) -> bool:
        """Whether an open session is too close to its first locktime to be charged."""
        return (
            session.status == "open"
            and session.expires_at is not None
            and session.expires_at <= self._clock.now()
        )

    async def begin_close(self, thread_id: str, *, payer: Owner) -> Session:
        """Refuse new deposits and charges; charges in progress may still complete.

        Raises:
            NoPaymentSession: The payer has no session on this thread.
        """
        async with self._pool.connection() as connection:
            row = await _one(
                connection,
                "UPDATE payments.sessions SET status = 'closing', closing_at = %s"  # noqa: S608  # our constant
                " WHERE thread_id = %s AND tenant = %s AND owner = %s AND status = 'open'"
                f" RETURNING {SESSION_COLUMNS}",
                (self._clock.now(), thread_id, payer.tenant, payer.user),
            )
        if row is not None:
            return Session.from_row(row)
        session = await self.current(thread_id, payer=payer)
        if session is None:
            raise _no_session(thread_id)
        return session

    async def close_overdue(self, *, idle: timedelta) -> list[str]:
        """Begin to close sessions that are idle or near a locktime; return their ids."""
        now = self._clock.now()
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "UPDATE payments.sessions SET status = 'closing', closing_at = %s"
                " WHERE status = 'open' AND (expires_at <= %s OR used_at <= %s)"
                " RETURNING session_id",
                (now, now, now - idle),
            )
            return [row["session_id"] for row in await cursor.fetchall()]

    # ── deposits ──

    async def deposit(self, thread_id: str, token: Checked, *, payer: Owner) -> Deposited:
        """Credit a checked token once; depositing it again in the same session credits nothing.

        Raises:
            NoPaymentSession: The payer has no open session on this thread.
            TokenAlreadyUsed: Some of its proofs are in a different deposit.
        """
        async with self._pool.connection() as connection:
            try:
                async with connection.transaction():
                    return await self._deposit(connection, thread_id, token, payer)
            except UniqueViolation as error:  # another session's transaction was first
                raise _already_used() from error

    async def _deposit(
        self, connection: Connection, thread_id: str, token: Checked, payer: Owner
    ) -> Deposited:
        ys = [proof.y for proof in token.proofs]
        rows = await _all(connection, _LOCK_SESSIONS, (thread_id, payer.tenant, payer.user))
        sessions = [Session.from_row(row) for row in rows]
        known = await _all(connection, _KNOWN, (ys,))
        if known:
            mine = {session.session_id: session for session in sessions}
            homes = {(row["deposit_id"], row["session_id"]) for row in known}
            (_, home), *others = homes
            if others or len(known) < len(ys) or home not in mine:
                raise _already_used()
            return Deposited(0, False, mine[home])
        opened = next((session for session in sessions if session.status == "open"), None)
        if opened is None:
            raise _no_session(thread_id)
        return await self._credit(connection, opened, token)

    async def _credit(self, connection: Connection, session: Session, token: Checked) -> Deposited:
        now = self._clock.now()
        deposit = new_id("dep")
        await connection.execute(
            "INSERT INTO payments.deposits"
            " (deposit_id, session_id, face, fee, credited, locktime, made_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (
                deposit,
                session.session_id,
                token.face,
                token.fee,
                token.credited,
                token.locktime,
                now,
            ),
        )
        for proof in token.proofs:
            sealed = self._sealer.seal(f"proofs/{proof.y}", proof.data)
            await connection.execute(
                "INSERT INTO payments.proofs (y, deposit_id, amount, proof)"
                " VALUES (%s, %s, %s, %s)",
                (proof.y, deposit, proof.amount, sealed),
            )
        row = await _one(
            connection,
            "UPDATE payments.sessions SET credited = credited + %s, used_at = %s,"  # noqa: S608  # our constant
            " expires_at = LEAST(expires_at, %s) WHERE session_id = %s"
            f" RETURNING {SESSION_COLUMNS}",
            (token.credited, now, token.locktime - self._close_before, session.session_id),
        )
        await post(connection, session.session_id, "deposit", deposit, "mint", "balance",
                   token.credited, now)  # fmt: skip
        await post(connection, session.session_id, "deposit", deposit, "mint", "fees",
                   token.fee, now)  # fmt: skip
        return Deposited(token.credited, True, Session.from_row(row or {}))

    # ── charges ──

    async def charge(
        self, thread_id: str, key: str, amount: int, *, payer: Owner, holder: str = ""
    ) -> Posted:
        """Charge a call, once per key; `done` carries the stored answer of the first time.

        `holder` is the run making the call: a `kept` charge is charged again for another run.
        """
        values = (thread_id, payer.tenant, payer.user, key, amount, holder, self._clock.now())
        return await self._post(f"{_POSTED} payments.charge(%s, %s, %s, %s, %s, %s, %s)", values)

    async def complete(self, thread_id: str, key: str, amount: int, memo: bytes) -> Posted:
        """Store the answer and reduce the charge to at most `amount`; if `voided`, charge again."""
        values = (thread_id, key, amount, memo, self._clock.now())
        return await self._post(f"{_POSTED} payments.complete(%s, %s, %s, %s, %s)", values)

    async def void(self, thread_id: str, key: str) -> bool:
        """Refund the charge of a failed call; False if it cannot be refunded."""
        async with self._pool.connection() as connection:
            row = await _one(
                connection,
                "SELECT payments.void(%s, %s, %s) AS voided",
                (thread_id, key, self._clock.now()),
            )
        return bool(row and row["voided"])

    async def keep(self, thread_id: str, key: str) -> None:
        """Keep the charge of a call that was cancelled while the model was answering."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE payments.charges SET status = 'kept'"
                " WHERE thread_id = %s AND key = %s AND status = 'captured'",
                (thread_id, key),
            )

    async def mark_streamed(self, thread_id: str, key: str) -> None:
        """Record that a call was cut off while streaming, so that a close does not refund it."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE payments.charges SET streamed = true"
                " WHERE thread_id = %s AND key = %s AND status = 'captured'",
                (thread_id, key),
            )

    async def _post(self, statement: str, values: tuple[Any, ...]) -> Posted:
        async with self._pool.connection() as connection:
            row = await _one(connection, statement, values)
        row = row or {}
        return Posted(
            outcome=row["outcome"],
            balance=row["balance"] or 0,
            spent=row["spent"] or 0,
            memo=row["memo"],
        )


async def post(
    connection: Connection,
    session_id: str,
    kind: str,
    ref: str,
    debit: str,
    credit: str,
    amount: int,
    now: datetime,
) -> None:
    """Write a journal entry, unless the amount is 0."""
    if amount:
        await connection.execute(
            "INSERT INTO payments.entries (session_id, kind, ref, debit, credit, amount, made_at)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (session_id, kind, ref, debit, credit, amount, now),
        )


async def _one(connection: Connection, statement: str, values: Any) -> dict[str, Any] | None:
    return await (await connection.execute(statement.encode(), values)).fetchone()


async def _all(connection: Connection, statement: str, values: Any) -> list[dict[str, Any]]:
    return await (await connection.execute(statement.encode(), values)).fetchall()


def _no_session(thread_id: str) -> NoPaymentSession:
    return NoPaymentSession(
        f"Thread {thread_id} has no open payment session", hint="open one with your refund key"
    )


def _already_used() -> TokenAlreadyUsed:
    return TokenAlreadyUsed("This token was already deposited", hint="send a new token")


_POSTED = "SELECT outcome, balance, spent, memo FROM"
_OPEN_OF_THREAD = f"""
SELECT {SESSION_COLUMNS} FROM payments.sessions
 WHERE thread_id = %(thread)s AND status = 'open'
"""  # noqa: S608  # our own constant
_OPEN = f"""
INSERT INTO payments.sessions (session_id, thread_id, epoch, tenant, owner, mint_url, unit,
                               session_pubkey, refund_pubkey, opened_at, used_at)
SELECT %(session)s, %(thread)s, coalesce(max(epoch), 0) + 1, %(tenant)s, %(owner)s, %(mint)s,
       %(unit)s, %(key)s, %(refund)s, %(now)s, %(now)s
  FROM payments.sessions WHERE thread_id = %(thread)s
RETURNING {SESSION_COLUMNS}
"""  # noqa: S608  # our own constant
_LOCK_SESSIONS = f"""
SELECT {SESSION_COLUMNS} FROM payments.sessions
 WHERE thread_id = %s AND tenant = %s AND owner = %s
 ORDER BY epoch DESC FOR NO KEY UPDATE
"""  # noqa: S608  # our own constant
_KNOWN = """
SELECT proof.deposit_id, deposit.session_id FROM payments.proofs proof
  JOIN payments.deposits deposit USING (deposit_id)
 WHERE proof.y = ANY(%s)
"""
