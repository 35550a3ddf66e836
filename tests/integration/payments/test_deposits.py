"""Deposits with a real mint: what it lets an attacker do, and that we never come to that point."""

import json
import secrets
import time
from dataclasses import replace
from datetime import timedelta

import pytest
from money_rig import open_money

from bathysphere.payments.errors import MintRefused, TokenRefused
from bathysphere.payments.ledger.errors import TokenAlreadyUsed
from bathysphere.payments.nuts import locks
from bathysphere.payments.nuts.requests import decode_request
from bathysphere.payments.nuts.tokens import Token, decode_v4, encode_v4
from bathysphere.testing.mint.wire import FaultyWire
from bathysphere.testing.wallet import Blank, Wallet

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
async def money(clean_database, fee_mint):
    async with open_money(clean_database, fee_mint.url) as money:
        yield money
        await money.assert_balanced()


def lock_text(key: str, *tags: list[str]) -> str:
    body = {"nonce": secrets.token_hex(32), "data": key, "tags": list(tags)}
    return json.dumps(["P2PK", body], separators=(",", ":"))


async def issued(wallet: Wallet, secret: str, amount: int = 64):
    [proof] = await wallet.issue(
        [Blank(amount=amount, secret=secret, factor=secrets.token_bytes(32))]
    )
    return proof


async def refused(money, proofs, **changes) -> str:
    session = await money.open("t")
    text = money.wallet.token(proofs, **changes)
    with pytest.raises(TokenRefused) as error:
        await money.deposits.check(text, session)
    return error.value.reason


# ── what the mint lets an attacker do, and we do not ──


async def test_a_second_key_in_the_lock_would_let_its_holder_take_the_money(money):
    session = await money.open("t")
    attacker = Wallet(mint_url=money.wallet.mint_url)
    until = int(time.time()) + 48 * 3600
    secret = lock_text(session.session_pubkey, ["sigflag", "SIG_INPUTS"], ["locktime", str(until)],
                       ["refund", money.wallet.key], ["pubkeys", attacker.key])  # fmt: skip
    proof = await issued(money.wallet, secret)
    assert await refused(money, [proof]) == "lock_malformed"
    signed = proof.with_witness(locks.sign(secret, attacker.secret_key))
    assert sum(p.amount for p in await attacker.swap([signed])) == 63  # the mint pays the attacker


async def test_a_lock_without_a_refund_key_could_be_spent_by_anybody_once_it_expires(money):
    session = await money.open("t")
    money.clock.ahead = timedelta(seconds=-10)  # to us the lock still holds, to the mint not
    soon = int(time.time()) - 2
    secret = lock_text(session.session_pubkey, ["sigflag", "SIG_INPUTS"], ["locktime", str(soon)])
    proof = await issued(money.wallet, secret)
    money.deposits._min_lock = timedelta(0)
    assert await refused(money, [proof]) == "lock_wrong_refund"
    anybody = Wallet(mint_url=money.wallet.mint_url)
    assert sum(p.amount for p in await anybody.swap([proof])) == 63


async def test_a_lock_written_as_an_object_is_none_to_the_mint(money):
    session = await money.open("t")
    body = json.loads(lock_text(session.session_pubkey, ["refund", money.wallet.key]))[1]
    proof = await issued(money.wallet, json.dumps({"P2PK": body}))
    assert await refused(money, [proof]) == "lock_missing"
    anybody = Wallet(mint_url=money.wallet.mint_url)
    assert sum(p.amount for p in await anybody.swap([proof])) == 63


async def test_a_secret_that_is_too_long_for_the_mint_is_not_taken_by_us(money):
    """The mint signs it blindly and refuses it only when it is spent: it would be our loss."""
    session = await money.open("t")
    until = str(int(time.time()) + 48 * 3600)
    secret = lock_text(session.session_pubkey, ["locktime", until], ["refund", money.wallet.key],
                       ["n_sigs", "1" + " " * 1100])  # fmt: skip
    proof = await issued(money.wallet, secret)
    assert await refused(money, [proof]) == "lock_malformed"
    signed = proof.with_witness(locks.sign(secret, money.keys.secret_key(session.session_id)))
    with pytest.raises(MintRefused, match="too long"):
        await money.wallet.swap([signed])


