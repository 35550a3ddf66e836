"""What an operator earned leaves the vault once, whatever dies in between."""

import asyncio

import psycopg
import pytest
from ledger_rig import ALICE, Rig, empty, prepare, refund
from money_rig import MASTER, open_money
from paid_town import SECRET

from bathysphere.cli.main import main
from bathysphere.payments.ledger.audit import audit
from bathysphere.payments.ledger.records import Proof
from bathysphere.payments.ledger.withdrawals import LEASE, CannotWithdraw
from bathysphere.testing.wallet import Wallet

pytestmark = pytest.mark.services


async def earn(rig: Rig, thread: str, *amounts: int) -> None:
    """A session that spent so much, settled: the vault has proofs of these amounts."""
    await rig.funded(thread, 200)
    await rig.accounts.charge(thread, thread, sum(amounts), payer=ALICE)
    await rig.accounts.complete(thread, thread, sum(amounts), b"answer")
    session = await rig.accounts.begin_close(thread, payer=ALICE)
    await rig.swaps.freeze(session.session_id, prepare)
    (swap,) = await rig.swaps.take()
    earned = [Proof(f"{thread} {n}", sats, f"{thread} {n}".encode())
              for n, sats in enumerate(amounts)]  # fmt: skip
    await rig.swaps.complete(swap, earned, refund(swap))


async def test_all_earnings_leave_once_and_the_books_agree(rig: Rig):
    await earn(rig, "one", 16, 4, 1)
    await earn(rig, "two", 8)
    made = await rig.withdrawals.withdraw()
    assert (made.amount, len(made.proofs)) == (29, 4)
    books = await audit(rig.pool)
    assert (books.vault, books.withdrawn, books.violations) == (0, 29, ())
    await rig.withdrawals.mark_shown(made.withdrawal_id)
    with pytest.raises(CannotWithdraw, match="empty"):
        await rig.withdrawals.withdraw()


async def test_a_part_is_exactly_what_was_asked_for(rig: Rig):
    await earn(rig, "one", 16, 4, 1)
    made = await rig.withdrawals.withdraw(17)
    assert sorted(made.proofs) == [b"one 0", b"one 2"]
    with pytest.raises(CannotWithdraw, match="exactly 3 sats"):
        await rig.withdrawals.withdraw(3)
    books = await audit(rig.pool)
    assert (books.vault, books.withdrawn, books.violations) == (4, 17, ())


async def test_a_command_that_died_before_it_showed_the_token_loses_nothing(rig: Rig):
    await earn(rig, "one", 16, 4)
    lost = await rig.withdrawals.withdraw(16)
    other = await rig.withdrawals.withdraw()  # at once: somebody may still be showing the first
    assert set(other.proofs) == {b"one 1"}
    await rig.withdrawals.mark_shown(other.withdrawal_id)
    rig.clock.time += LEASE
    assert await rig.withdrawals.withdraw() == lost
    with pytest.raises(CannotWithdraw):
        await rig.withdrawals.withdraw()  # leased again
    await rig.withdrawals.mark_shown(lost.withdrawal_id)
    assert await rig.withdrawals.get(lost.withdrawal_id) == lost
    with pytest.raises(CannotWithdraw, match="Unknown withdrawal"):
        await rig.withdrawals.get("withdrawal_none")


async def test_commands_at_once_take_different_proofs(rig: Rig):
    await earn(rig, "one", *[1] * 12)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(rig.withdrawals.withdraw(2)) for _ in range(6)]
    proofs = [proof for task in tasks for proof in task.result().proofs]
    assert (len(proofs), len(set(proofs))) == (12, 12)
    assert (await audit(rig.pool)).violations == ()


