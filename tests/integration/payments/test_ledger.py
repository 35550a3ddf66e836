"""The ledger: idempotent, exact under races, closed when it is closed, and honest in its audit."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from histories import play
from ledger_rig import ALICE, BOB, GRACE, SEALER, Rig, earned, prepare, refund

from bathysphere.core.errors import BathysphereError
from bathysphere.payments.ledger.audit import StuckSwap, audit, stuck_swaps
from bathysphere.payments.ledger.errors import (
    NoPaymentSession,
    PaymentSessionTaken,
    TokenAlreadyUsed,
    Unsealable,
)
from bathysphere.payments.ledger.records import Checked
from bathysphere.payments.ledger.sealing import Sealer

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


async def at_once(*calls):
    """All together; what each gave, or the class of what it raised."""

    async def one(call):
        try:
            return await call
        except BathysphereError as error:
            return type(error)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(call)) for call in calls]
    return [task.result() for task in tasks]


# ── random histories ──


async def test_in_random_histories_every_invariant_holds_after_every_step(payments_database):
    did = await play(payments_database, steps=1000, seed=11)
    assert sum(did.values()) == 1000
    assert len(did) == 22  # every kind of step came


# ── races ──


async def test_one_token_offered_twenty_times_in_two_threads_is_credited_once(rig: Rig):
    await rig.open("one")
    await rig.open("two")
    token = rig.token(64, 32, 4)
    offers = [rig.accounts.deposit(thread, token, payer=ALICE) for thread in ["one", "two"] * 10]
    results = await at_once(*offers)
    credits = [r for r in results if not isinstance(r, type) and r.is_new]
    repeats = [r for r in results if not isinstance(r, type) and not r.is_new]
    refused = [r for r in results if r is TokenAlreadyUsed]
    assert [len(credits), len(repeats), len(refused)] == [1, 9, 10]
    assert credits[0].credited == 99
    assert (await audit(rig.pool)).held == 99
    assert await rig.violations() == []


async def test_sixty_charges_at_once_on_a_balance_for_twenty_five(rig: Rig):
    await rig.funded("one", 255)
    charges = [rig.accounts.charge("one", f"key {n}", 10, payer=ALICE) for n in range(60)]
    outcomes = Counter(posted.outcome for posted in await at_once(*charges))
    assert outcomes == {"charged": 25, "insufficient": 35}
    assert (await rig.accounts.current("one", payer=ALICE)).balance == 5
    assert await rig.violations() == []


async def test_thirty_charges_of_one_key_at_once_are_one(rig: Rig):
    await rig.funded("one", 100)
    charges = [rig.accounts.charge("one", "key", 10, payer=ALICE) for _ in range(30)]
    assert {posted.outcome for posted in await at_once(*charges)} == {"charged"}
    assert (await rig.accounts.current("one", payer=ALICE)).spent == 10
    assert await rig.violations() == []


@pytest.mark.parametrize("round_", range(10))
async def test_no_charge_comes_after_a_close(rig: Rig, round_):
    await rig.funded("one", 1000)

    async def close_and_look():
        await rig.accounts.begin_close("one", payer=ALICE)
        return (await rig.accounts.current("one", payer=ALICE)).spent

    charges = [rig.accounts.charge("one", f"key {n}", 10, payer=ALICE) for n in range(20)]
    results = await at_once(*charges[:10], *(close_and_look() for _ in range(3)), *charges[10:])
    seen = [r for r in results if isinstance(r, int)]
    charged = sum(not isinstance(r, int) and r.outcome == "charged" for r in results)
    assert set(seen) == {charged * 10}  # what a closer saw is what there is for ever
    late = await rig.accounts.charge("one", "late", 10, payer=ALICE)
    assert late.outcome == "no_session"
    with pytest.raises(NoPaymentSession):
        await rig.accounts.deposit("one", rig.token(8), payer=ALICE)
    assert await rig.violations() == []


async def test_workers_that_settle_at_once_settle_each_deposit_once(rig: Rig):
    await rig.open("one")
    for _ in range(6):
        await rig.accounts.deposit("one", rig.token(16), payer=ALICE)
    await rig.accounts.charge("one", "key", 20, payer=ALICE)
    await rig.accounts.complete("one", "key", 20, b"answer")
    session = await rig.accounts.begin_close("one", payer=ALICE)
    freezes = [rig.swaps.freeze(session.session_id, prepare) for _ in range(4)]
    assert set(await at_once(*freezes)) == {True}
    taken = await at_once(*(rig.swaps.take(limit=2) for _ in range(4)))
    swaps = [swap for some in taken for swap in some]
    assert len({swap.swap_id for swap in swaps}) == len(swaps) == 6
    endings = [rig.swaps.complete(s, earned(s), refund(s)) for s in swaps for _ in range(2)]
    assert Counter(await at_once(*endings)) == {True: 6, False: 6}
    assert (await rig.accounts.current("one", payer=ALICE)).status == "closed"
    books = await audit(rig.pool)
    assert (books.vault, books.violations) == (20, ())
    refunds = await rig.refunds.deliver("one", payer=ALICE)
    assert sum(r.amount for r in refunds) == 70


# ── what a charge is ──


async def test_a_charge_is_released_to_what_the_call_cost(rig: Rig):
    await rig.funded("one", 100)
    await rig.accounts.charge("one", "key", 40, payer=ALICE)
    posted = await rig.accounts.complete("one", "key", 13, b"answer")
    assert (posted.outcome, posted.balance, posted.spent) == ("completed", 87, 13)
    again = await rig.accounts.charge("one", "key", 40, payer=ALICE)
    assert (again.outcome, again.memo, again.spent) == ("done", b"answer", 13)
    assert await rig.violations() == []


async def test_a_call_never_costs_more_than_was_reserved(rig: Rig):
    await rig.funded("one", 100)
    await rig.accounts.charge("one", "key", 10, payer=ALICE)
    assert (await rig.accounts.complete("one", "key", 90, b"answer")).spent == 10


async def test_what_a_call_cost_beyond_its_charge_is_booked_once(rig: Rig):
    await rig.funded("one", 100)
    await rig.accounts.charge("one", "key", 41, payer=ALICE)
    for _ in range(2):  # whoever does not hear the answer says it again
        posted = await rig.accounts.complete("one", "key", 321, b"answer")
        assert (posted.balance, posted.spent) == (59, 41)
    books = await audit(rig.pool)
    assert (books.spent, books.shortfall, books.violations) == (41, 280, ())
    async with rig.pool.connection() as connection:
        cursor = await connection.execute(
            "SELECT debit, credit, amount FROM payments.entries WHERE kind = 'shortfall'"
        )
        (entry,) = await cursor.fetchall()
    assert entry == {"debit": "shortfall", "credit": "forgone", "amount": 280}
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.settle()
    assert await rig.violations() == []


async def test_a_voided_charge_is_charged_again_and_an_answer_for_it_is_refused(rig: Rig):
    await rig.funded("one", 10)
    await rig.accounts.charge("one", "key", 10, payer=ALICE)
    assert await rig.accounts.void("one", "key")
    assert (await rig.accounts.complete("one", "key", 10, b"answer")).outcome == "voided"
    assert (await rig.accounts.charge("one", "key", 10, payer=ALICE)).outcome == "charged"
    assert (await rig.accounts.complete("one", "key", 10, b"answer")).outcome == "completed"
    assert not await rig.accounts.void("one", "key")
    assert await rig.violations() == []


async def test_a_cancelled_call_is_free_for_its_own_run_and_costs_again_in_another(rig: Rig):
    await rig.funded("one", 100)
    await rig.accounts.charge("one", "key", 10, payer=ALICE, holder="run 1")
    await rig.accounts.keep("one", "key")
    own = await rig.accounts.charge("one", "key", 10, payer=ALICE, holder="run 1")
    assert (own.outcome, own.spent) == ("charged", 10)
    other = await rig.accounts.charge("one", "key", 10, payer=ALICE, holder="run 2")
    assert (other.outcome, other.spent) == ("charged", 20)
    await rig.accounts.keep("one", "key")
    assert (await rig.accounts.charge("one", "key", 90, payer=ALICE, holder="run 3")).outcome == (
        "insufficient"
    )
    third = await rig.accounts.charge("one", "key", 10, payer=ALICE, holder="run 3")
    await rig.accounts.complete("one", "key", 10, b"answer")
    again = await rig.accounts.charge("one", "key", 10, payer=ALICE, holder="run 4")
    assert (third.spent, again.outcome, again.memo, again.spent) == (30, "done", b"answer", 30)
    assert await rig.violations() == []


async def test_another_payer_cannot_charge_or_see_the_account(rig: Rig):
    await rig.funded("one", 100)
    stranger = await rig.accounts.charge("one", "k", 1, payer=BOB)
    assert (stranger.outcome, stranger.balance, stranger.spent) == ("no_session", 0, 0)
    assert await rig.accounts.current("one", payer=BOB) is None
    with pytest.raises(NoPaymentSession):
        await rig.accounts.begin_close("one", payer=BOB)
    with pytest.raises(NoPaymentSession):
        await rig.accounts.deposit("one", rig.token(8), payer=BOB)
    with pytest.raises(PaymentSessionTaken):
        await rig.open("one", payer=BOB)
    with pytest.raises(PaymentSessionTaken):
        await rig.open("one", key="02ee")
    assert await rig.refunds.deliver("one", payer=BOB) == []


async def test_a_used_proof_beside_fresh_ones_is_refused_whole(rig: Rig):
    await rig.open("one")
    first, fresh = rig.token(8), rig.token(4)
    await rig.accounts.deposit("one", first, payer=ALICE)
    mixed = Checked(face=12, fee=1, locktime=first.locktime, proofs=(*first.proofs, *fresh.proofs))
    with pytest.raises(TokenAlreadyUsed):
        await rig.accounts.deposit("one", mixed, payer=ALICE)
    assert (await rig.accounts.deposit("one", fresh, payer=ALICE)).credited == 3


# ── closing ──


async def test_a_close_waits_for_a_call_under_way_and_then_counts_it(rig: Rig):
    session = await rig.funded("one", 100)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.begin_close("one", payer=ALICE)
    assert not await rig.swaps.freeze(session.session_id, prepare)
    assert (await rig.accounts.complete("one", "key", 30, b"answer")).outcome == "completed"
    assert await rig.settle() == 1
    assert [r.amount for r in await rig.refunds.deliver("one", payer=ALICE)] == [70]


async def test_a_call_that_nobody_finishes_costs_nothing_in_the_end(rig: Rig):
    await rig.funded("one", 100)
    await rig.accounts.charge("one", "lost", 30, payer=ALICE)
    await rig.accounts.charge("one", "cancelled", 20, payer=ALICE)
    await rig.accounts.keep("one", "cancelled")
    await rig.accounts.begin_close("one", payer=ALICE)
    assert await rig.settle() == 0
    rig.clock.wait(GRACE + timedelta(seconds=1))
    assert await rig.settle() == 1
    assert (await rig.accounts.complete("one", "lost", 30, b"answer")).outcome == "voided"
    assert [r.amount for r in await rig.refunds.deliver("one", payer=ALICE)] == [80]
    assert await rig.violations() == []


async def test_a_call_that_was_cut_off_after_it_streamed_is_not_given_back(rig: Rig):
    session = await rig.funded("one", 100)
    for key in ("streamed", "silent", "failed"):
        await rig.accounts.charge("one", key, 30, payer=ALICE)
    await rig.accounts.mark_streamed("one", "streamed")
    await rig.accounts.mark_streamed("one", "failed")
    assert await rig.accounts.void("one", "failed")
    await rig.accounts.charge("one", "failed", 30, payer=ALICE)  # made again, not streamed
    # Whoever takes the step up again has the charge.
    again = await rig.accounts.charge("one", "streamed", 30, payer=ALICE, holder="another run")
    assert (again.outcome, again.spent) == ("charged", 90)
    await rig.accounts.begin_close("one", payer=ALICE)
    rig.clock.wait(GRACE + timedelta(seconds=1))
    assert await rig.swaps.freeze(session.session_id, prepare)
    assert await rig.settle() == 1
    assert [r.amount for r in await rig.refunds.deliver("one", payer=ALICE)] == [70]
    assert await rig.violations() == []


async def test_money_after_a_close_goes_to_the_next_epoch_and_answers_are_remembered(rig: Rig):
    await rig.funded("one", 50)
    await rig.accounts.charge("one", "key", 10, payer=ALICE)
    await rig.accounts.complete("one", "key", 10, b"answer")
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.settle()
    second = await rig.funded("one", 70)
    assert (second.epoch, second.balance) == (2, 70)
    again = await rig.accounts.charge("one", "key", 10, payer=ALICE)
    assert (again.outcome, again.memo) == ("done", b"answer")
    assert (await rig.accounts.current("one", payer=ALICE)).balance == 70


async def test_sessions_close_by_themselves_before_the_locktime_and_when_nobody_comes(rig: Rig):
    await rig.open("soon")
    await rig.accounts.deposit("soon", rig.token(16, hours=5), payer=ALICE)
    await rig.open("idle")
    await rig.accounts.deposit("idle", rig.token(16, hours=500), payer=ALICE)
    idle = timedelta(hours=12)
    assert await rig.accounts.close_overdue(idle=idle) == []
    rig.clock.wait(timedelta(hours=4))
    soon = await rig.accounts.current("soon", payer=ALICE)
    assert soon.expires_at == rig.clock.now()
    assert rig.accounts.is_expired(soon)
    # Even if no sweep ran, a charge that could be taken back is not made.
    assert (await rig.accounts.charge("soon", "key", 1, payer=ALICE)).outcome == "expired"
    assert len(await rig.accounts.close_overdue(idle=idle)) == 1
    rig.clock.wait(timedelta(hours=12))
    assert len(await rig.accounts.close_overdue(idle=idle)) == 1


async def test_what_was_taken_back_after_the_locktime_is_booked_as_a_loss(rig: Rig):
    await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.complete("one", "key", 30, b"answer")
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (swap,) = await rig.swaps.take()
    assert await rig.swaps.mark_lost(swap, "11001") is True
    assert await rig.swaps.mark_lost(swap, "11001") is False
    books = await audit(rig.pool)
    assert (books.lost, books.vault, books.violations) == (30, 0, ())
    assert (await rig.accounts.current("one", payer=ALICE)).status == "closed"


async def test_the_journal_says_what_each_entry_is(rig: Rig):
    for thread, end in (("kept", rig.swaps.complete), ("gone", rig.swaps.mark_lost)):
        session = await rig.funded(thread, 99)
        await rig.accounts.charge(thread, thread, 30, payer=ALICE)
        await rig.accounts.complete(thread, thread, 20, b"answer")
        await rig.accounts.begin_close(thread, payer=ALICE)
        await rig.swaps.freeze(session.session_id, prepare)
        (swap,) = await rig.swaps.take()
        rest = (earned(swap), refund(swap)) if thread == "kept" else ("11001",)
        assert await end(swap, *rest)
    async with rig.pool.connection() as connection:
        rows = await (
            await connection.execute(
                "SELECT DISTINCT thread_id, kind FROM payments.entries"
                " JOIN payments.sessions USING (session_id)"
            )
        ).fetchall()
    kinds = {(row["thread_id"], row["kind"]) for row in rows}
    both = {"deposit", "charge", "release", "close"}
    assert kinds == {("kept", kind) for kind in both | {"settle"}} | {
        ("gone", kind) for kind in both | {"loss"}
    }


async def test_a_swap_that_gave_less_than_was_asked_for_is_not_done(rig: Rig):
    session = await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.complete("one", "key", 30, b"answer")
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (swap,) = await rig.swaps.take()
    for gave in (([], refund(swap)), (earned(swap), None)):
        with pytest.raises(ValueError, match="does not match"):
            await rig.swaps.complete(swap, *gave)
    assert (await audit(rig.pool)).vault == 0
    assert await rig.swaps.complete(swap, earned(swap), refund(swap))
    async with rig.pool.connection() as connection:
        row = await (await connection.execute("SELECT y, proof FROM payments.vault")).fetchone()
    assert SEALER.open(f"vault/{row['y']}", row["proof"]) == b"money"


async def test_an_account_without_money_is_closed_at_once(rig: Rig):
    await rig.open("one")
    await rig.accounts.begin_close("one", payer=ALICE)
    assert await rig.settle() == 0
    assert (await rig.accounts.current("one", payer=ALICE)).status == "closed"
    assert (await rig.accounts.begin_close("one", payer=ALICE)).status == "closed"  # once more


async def test_attempts_are_counted_so_that_they_can_end(rig: Rig):
    session = await rig.funded("one", 20)
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    for attempt in (1, 2, 3):
        (swap,) = await rig.swaps.take(limit=9)
        assert swap.attempt == attempt
        assert await rig.swaps.supersede(swap, prepare, "keyset gone") is True
        assert await rig.swaps.supersede(swap, prepare, "keyset gone") is False
    assert await rig.violations() == []


async def test_a_stuck_swap_is_counted_and_can_still_end_well(rig: Rig):
    await rig.funded("one", 99)
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (swap,) = await rig.swaps.take()
    later = timedelta(minutes=10)
    assert await rig.swaps.mark_stuck(swap, "11002", look_again=later) is True
    assert (await audit(rig.pool)).stuck == 100
    assert await stuck_swaps(rig.pool) == [
        StuckSwap(swap_id=swap.swap_id, sats=100, tries=1, since=rig.clock.now(), why="11002")
    ]
    assert await rig.swaps.take() == []
    rig.clock.wait(timedelta(minutes=11))
    assert await rig.settle() == 1
    assert (await audit(rig.pool)).stuck == 0
    assert await rig.swaps.mark_stuck(swap, "11002", look_again=later) is False  # it is done


async def test_a_lease_that_ran_out_gives_the_same_swap_to_another(rig: Rig):
    await rig.funded("one", 99)
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (first,) = await rig.swaps.take(lease=timedelta(minutes=1))
    assert await rig.swaps.take() == []
    rig.clock.wait(timedelta(minutes=2))
    (second,) = await rig.swaps.take()
    assert (second.swap_id, second.body, second.tries) == (first.swap_id, first.body, 2)
    await rig.swaps.postpone(first, "late", after=timedelta(hours=1))  # no longer its own
    assert await rig.swaps.complete(second, earned(second), refund(second))
    assert not await rig.swaps.complete(first, earned(first), refund(first))


async def test_a_swap_is_pending_from_the_first_time_that_the_mint_says_so(rig: Rig):
    await rig.funded("one", 99)
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    minute, seen = timedelta(minutes=1), []
    for is_pending in ({}, {"is_pending": True}, {"is_pending": True}, {}):
        (swap,) = await rig.swaps.take()
        await rig.swaps.postpone(swap, "later", after=minute, **is_pending)
        assert await rig.swaps.take() == []
        rig.clock.wait(minute)
        (looked,) = await rig.swaps.take()
        await rig.swaps.postpone(looked, "later", after=minute, is_pending=bool(is_pending))
        seen.append(looked.pending_at)
        rig.clock.wait(minute)
    began = datetime(2026, 11, 1, tzinfo=UTC) + 2 * minute
    assert seen == [None, began, began, None]


async def test_a_refund_is_delivered_as_often_as_it_is_asked_for(rig: Rig):
    await rig.funded("one", 99)
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.settle()
    first = await rig.refunds.deliver("one", payer=ALICE)
    second = await rig.refunds.deliver("one", payer=ALICE)
    assert [r.token for r in first] == [r.token for r in second]
    assert [r.refund_id for r in await rig.refunds.unclaimed()] == [first[0].refund_id]
    await rig.refunds.mark_claimed([first[0].refund_id])
    assert await rig.refunds.unclaimed() == []
    assert [r.status for r in await rig.refunds.deliver("one", payer=ALICE)] == ["claimed"]


# ── the database itself refuses ──

FORBIDDEN = [
    "UPDATE payments.sessions SET spent = spent + 1000000",
    "UPDATE payments.entries SET amount = 1",
    "DELETE FROM payments.entries",
    "DELETE FROM payments.proofs",
    "DELETE FROM payments.sessions",
    "UPDATE payments.deposits SET credited = credited + 1",
    "UPDATE payments.swaps SET body = 'x'",
    "UPDATE payments.swaps SET status = 'prepared'",
    "UPDATE payments.sessions SET status = 'open'",
    "UPDATE payments.sessions SET spent = 0",
    "INSERT INTO payments.swaps SELECT 'again', deposit_id, 2, 'done', body, outputs, earn, refund,"
    " fee, tries, pending_at, last_error, due_at, leased_by, leased_till, made_at, ended_at"
    " FROM payments.swaps",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
async def test_the_database_refuses_what_would_break_the_books(rig: Rig, statement):
    await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.complete("one", "key", 30, b"answer")
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.settle()
    with pytest.raises(psycopg.errors.IntegrityError):
        async with rig.pool.connection() as connection:
            await connection.execute(statement)


TAMPERED = [
    ("ALTER TABLE payments.entries DISABLE TRIGGER entries_stay;"
     " UPDATE payments.entries SET amount = amount + 1 WHERE kind = 'charge'", "I3"),
    ("UPDATE payments.charges SET amount = amount + 1", "I6"),
    ("UPDATE payments.charges SET status = 'voided'", "I6"),
    ("UPDATE payments.charges SET shortfall = 5", "I6 the journal has the shortfall"),
    ("INSERT INTO payments.vault SELECT 'y', swap_id, 5, 'x' FROM payments.swaps", "I7"),
    ("UPDATE payments.refunds SET amount = amount - 1", "I7"),
    ("DELETE FROM payments.vault", "I7"),
    ("UPDATE payments.deposits SET status = 'accepted'", "I9"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "rule"), TAMPERED)
async def test_the_audit_finds_what_no_constraint_can_hold(rig: Rig, statement, rule):
    await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.complete("one", "key", 30, b"answer")
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.settle()
    assert await rig.violations() == []
    async with rig.pool.connection() as connection, connection.transaction(force_rollback=True):
        await connection.execute(statement)

        class Here:
            """A pool that gives the connection whose changes are not committed."""

            def connection(self):
                return self

            async def __aenter__(self):
                return connection

            async def __aexit__(self, *error):
                return None

        found = await audit(Here())
        assert found.imbalance > 0
        assert any(one.rule.startswith(rule) for one in found.violations)


# ── secrets at rest ──


async def test_no_secret_stands_in_the_database_in_clear(rig: Rig):
    await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.complete("one", "key", 30, b"answer")
    await rig.accounts.begin_close("one", payer=ALICE)
    await rig.settle()
    async with rig.pool.connection() as connection:
        for table, column in [
            ("proofs", "proof"), ("swaps", "body"), ("swaps", "outputs"), ("vault", "proof"),
        ]:  # fmt: skip
            cursor = await connection.execute(f"SELECT {column} FROM payments.{table}")
            (row,) = await cursor.fetchall()
            assert row[column][:1] == b"\x01"
            assert not any(word in row[column] for word in (b"secret", b"body", b"out", b"money"))


def test_what_was_sealed_long_ago_still_opens():
    sealed = "01135007f72be39e5bbd261979cfab65d98bd7a3924d8aefc52645544ace06153cb5"
    assert SEALER.open("vault/1", bytes.fromhex(sealed)) == b"money"


def test_a_sealed_value_opens_only_at_its_place_and_with_its_secret():
    sealer = Sealer(b"one")
    sealed = sealer.seal("proofs/a", b"money")
    assert sealer.open("proofs/a", sealed) == b"money"
    assert sealer.seal("proofs/a", b"money") != sealed
    for other, place, value in [
        (sealer, "proofs/b", sealed),
        (Sealer(b"two"), "proofs/a", sealed),
        (sealer, "proofs/a", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (sealer, "proofs/a", b""),
        (sealer, "proofs/a", b"\x02" + sealed[1:]),
    ]:
        with pytest.raises(Unsealable):
            other.open(place, value)
