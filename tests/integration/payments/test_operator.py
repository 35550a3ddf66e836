"""What an operator does: audit, sweep, stuck; a sweep that outlives its services."""

import asyncio
import json
from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest
from ledger_rig import ALICE, Rig, earned, prepare, refund
from paid_town import SECRET

from bathysphere.cli.main import main
from bathysphere.cli.payments import PROBLEMS_FOUND
from bathysphere.core.payments import Paid
from bathysphere.engine.attempt_services.purse import FencedPurse
from bathysphere.engine.errors import Superseded
from bathysphere.server.payments.service import Payments

pytestmark = pytest.mark.services


async def command(capsys, database, *words):
    """Run `bathysphere payments …`; its exit code and what it printed."""
    arguments = ["payments", "--database-url", database.url, *words]
    code = await asyncio.to_thread(main, arguments)
    return code, capsys.readouterr().out


async def test_the_audit_prints_the_books_and_fails_when_they_are_wrong(
    rig: Rig, payments_database, capsys
):
    await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    code, printed = await command(capsys, payments_database, "audit")
    books = json.loads(printed)
    assert (code, books["held"], books["spent"], books["imbalance"]) == (0, 69, 30, 0)
    async with rig.pool.connection() as connection:
        await connection.execute("UPDATE payments.charges SET amount = 31")
    code, printed = await command(capsys, payments_database, "audit")
    assert code == PROBLEMS_FOUND
    assert [one["rule"] for one in json.loads(printed)["violations"]] == [
        "I6 a session spent the sum of its charges"
    ]


async def test_what_is_stuck_is_shown_and_fails(rig: Rig, payments_database, capsys):
    assert (await command(capsys, payments_database, "stuck"))[0] == 0
    await rig.funded("one", 99)
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (swap,) = await rig.swaps.take()
    await rig.swaps.mark_stuck(swap, "the mint says pending", look_again=timedelta(hours=1))
    code, printed = await command(capsys, payments_database, "stuck")
    assert code == PROBLEMS_FOUND
    assert swap.swap_id in printed
    assert "the mint says pending" in printed


async def test_a_sweep_needs_a_mint(rig: Rig, payments_database, capsys, monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_PAYMENTS_MINT", raising=False)
    assert (await command(capsys, payments_database, "sweep"))[0] == 1


async def test_a_sweep_settles_what_is_due(
    rig: Rig, payments_database, capsys, monkeypatch, free_mint
):
    monkeypatch.setenv("BATHYSPHERE_PAYMENTS_MINT", free_mint.url)
    monkeypatch.setenv("BATHYSPHERE_PAYMENTS_SECRET", SECRET)
    await rig.open("one")
    await rig.accounts.begin_close("one", payer=ALICE)
    code, printed = await command(capsys, payments_database, "sweep")
    assert (code, json.loads(printed)) == (0, {"frozen": 1})
    assert (await rig.accounts.current("one", payer=ALICE)).status == "closed"


async def test_a_sweep_goes_on_when_postgresql_or_the_mint_is_away():
    turns = []

    class Away:
        async def turn(self):
            turns.append(len(turns))
            if len(turns) == 1:
                raise psycopg.OperationalError("gone")
            if len(turns) == 2:
                raise ExceptionGroup("several", [psycopg.OperationalError("gone")])
            raise asyncio.CancelledError

    payments = Payments(service=None, settlement=Away(), mint=None, sweep_seconds=0.001)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(payments.sweep(), 5)
    assert turns == [0, 1, 2]


async def test_an_attempt_that_was_taken_over_charges_nothing(rig: Rig):
    class Purse:
        charged = 0

        async def charge(self, key, amount):
            self.charged += amount
            return Paid(balance=0, spent=amount)

        kept = 0

        async def keep(self, key):
            self.kept += 1

    purse, run, thread = Purse(), uuid4(), uuid4()
    async with rig.pool.connection() as connection:
        await connection.execute(
            "INSERT INTO engine.threads (thread_id, tenant, owner) VALUES (%s, 't', 'o')", (thread,)
        )
        await connection.execute(
            "INSERT INTO engine.runs (run_id, thread_id, tenant, owner, graph, work, tag, token)"
            " VALUES (%s, %s, 't', 'o', 'g', '{}', 0, 7)",
            (run, thread),
        )
    mine = FencedPurse(purse, rig.pool, run_id=run, token=7)
    late = FencedPurse(purse, rig.pool, run_id=run, token=6)
    await mine.charge("key", 10)
    with pytest.raises(Superseded):
        await late.charge("key", 10)
    assert purse.charged == 10
    await mine.keep("key")  # a worker that leaves: whoever takes the run up has the charge
    assert purse.kept == 0
    async with rig.pool.connection() as connection:
        await connection.execute("UPDATE engine.runs SET cancel = 'interrupt'")
    await mine.keep("key")
    assert purse.kept == 1


async def test_a_swap_that_gave_something_else_is_not_written_down(rig: Rig):
    await rig.funded("one", 99)
    await rig.accounts.charge("one", "key", 30, payer=ALICE)
    await rig.accounts.complete("one", "key", 30, b"answer")
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (swap,) = await rig.swaps.take()
    for wrong in (([], refund(swap)), (earned(swap), None), (earned(swap) * 2, refund(swap))):
        with pytest.raises(ValueError, match="does not match"):
            await rig.swaps.complete(swap, *wrong)
    assert await rig.swaps.complete(swap, earned(swap), refund(swap))
