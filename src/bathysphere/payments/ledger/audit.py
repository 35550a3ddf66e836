"""The audit: every invariant of the ledger, in one query and so at one moment.

What a constraint can hold, a constraint holds. The rest is here: that the journal, the accounts,
the deposits, the charges, the swaps and what they gave tell the same story.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bathysphere.payments.ledger.records import Pool


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that does not hold, of what, and by how much."""

    rule: str
    subject: str
    difference: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """What the ledger holds, and what is wrong with it."""

    deposited: int
    spent: int
    refunded: int
    held: int
    fees: int
    vault: int
    lost: int
    stuck: int
    """Worth of deposits whose swap is stuck: not lost, not settled, needs a person."""
    violations: tuple[Violation, ...]

    @property
    def imbalance(self) -> int:
        """How far all rules together are from holding; 0 is the only good number."""
        return sum(abs(one.difference) for one in self.violations)


async def audit(pool: Pool) -> Audit:
    """Check everything; of what is wrong, the first hundred."""
    async with pool.connection() as connection:
        row: dict[str, Any] = await (await connection.execute(_AUDIT)).fetchone() or {}
    wrong = tuple(
        Violation(str(one["rule"]), str(one["subject"]), int(one["difference"]))
        for one in row.pop("violations")
    )
    return Audit(violations=wrong, **{name: int(value) for name, value in row.items()})


@dataclass(frozen=True, kw_only=True, slots=True)
class StuckSwap:
    """A swap that the mint neither does nor refuses."""

    swap_id: str
    sats: int
    tries: int
    since: datetime
    why: str


async def stuck(pool: Pool) -> list[StuckSwap]:
    """What a person has to look at, oldest first."""
    async with pool.connection() as connection:
        rows = await (await connection.execute(_STUCK)).fetchall()
    return [StuckSwap(**row) for row in rows]


