"""The audit: every invariant of the ledger, checked in one query and so on one snapshot.

Database constraints enforce what they can. The rest is checked here: that the journal, accounts,
deposits, charges, swaps and their results are consistent.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bathysphere.payments.ledger.records import Pool


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated rule, its subject, and the difference."""

    rule: str
    subject: str
    difference: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """Totals of the ledger, and its violations."""

    deposited: int
    spent: int
    refunded: int
    held: int
    fees: int
    vault: int
    lost: int
    stuck: int
    """Value of deposits whose swap is stuck: neither lost nor settled; needs attention."""
    withdrawn: int
    """Total withdrawn from the vault by the operator."""
    shortfall: int
    """Cost of model calls beyond their charges; the operator bears it."""
    violations: tuple[Violation, ...]

    @property
    def imbalance(self) -> int:
        """The sum of all differences; 0 unless something is wrong."""
        return sum(abs(one.difference) for one in self.violations)


async def audit(pool: Pool) -> Audit:
    """Check all invariants; report at most 100 violations."""
    async with pool.connection() as connection:
        row: dict[str, Any] = await (await connection.execute(_AUDIT)).fetchone() or {}
    wrong = tuple(
        Violation(str(one["rule"]), str(one["subject"]), int(one["difference"]))
        for one in row.pop("violations")
    )
    return Audit(violations=wrong, **{name: int(value) for name, value in row.items()})


@dataclass(frozen=True, kw_only=True, slots=True)
class StuckSwap:
    """A swap that the mint neither performs nor refuses, or a session that cannot be frozen."""

    swap_id: str
    """The id of the swap, or of the session if it has none yet."""
    sats: int
    tries: int
    since: datetime
    why: str


async def stuck_swaps(pool: Pool) -> list[StuckSwap]:
    """List swaps and sessions that need an operator's attention, oldest first."""
    async with pool.connection() as connection:
        rows = await (await connection.execute(_STUCK)).fetchall()
    return [StuckSwap(**row) for row in rows]


