"""The service on a real ledger: whom it opens for, what it asks for, what a purse says."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from coincurve import PublicKey
from ledger_rig import ALICE, BOB, Rig

from bathysphere.core.payments import Bill, Owed, Paid
from bathysphere.payments.ledger.errors import NoPaymentSession
from bathysphere.payments.nuts import curve
from bathysphere.payments.pricing import Price
from bathysphere.payments.service import BadRefundKey, PaymentService, Terms
from bathysphere.payments.session_keys import SessionKeys

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]
KEY = curve.public_key(b"\x22" * 32).hex()
LONG_KEY = PublicKey(bytes.fromhex(KEY)).format(compressed=False).hex()
KEYS = SessionKeys(b"a secret of thirty-two bytes ....")


@dataclass
class Asked:
    """Takes every token for so many units, and remembers what was asked for."""

    rig: Rig
    requests: list[tuple[str, int]] = field(default_factory=list)

    async def check(self, token, _session):
        return self.rig.token(int(token) + 1)

    def request(self, session, *, amount, request_id):
        assert request_id.startswith("pay_")
        self.requests.append((session.session_id, amount))
        return f"creqA{amount}"


@pytest.fixture
def asked(rig: Rig) -> Asked:
    return Asked(rig)


@pytest.fixture
def service(rig: Rig, asked: Asked) -> PaymentService:
    terms = Terms(mint_url="http://mint.test", unit="sat", price=Price(step=2, per_1k_output=1000))
    return PaymentService(
        terms=terms, accounts=rig.accounts, refunds=rig.refunds, deposits=asked, keys=KEYS
    )


async def test_a_session_is_the_payers_and_has_a_key_of_its_own(service: PaymentService):
    session = await service.open("t", payer=ALICE, refund_key=KEY)
    assert session.session_id.startswith("ps_")
    assert session.session_pubkey == KEYS.public_key(session.session_id)
    assert (session.refund_pubkey, session.mint_url, session.unit) == (
        KEY, "http://mint.test", "sat",
    )  # fmt: skip
    assert await service.session("t", payer=ALICE) == session
    with pytest.raises(NoPaymentSession, match=r"^Thread t has no payment session"):
        await service.session("t", payer=BOB)


@pytest.mark.parametrize(
    "key", ["", "zz", KEY[:-2], KEY + "00", "05" + KEY[2:], "02" + "ff" * 32, LONG_KEY]
)
async def test_a_refund_key_that_is_no_key_is_refused(service: PaymentService, key: str):
    with pytest.raises(BadRefundKey) as refused:
        await service.open("t", payer=ALICE, refund_key=key)
    assert refused.value.code == "bad_refund_key"


async def test_a_refund_key_is_kept_in_one_spelling(service: PaymentService):
    first = await service.open("t", payer=ALICE, refund_key=KEY.upper())
    assert (await service.open("t", payer=ALICE, refund_key=KEY)).session_id == first.session_id


async def test_a_bill_before_there_is_a_key_has_no_request(service: PaymentService):
    bill = await service.bill("t", 0, payer=ALICE)
    assert bill == Bill(suggested=100, mint="http://mint.test", unit="sat", request=None)


async def test_a_bill_asks_for_what_is_missing_and_a_little_for_the_fee(
    service: PaymentService, asked: Asked
):
    session = await service.open("t", payer=ALICE, refund_key=KEY)
    assert (await service.deposit("t", "50", payer=ALICE)).credited == 50
    assert (await service.bill("t", 60, payer=ALICE)).suggested == 100
    bill = await service.bill("t", 500, payer=ALICE)
    assert (bill.suggested, bill.request) == (452, "creqA452")
    assert asked.requests[-1] == (session.session_id, 452)


async def test_new_money_after_a_close_goes_to_a_new_session_with_the_same_key(
    service: PaymentService, asked: Asked
):
    first = await service.open("t", payer=ALICE, refund_key=KEY)
    await service.deposit("t", "50", payer=ALICE)
    assert (await service.close("t", payer=ALICE)).status == "closing"
    bill = await service.bill("t", 140, payer=ALICE)
    assert bill.suggested == 142  # what is in the closing session does not count
    second = await service.session("t", payer=ALICE)
    assert second.session_id != first.session_id
    assert (second.refund_pubkey, second.status) == (KEY, "open")
    assert asked.requests == [(second.session_id, 142)]


async def test_what_was_not_spent_comes_back(service: PaymentService, rig: Rig):
    await service.open("t", payer=ALICE, refund_key=KEY)
    await service.deposit("t", "50", payer=ALICE)
    await service.close("t", payer=ALICE)
    rig.clock.wait(timedelta(hours=1))
    assert await rig.settle() == 1
    (back,) = await service.refunds("t", payer=ALICE)
    assert back.amount == 50
    assert await rig.violations() == []


# ── the purse ──


async def test_a_purse_quotes_the_most_and_costs_what_it_was(service: PaymentService):
    purse = service.purse("t", payer=ALICE)
    assert repr(purse) == "ThreadPurse(t)"
    assert purse.quote(lambda: 9) == 2 + 4096
    assert purse.cost(lambda: 9, lambda: 10) == 12


async def test_a_purse_pays_once_and_keeps_the_answer(service: PaymentService):
    await service.open("t", payer=ALICE, refund_key=KEY)
    purse = service.purse("t", payer=ALICE, run_id="r1")
    assert await purse.deposit("50") == 50
    assert await purse.charge("k", 20) == Paid(balance=30, spent=20)
    assert await purse.complete("k", 12, b"answer") == Paid(balance=38, spent=12)
    assert await purse.charge("k", 20) == Paid(balance=38, spent=12, answer=b"answer")
    assert await purse.charge("dear", 39) == Owed(balance=38, reason="insufficient")


async def test_a_failed_call_is_given_back_and_a_cancelled_one_is_not(service: PaymentService):
    await service.open("t", payer=ALICE, refund_key=KEY)
    purse = service.purse("t", payer=ALICE)
    await purse.deposit("50")
    await purse.charge("failed", 20)
    await purse.void("failed")
    assert (await service.session("t", payer=ALICE)).balance == 50
    await purse.charge("cancelled", 20)
    await purse.keep("cancelled")
    await purse.void("cancelled")
    assert (await service.session("t", payer=ALICE)).balance == 30


async def test_without_a_session_nothing_is_paid(service: PaymentService):
    purse = service.purse("t", payer=ALICE)
    assert await purse.charge("k", 1) == Owed(balance=0, reason="no_session")
    assert (await purse.bill(5)).request is None


async def test_an_expired_session_is_closed_before_money_is_asked_for(
    service: PaymentService, rig: Rig
):
    first = await service.open("t", payer=ALICE, refund_key=KEY)
    purse = service.purse("t", payer=ALICE)
    await purse.deposit("50")
    assert (await purse.bill(60)).suggested == 100
    assert (await purse.bill(160)).suggested == 112  # 50 are there
    assert (await service.session("t", payer=ALICE)).session_id == first.session_id
    rig.clock.wait(timedelta(hours=48))
    assert await purse.charge("k", 1) == Owed(balance=50, reason="expired")
    assert (await purse.bill(140)).suggested == 142
    assert (await service.session("t", payer=ALICE)).session_id != first.session_id
