"""What a person is asked for, and when the mint is asked for keys."""

from datetime import UTC, datetime, timedelta

import pytest
from offline_mint import EVIL, HONEST, HOUR, LOCKTIME, NOW, PERSON, SESSION, URL, token

from bathysphere.core.identity import Owner
from bathysphere.payments.deposits import Deposits
from bathysphere.payments.errors import TokenRefused
from bathysphere.payments.ledger.records import Session
from bathysphere.payments.nuts.keysets import Keysets
from bathysphere.payments.nuts.proofs import Proof
from bathysphere.payments.nuts.requests import LockWanted, PaymentRequest, decode_request

SESSION_ROW = Session(
    session_id="s1", thread_id="t", epoch=1, payer=Owner(tenant="t", user="u"), mint_url=URL,
    unit="sat", session_pubkey=SESSION, refund_pubkey=PERSON, status="open", credited=0, spent=0,
    refunded=0, balance=0, expires_at=None, is_frozen=False,
)  # fmt: skip


class Clock:
    def now(self):
        return datetime.fromtimestamp(NOW, tz=UTC)


class Book:
    def __init__(self, first: Keysets, later: Keysets) -> None:
        self.first, self.later, self.reloads = first, later, 0

    async def get(self):
        return self.first

    async def reload(self):
        self.reloads += 1
        return self.later


def deposits(first=(HONEST,), later=(HONEST,), **options) -> tuple[Deposits, Book]:
    book = Book(*(Keysets([mint.keyset for mint in mints]) for mints in (first, later)))
    return Deposits(book, Clock(), **options), book


def test_the_request_is_exactly_the_lock_that_will_be_taken():
    asking, _ = deposits()
    request = decode_request(asking.request(SESSION_ROW, amount=256, request_id="r1"))
    tags = (("sigflag", "SIG_INPUTS"), ("locktime", str(LOCKTIME)), ("refund", PERSON))
    assert request == PaymentRequest(
        id="r1", amount=256, unit="sat", single_use=True, mints=(URL,),
        lock=LockWanted(key=SESSION, tags=tags),
    )  # fmt: skip


async def test_a_checked_token_is_ready_for_the_ledger():
    checking, book = deposits()
    proof = HONEST.locked(64)
    checked = await checking.check(token([proof]), SESSION_ROW)
    assert (checked.face, checked.fee, checked.credited) == (64, 1, 63)
    assert checked.locktime == datetime.fromtimestamp(LOCKTIME, tz=UTC)
    [kept] = checked.proofs
    assert (kept.y, kept.amount) == (proof.y.hex(), 64)
    assert Proof.from_bytes(kept.data) == proof
    assert book.reloads == 0


async def test_keys_that_are_not_known_are_asked_for_once():
    checking, book = deposits(first=(EVIL,), later=(EVIL, HONEST))
    assert (await checking.check(token([HONEST.locked(64)]), SESSION_ROW)).face == 64
    assert book.reloads == 1
    checking, book = deposits(first=(EVIL,), later=(EVIL,))
    with pytest.raises(TokenRefused, match="Unknown keyset"):
        await checking.check(token([HONEST.locked(64)]), SESSION_ROW)
    assert book.reloads == 1


async def test_any_other_fault_asks_the_mint_for_nothing():
    checking, book = deposits()
    with pytest.raises(TokenRefused, match="not locked"):
        await checking.check(token([HONEST.sign("plain", 64)]), SESSION_ROW)
    assert book.reloads == 0


@pytest.mark.parametrize(
    ("hours", "taken"), [(1.9, False), (2, True), (30 * 24, True), (30 * 24 + 0.1, False)]
)
async def test_the_shortest_and_the_longest_lock(hours, taken):
    checking, _ = deposits()
    text = token([HONEST.locked(64, locktime=int(NOW + hours * HOUR))])
    if taken:
        assert await checking.check(text, SESSION_ROW)
    else:
        with pytest.raises(TokenRefused, match="Locktime"):
            await checking.check(text, SESSION_ROW)


async def test_locks_can_be_asked_for_longer_or_shorter():
    asking, _ = deposits(asked_lock=timedelta(hours=5), min_lock=timedelta(hours=4))
    request = decode_request(asking.request(SESSION_ROW, amount=1, request_id="r"))
    assert request.lock.tag("locktime") == (str(NOW + 5 * HOUR),)
    with pytest.raises(TokenRefused, match="too soon"):
        await asking.check(token([HONEST.locked(64, locktime=NOW + 3 * HOUR)]), SESSION_ROW)