_STUCK = b"""
SELECT swap_id, earn + refund + fee AS sats, tries, coalesce(pending_at, made_at) AS since,
       coalesce(last_error, '') AS why
  FROM payments.swaps WHERE status = 'stuck'
UNION ALL
SELECT session_id, credited, 0, closing_at, freeze_error
  FROM payments.sessions WHERE freeze_error IS NOT NULL
 ORDER BY since
"""
# Each part yields rows (rule, subject, difference) for a violated rule. Amounts from the journal
# are debits minus credits of an account.
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
), vault AS (
    SELECT vault.*, taken.y IS NOT NULL AS is_withdrawn, taken.withdrawal_id
      FROM payments.vault vault LEFT JOIN payments.withdrawn taken USING (y)
), expected (account, amount) AS (
    SELECT 'mint', coalesce(sum(face) FILTER (WHERE is_held), 0) FROM deposits
    UNION ALL SELECT 'balance', -coalesce(sum(balance), 0) FROM payments.sessions
    UNION ALL SELECT 'earned', -coalesce(sum(spent), 0) FROM payments.sessions
    UNION ALL SELECT 'due', -coalesce(sum(credited - consumed), 0) FROM deposits
               WHERE status = 'settling'
    UNION ALL SELECT 'fees', -coalesce(sum(fee) FILTER (WHERE is_held), 0) FROM deposits
    UNION ALL SELECT 'vault', coalesce(sum(amount) FILTER (WHERE NOT is_withdrawn), 0) FROM vault
    UNION ALL SELECT 'withdrawn', coalesce(sum(amount) FILTER (WHERE is_withdrawn), 0) FROM vault
    UNION ALL SELECT 'shortfall', coalesce(sum(shortfall), 0) FROM payments.charges
    UNION ALL SELECT 'forgone', -coalesce(sum(shortfall), 0) FROM payments.charges
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
    SELECT 'I6 a session spent the sum of its charges', session_id,
           s.spent - coalesce((SELECT sum(amount) FROM payments.charges c
                                WHERE c.session_id = s.session_id AND c.status <> 'voided'), 0)
      FROM payments.sessions s
    UNION ALL
    SELECT 'I6 the journal has the shortfall of every charge', s.session_id,
           coalesce(j.amount, 0) - (SELECT coalesce(sum(shortfall), 0) FROM payments.charges c
                                     WHERE c.session_id = s.session_id)
      FROM payments.sessions s
      LEFT JOIN journal j ON j.session_id = s.session_id AND j.account = 'shortfall'
    UNION ALL
    SELECT 'I6 a frozen session has no charge in progress', session_id, count(*)
      FROM payments.charges JOIN payments.sessions s USING (session_id)
     WHERE charges.status = 'captured' AND s.frozen_at IS NOT NULL GROUP BY session_id
    UNION ALL
    SELECT 'I7 the vault holds what a swap earned', swap_id,
           live.earn - coalesce((SELECT sum(amount) FROM payments.vault v
                                  WHERE v.swap_id = live.swap_id), 0)
      FROM live WHERE status = 'done'
    UNION ALL
    SELECT 'I7 a refund equals the refund of its swap', swap_id,
           live.refund - coalesce((SELECT amount FROM payments.refunds r
                                    WHERE r.swap_id = live.swap_id), 0)
      FROM live WHERE status = 'done'
    UNION ALL
    SELECT 'I7 an unfinished swap has no results', swap_id, 1
      FROM payments.swaps s
     WHERE status <> 'done' AND (
           EXISTS (SELECT FROM payments.vault v WHERE v.swap_id = s.swap_id)
        OR EXISTS (SELECT FROM payments.refunds r WHERE r.swap_id = s.swap_id))
    UNION ALL
    SELECT 'I8 a settling deposit has a swap of the same value', deposit_id,
           d.face - coalesce(live.earn + live.refund + live.fee, 0)
      FROM deposits d LEFT JOIN live USING (deposit_id) WHERE d.status <> 'accepted'
    UNION ALL
    SELECT 'I8 a swap earns what was consumed of its deposit', deposit_id, d.consumed - live.earn
      FROM deposits d JOIN live USING (deposit_id)
    UNION ALL
    SELECT 'I9 all deposits of a frozen session are settling or settled', session_id, count(*)
      FROM deposits d JOIN payments.sessions s USING (session_id)
     WHERE d.status = 'accepted' AND s.frozen_at IS NOT NULL GROUP BY session_id
    UNION ALL
    SELECT 'I9 a frozen session spent what was consumed of its deposits', session_id,
           s.spent - coalesce((SELECT sum(consumed) FROM deposits d
                                WHERE d.session_id = s.session_id), 0)
      FROM payments.sessions s WHERE s.frozen_at IS NOT NULL
    UNION ALL
    SELECT 'I9 a closed session has nothing at the mint', session_id, count(*)
      FROM deposits d JOIN payments.sessions s USING (session_id)
     WHERE d.is_held AND s.status = 'closed' GROUP BY session_id
    UNION ALL
    SELECT 'I10 a withdrawal is worth the proofs that it took', withdrawal_id,
           w.amount - coalesce((SELECT sum(amount) FROM vault v
                                 WHERE v.withdrawal_id = w.withdrawal_id), 0)
      FROM payments.withdrawals w
    UNION ALL
    SELECT 'I10 the journal has every withdrawal', withdrawal_id,
           w.amount - coalesce((SELECT sum(amount) FROM payments.entries e
                                 WHERE e.kind = 'withdraw' AND e.ref = w.withdrawal_id), 0)
      FROM payments.withdrawals w
)
SELECT (SELECT coalesce(sum(face), 0) FROM deposits) AS deposited,
       (SELECT coalesce(sum(spent), 0) FROM payments.sessions) AS spent,
       (SELECT coalesce(sum(refunded), 0) FROM payments.sessions) AS refunded,
       (SELECT coalesce(sum(balance), 0) FROM payments.sessions) AS held,
       (SELECT coalesce(sum(fee), 0) FROM deposits) AS fees,
       (SELECT coalesce(sum(amount) FILTER (WHERE NOT is_withdrawn), 0) FROM vault) AS vault,
       (SELECT coalesce(sum(amount) FILTER (WHERE is_withdrawn), 0) FROM vault) AS withdrawn,
       (SELECT coalesce(sum(shortfall), 0) FROM payments.charges) AS shortfall,
       (SELECT coalesce(sum(earn), 0) FROM live WHERE status = 'lost') AS lost,
       (SELECT coalesce(sum(earn + refund + fee), 0) FROM live WHERE status = 'stuck') AS stuck,
       coalesce((SELECT json_agg(w) FROM (SELECT * FROM wrong WHERE difference <> 0
                                           ORDER BY rule, subject LIMIT 100) w), '[]') AS violations
"""