_STUCK = b"""
SELECT swap_id, earn + refund + fee AS sats, tries, coalesce(pending_at, made_at) AS since,
       coalesce(last_error, '') AS why
  FROM payments.swaps WHERE status = 'stuck' ORDER BY since
"""
# Each part gives rows (rule, subject, difference) for what is not as it should be. Amounts that the
# journal moved are `into - out of` an account, by side.
_AUDIT = b"""
WITH journal AS (
    SELECT session_id, account, sum(amount) AS amount FROM (
        SELECT session_id, debit AS account, amount FROM payments.entries
        UNION ALL
        SELECT session_id, credit, -amount FROM payments.entries) AS sides
     GROUP BY session_id, account
), booked AS (
    SELECT account, sum(amount) AS amount FROM journal GROUP BY account
), deposits AS (
    SELECT deposit.*, deposit.status IN ('accepted', 'settling') AS is_held
      FROM payments.deposits deposit
), live AS (
    SELECT * FROM payments.swaps WHERE status <> 'superseded'
), expected (account, amount) AS (
    SELECT 'mint', coalesce(sum(face) FILTER (WHERE is_held), 0) FROM deposits
    UNION ALL SELECT 'balance', -coalesce(sum(balance), 0) FROM payments.sessions
    UNION ALL SELECT 'earned', -coalesce(sum(spent), 0) FROM payments.sessions
    UNION ALL SELECT 'due', -coalesce(sum(credited - consumed), 0) FROM deposits
               WHERE status = 'settling'
    UNION ALL SELECT 'fees', -coalesce(sum(fee) FILTER (WHERE is_held), 0) FROM deposits
    UNION ALL SELECT 'vault', coalesce(sum(amount), 0) FROM payments.vault
    UNION ALL SELECT 'lost', coalesce(sum(earn), 0) FROM live WHERE status = 'lost'
), wrong AS (
    SELECT 'I1 the journal and a session agree on its balance' AS rule,
           s.session_id AS subject, coalesce(-j.amount, 0) - s.balance AS difference
      FROM payments.sessions s
      LEFT JOIN journal j ON j.session_id = s.session_id AND j.account = 'balance'
    UNION ALL
    SELECT 'I1 a session is credited with its deposits', session_id,
           s.credited - coalesce((SELECT sum(credited) FROM deposits d
                                   WHERE d.session_id = s.session_id), 0)
      FROM payments.sessions s
    UNION ALL
    SELECT 'I2 the proofs of a deposit are worth its face', deposit_id,
           d.face - coalesce((SELECT sum(amount) FROM payments.proofs p
                               WHERE p.deposit_id = d.deposit_id), 0)
      FROM deposits d
    UNION ALL
    SELECT 'I3 the journal and the accounts agree', account,
           coalesce(b.amount, 0) - e.amount FROM expected e LEFT JOIN booked b USING (account)
    UNION ALL
    SELECT 'I3 deposited = spent + refunded + held + fees', 'all', d.face - d.fee - s.held
      FROM (SELECT coalesce(sum(face), 0) AS face, coalesce(sum(fee), 0) AS fee FROM deposits) d,
           (SELECT coalesce(sum(spent + refunded + balance), 0) AS held
              FROM payments.sessions) s
    UNION ALL
    SELECT 'I6 charges are what a session spent', session_id,
           s.spent - coalesce((SELECT sum(amount) FROM payments.charges c
                                WHERE c.session_id = s.session_id AND c.status <> 'voided'), 0)
      FROM payments.sessions s
    UNION ALL
    SELECT 'I6 a frozen session has no charge under way', session_id, count(*)
      FROM payments.charges JOIN payments.sessions s USING (session_id)
     WHERE charges.status = 'captured' AND s.frozen_at IS NOT NULL GROUP BY session_id
    UNION ALL
    SELECT 'I7 the vault holds what a swap earned', swap_id,
           live.earn - coalesce((SELECT sum(amount) FROM payments.vault v
                                  WHERE v.swap_id = live.swap_id), 0)
      FROM live WHERE status = 'done'
    UNION ALL
    SELECT 'I7 a refund is what a swap refunds', swap_id,
           live.refund - coalesce((SELECT amount FROM payments.refunds r
                                    WHERE r.swap_id = live.swap_id), 0)
      FROM live WHERE status = 'done'
    UNION ALL
    SELECT 'I7 nothing comes of a swap that is not done', swap_id, 1
      FROM payments.swaps s
     WHERE status <> 'done' AND (
           EXISTS (SELECT FROM payments.vault v WHERE v.swap_id = s.swap_id)
        OR EXISTS (SELECT FROM payments.refunds r WHERE r.swap_id = s.swap_id))
    UNION ALL
    SELECT 'I8 a deposit that settles has its swap, and the swap its worth', deposit_id,
           d.face - coalesce(live.earn + live.refund + live.fee, 0)
      FROM deposits d LEFT JOIN live USING (deposit_id) WHERE d.status <> 'accepted'
    UNION ALL
    SELECT 'I8 what a deposit gave is what was consumed of it', deposit_id, d.consumed - live.earn
      FROM deposits d JOIN live USING (deposit_id)
    UNION ALL
    SELECT 'I9 a frozen session has given all its deposits on', session_id, count(*)
      FROM deposits d JOIN payments.sessions s USING (session_id)
     WHERE d.status = 'accepted' AND s.frozen_at IS NOT NULL GROUP BY session_id
    UNION ALL
    SELECT 'I9 a frozen session spent what its deposits say', session_id,
           s.spent - coalesce((SELECT sum(consumed) FROM deposits d
                                WHERE d.session_id = s.session_id), 0)
      FROM payments.sessions s WHERE s.frozen_at IS NOT NULL
    UNION ALL
    SELECT 'I9 a closed session has nothing at the mint', session_id, count(*)
      FROM deposits d JOIN payments.sessions s USING (session_id)
     WHERE d.is_held AND s.status = 'closed' GROUP BY session_id
)
SELECT (SELECT coalesce(sum(face), 0) FROM deposits) AS deposited,
       (SELECT coalesce(sum(spent), 0) FROM payments.sessions) AS spent,
       (SELECT coalesce(sum(refunded), 0) FROM payments.sessions) AS refunded,
       (SELECT coalesce(sum(balance), 0) FROM payments.sessions) AS held,
       (SELECT coalesce(sum(fee), 0) FROM deposits) AS fees,
       (SELECT coalesce(sum(amount), 0) FROM payments.vault) AS vault,
       (SELECT coalesce(sum(earn), 0) FROM live WHERE status = 'lost') AS lost,
       (SELECT coalesce(sum(earn + refund + fee), 0) FROM live WHERE status = 'stuck') AS stuck,
       coalesce((SELECT json_agg(w) FROM (SELECT * FROM wrong WHERE difference <> 0
                                           ORDER BY rule, subject LIMIT 100) w), '[]') AS violations
"""