async def test_a_good_deposit_cannot_be_spent_by_its_payer_before_its_time(money):
    session = await money.open("t")
    request = money.deposits.request(session, amount=64, request_id="r")
    token = await money.wallet.pay(request)
    assert (await money.hand_in("t", token)).credited == 63
    with pytest.raises(MintRefused):
        await money.wallet.receive(token)  # signed with the refund key, which is not yet valid
    keyset = (await money.book.get()).active("sat")
    bare = [replace(proof, keyset_id=keyset.id) for proof in decode_v4(token).proofs]
    with pytest.raises(MintRefused):
        await money.wallet.swap(bare)


# ── real e-cash that is not for us ──


async def test_e_cash_of_an_evil_mint(money, evil_mint):
    session = await money.open("t")
    evil = Wallet(mint_url=evil_mint.url)
    until = int(time.time()) + 48 * 3600
    blank = evil.locked(64, session.session_pubkey, locktime=until, refund=(money.wallet.key,))
    [foreign] = await evil.issue([blank])
    assert await refused(money, [foreign], mint_url=evil_mint.url) == "mint_mismatch"
    assert await refused(money, [foreign]) == "keyset_unknown"
    ours = (await money.book.get()).active("sat")
    assert await refused(money, [replace(foreign, keyset_id=ours.id)]) == "dleq_invalid"


async def test_dollars_of_our_own_mint(money, fee_mint):
    session = await money.open("t")
    dollars = Wallet(mint_url=fee_mint.url, unit="usd")
    until = int(time.time()) + 48 * 3600
    blank = dollars.locked(64, session.session_pubkey, locktime=until, refund=(money.wallet.key,))
    proofs = await dollars.issue([blank])
    assert await refused(money, proofs) == "keyset_unit"
    text = encode_v4(Token(mint=fee_mint.url, unit="usd", proofs=tuple(proofs)))
    with pytest.raises(TokenRefused, match="another unit"):
        await money.deposits.check(text, session)


async def test_plain_e_cash_is_refused_and_stays_with_the_person(money):
    await money.wallet.fund(64)
    assert await refused(money, money.wallet.proofs) == "lock_missing"
    token = money.wallet.token(money.wallet.proofs)
    assert await money.wallet.receive(token) == 63


async def test_a_token_for_one_thread_is_worth_nothing_in_another(money):
    session = await money.open("a")
    token = await money.wallet.pay(money.deposits.request(session, amount=64, request_id="r"))
    with pytest.raises(TokenRefused, match="locked to another key"):
        await money.hand_in("b", token)
    assert (await money.hand_in("a", token)).credited == 63
    assert (await money.hand_in("a", token)).credited == 0  # the same again is no new money


async def test_a_used_proof_beside_a_fresh_one(money):
    session = await money.open("t")
    request = money.deposits.request(session, amount=64, request_id="r")
    used, fresh = await money.wallet.pay(request), await money.wallet.pay(request)
    await money.hand_in("t", used)
    both = [*decode_v4(used).proofs, *decode_v4(fresh).proofs]
    with pytest.raises(TokenAlreadyUsed):
        await money.hand_in("t", money.wallet.token(both))
    assert (await money.hand_in("t", fresh)).credited == 63


# ── asking ──


async def test_the_request_says_the_whole_lock(money):
    session = await money.open("t")
    request = decode_request(money.deposits.request(session, amount=256, request_id="r7"))
    assert (request.id, request.amount, request.unit) == ("r7", 256, "sat")
    assert request.mints == (money.wallet.mint_url,)
    assert request.single_use is True
    assert request.lock.key == session.session_pubkey
    assert request.lock.tag("sigflag") == ("SIG_INPUTS",)
    assert request.lock.tag("refund") == (money.wallet.key,)
    [until] = request.lock.tag("locktime")
    assert abs(int(until) - time.time() - 48 * 3600) < 60


async def test_a_deposit_asks_the_mint_for_nothing_once_its_keys_are_known(
    clean_database, fee_mint
):
    async with (
        FaultyWire(fee_mint.port) as wire,
        open_money(clean_database, fee_mint.url, through=wire.url) as money,
    ):
        await money.deposit("t", 64)
        before = wire.seen.total()
        await money.deposit("t", 64)
        for _ in range(20):
            await money.spend("t", 1)
        assert wire.seen.total() == before


async def test_the_mint_is_fit(money):
    await money.mint.check_fit()