async def test_the_database_refuses_to_withdraw_a_proof_twice_or_to_take_it_back(rig: Rig):
    await earn(rig, "one", 16)
    made = await rig.withdrawals.withdraw()
    for statement in (
        "INSERT INTO payments.withdrawn SELECT y, withdrawal_id FROM payments.withdrawn",
        "DELETE FROM payments.withdrawn",
        "UPDATE payments.withdrawals SET amount = 1",
    ):
        with pytest.raises(psycopg.IntegrityError):
            async with rig.pool.connection() as connection:
                await connection.execute(statement)
    assert made.amount == 16


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("INSERT INTO payments.withdrawals VALUES ('w', 5, now(), now(), now())", "I10"),
        ("ALTER TABLE payments.withdrawn DISABLE TRIGGER ALL; DELETE FROM payments.withdrawn;"
         " ALTER TABLE payments.withdrawn ENABLE TRIGGER ALL", "I10"),
    ],
)  # fmt: skip
async def test_the_audit_finds_a_withdrawal_that_is_wrong(rig: Rig, planted, rule):
    await earn(rig, "one", 16)
    await rig.withdrawals.withdraw()
    async with rig.pool.connection() as connection:
        await connection.execute(planted)
    assert any(one.rule.startswith(rule) for one in (await audit(rig.pool)).violations)


async def test_the_command_says_what_is_missing(rig: Rig, payments_database, capsys, monkeypatch):
    monkeypatch.delenv("BATHYSPHERE_PAYMENTS_MINT", raising=False)
    command = ["payments", "--database-url", payments_database.url, "withdraw"]
    assert await asyncio.to_thread(main, command) == 1
    assert "BATHYSPHERE_PAYMENTS_MINT" in capsys.readouterr().err
    monkeypatch.setenv("BATHYSPHERE_PAYMENTS_MINT", "http://127.0.0.1:1")
    monkeypatch.setenv("BATHYSPHERE_PAYMENTS_SECRET", SECRET)
    assert await asyncio.to_thread(main, command) == 1
    assert "The vault is empty" in capsys.readouterr().err
    assert await asyncio.to_thread(main, [*command, "--sats", "0"]) == 1
    assert "Invalid amount: 0" in capsys.readouterr().err


async def test_a_swap_or_session_that_is_wrong_is_shown_and_does_not_hold_up_others(rig: Rig):
    await rig.funded("one", 99)
    session = await rig.accounts.begin_close("one", payer=ALICE)
    await rig.swaps.record_freeze_error(session.session_id, "ValueError: no key for 3")
    await rig.funded("two", 99)
    later = await rig.accounts.begin_close("two", payer=ALICE)
    assert await rig.swaps.closing(limit=1) == [later.session_id]
    from bathysphere.payments.ledger.audit import stuck_swaps

    assert [(one.swap_id, one.why) for one in await stuck_swaps(rig.pool)] == [
        (session.session_id, "ValueError: no key for 3")
    ]
    await rig.swaps.freeze(session.session_id, prepare)
    assert await stuck_swaps(rig.pool) == []


async def test_a_withdrawn_token_is_money_at_a_real_mint(
    payments_database, fee_mint, capsys, monkeypatch
):
    """Earned, settled, withdrawn by the command, taken by a wallet."""
    empty(payments_database)
    async with open_money(payments_database, fee_mint.url) as money:
        await money.deposit("t", 256)
        await money.spend("t", 70)
        await money.close("t")
        assert (await money.settlement.turn())["done"] == 1
    monkeypatch.setenv("BATHYSPHERE_PAYMENTS_MINT", fee_mint.url)
    monkeypatch.setenv("BATHYSPHERE_PAYMENTS_SECRET", MASTER.decode())
    command = ["payments", "--database-url", payments_database.url, "withdraw"]
    assert await asyncio.to_thread(main, command) == 0
    printed = capsys.readouterr()
    assert "70 sats" in printed.err
    wallet = Wallet(mint_url=fee_mint.url)
    assert await wallet.receive(printed.out.strip()) in (69, 70)  # the mint's fee
    assert await asyncio.to_thread(main, command) == 1
    assert "The vault is empty" in capsys.readouterr().err
