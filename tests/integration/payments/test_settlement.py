"""Settlement against a real mint and a real ledger: what goes well, and every way in which it does
not. After each test the books are audited, and nobody has a sat too many or too few."""

import asyncio
import json
from contextlib import closing
from datetime import timedelta

import httpx
import pytest
from money_rig import Money, open_money

from bathysphere.payments.errors import MintRefused
from bathysphere.payments.nuts import locks
from bathysphere.payments.nuts.tokens import decode_v4
from bathysphere.payments.settlement import SettlementTimings
from bathysphere.testing.mint.wire import FaultyWire
from bathysphere.testing.wallet import Wallet

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
async def money(clean_database, fee_mint):
    async with open_money(clean_database, fee_mint.url) as money:
        yield money
        await money.assert_balanced()


@pytest.fixture
async def wired(clean_database, fee_mint):
    """Money whose requests go over a wire that can break."""
    async with (
        FaultyWire(fee_mint.port) as wire,
        open_money(clean_database, fee_mint.url, through=wire.url) as money,
    ):
        yield money, wire
        await money.assert_balanced()


async def settled(money: Money, *, turns: int = 5) -> None:
    """Turn until nothing is left to settle."""
    for _ in range(turns):
        await money.settlement.turn()
        if set(await money.swaps()) <= {"done", "superseded"}:
            return
    raise AssertionError(await money.swaps())


async def assert_paid_back(money: Money, thread: str, *, earned: int, refund: int) -> None:
    """The vault has what was earned, and the person really can take the rest."""
    assert await money.vault() == earned
    refunds = await money.delivered(thread)
    assert sum(each.amount for each in refunds) == refund
    for each in refunds:
        token = decode_v4(each.token)
        assert token.amount == each.amount
        fee = (len(token.proofs) * 100 + 999) // 1000
        assert await money.wallet.receive(each.token) == each.amount - fee


# ── what goes well ──


async def test_a_session_from_the_first_sat_to_the_refund(money):
    deposited = await money.deposit("t", 256)
    assert (deposited.credited, deposited.session.balance) == (255, 255)  # 1 is the mint's fee
    for _ in range(7):
        await money.spend("t", 10)
    await money.close("t")
    assert await money.settlement.turn() == {"frozen": 1, "done": 1}
    await assert_paid_back(money, "t", earned=70, refund=185)
    assert await money.settlement.turn() == {"claimed": 1}
    assert [refund.status for refund in await money.delivered("t")] == ["claimed"]


@pytest.mark.parametrize(("spent", "refund"), [(0, 255), (255, 0), (253, 2)])
async def test_nothing_or_everything_spent(money, spent, refund):
    await money.deposit("t", 256)
    if spent:
        await money.spend("t", spent)
    await money.close("t")
    await settled(money)
    await assert_paid_back(money, "t", earned=spent, refund=refund)


async def test_what_was_spent_comes_out_of_the_oldest_deposit_first(money):
    await money.deposit("t", 64)
    await money.deposit("t", 64)
    await money.spend("t", 70)
    await money.close("t")
    await settled(money)
    rows = await money.rows("SELECT earn, refund FROM payments.swaps JOIN payments.deposits"
                            " USING (deposit_id) ORDER BY seq")  # fmt: skip
    assert [(row["earn"], row["refund"]) for row in rows] == [(63, 0), (7, 56)]
    await assert_paid_back(money, "t", earned=70, refund=56)


async def test_a_session_closes_by_itself_an_hour_before_its_locktime(money):
    await money.deposit("t", 64)
    await money.spend("t", 3)
    money.clock.ahead = timedelta(hours=46, minutes=50)
    assert await money.settlement.turn() == {}
    money.clock.ahead = timedelta(hours=47, minutes=1)
    assert await money.settlement.turn() == {"closing": 1, "frozen": 1, "done": 1}
    await assert_paid_back(money, "t", earned=3, refund=60)


async def test_a_refund_is_worth_nothing_to_whoever_steals_it(money, fee_mint):
    await money.deposit("t", 64)
    await money.close("t")
    await settled(money)
    [refund] = await money.delivered("t")
    thief = Wallet(mint_url=fee_mint.url)
    with pytest.raises(MintRefused):
        await thief.receive(refund.token)
    again = await money.delivered("t")  # handed out as often as it is asked for
    assert again[0].token == refund.token
    await assert_paid_back(money, "t", earned=0, refund=63)


async def test_a_refund_can_be_checked_offline_and_has_no_order_that_tells(money):
    await money.deposit("t", 256)
    await money.spend("t", 100)
    await money.close("t")
    await settled(money)
    [row] = await money.rows("SELECT * FROM payments.swaps")
    from ledger_rig import Sealer
    from money_rig import MASTER

    body = json.loads(Sealer(MASTER).open(f"swaps/{row['swap_id']}/body", row["body"]))
    amounts = [output["amount"] for output in body["outputs"]]
    assert amounts == sorted(amounts)
    assert all("dleq" not in each for each in body["inputs"])
    [refund] = await money.delivered("t")
    assert all(proof.dleq and proof.dleq.r for proof in decode_v4(refund.token).proofs)
    for proof in decode_v4(refund.token).proofs:
        assert locks.parse_lock(proof.secret).key == money.wallet.key


# ── the network ──


@pytest.mark.parametrize(
    "fault", ["lose_request", "lose_response", "http_502", "http_429", "truncate"]
)
async def test_an_answer_that_does_not_come_is_asked_after(wired, fault):
    money, wire = wired
    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    wire.spoil(fault)
    assert (await money.settlement.turn())["postponed"] == 1
    assert (await money.settlement.turn())["done"] == 1
    assert wire.spoiled == {fault: 1}
    was_done = fault in ("lose_response", "truncate")
    assert wire.seen["/v1/swap"] == (1 if was_done else 2)  # what was done is not done again
    await assert_paid_back(money, "t", earned=70, refund=185)


async def test_a_request_that_arrives_long_after_we_gave_up(wired, clean_database):
    money, wire = wired
    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    await money.settlement.freeze()
    wire.spoil("delay", seconds=0.5)
    url = money.wallet.mint_url
    async with open_money(clean_database, url, through=wire.url, timeout=0.2) as hasty:
        assert (await hasty.settlement.settle())["postponed"] == 1
    await asyncio.sleep(0.5)
    await settled(money)
    await assert_paid_back(money, "t", earned=70, refund=185)


async def test_a_request_that_arrives_twice(wired):
    """The second answer, the one we get, is 11001: spent. By us."""
    money, wire = wired
    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    wire.spoil("duplicate")
    assert (await money.settlement.turn())["done"] == 1
    await assert_paid_back(money, "t", earned=70, refund=185)


async def test_the_answer_and_the_question_after_it_are_lost(wired):
    money, wire = wired
    await money.deposit("t", 64)
    await money.spend("t", 9)
    await money.close("t")
    wire.spoil("lose_response")
    for fault in ("lose_request", "http_502", "truncate"):
        wire.spoil(fault, path="/v1/restore")
    for _ in range(4):
        assert (await money.settlement.turn())["postponed"] == 1
    assert (await money.settlement.turn())["done"] == 1
    assert wire.seen["/v1/swap"] == 1
    await assert_paid_back(money, "t", earned=9, refund=54)


async def test_waits_grow_and_have_an_end():
    timings = SettlementTimings(first_wait=timedelta(seconds=2), longest_wait=timedelta(minutes=5))
    waits = [timings.wait(tries).total_seconds() for tries in (0, 1, 2, 3, 10, 500)]
    assert waits == [2, 4, 8, 16, 300, 300]


async def test_who_asks_too_often_is_not_asked_at_all(clean_database, fee_mint):
    timings = SettlementTimings(first_wait=timedelta(seconds=30))
    async with (
        FaultyWire(fee_mint.port) as wire,
        open_money(clean_database, fee_mint.url, through=wire.url, timings=timings) as money,
    ):
        await money.deposit("t", 64)
        await money.close("t")
        wire.spoil("http_502")
        assert (await money.settlement.turn())["postponed"] == 1
        assert await money.settlement.turn() == {}
        assert wire.seen["/v1/swap"] == 1
        money.clock.ahead = timedelta(seconds=61)
        assert (await money.settlement.turn())["done"] == 1
        await money.assert_balanced()


# ── killed in between ──


class Killed(BaseException):
    """The process ends here."""


def dies(*_args, **_kwargs):
    raise Killed


CRASHES = ["before the swaps are written", "after the swaps are written", "before the POST",
           "after the POST", "before what it gave is kept"]  # fmt: skip


def crash_at(money: Money, point: str, patch: pytest.MonkeyPatch) -> None:
    settlement, swap_store, mint = money.settlement, money.swap_store, money.mint
    if point == "before the swaps are written":
        patch.setattr(swap_store, "_allocate", dies)  # inside the transaction of `freeze`
    elif point == "after the swaps are written":
        patch.setattr(settlement, "settle", dies)
    elif point == "before the POST":
        patch.setattr(mint, "swap", dies)
    elif point == "after the POST":
        patch.setattr(settlement, "_finish", dies)
    else:
        patch.setattr(swap_store, "_settle", dies)  # the last statement of `complete`


@pytest.mark.parametrize("point", CRASHES)
async def test_a_process_that_dies_loses_nothing(money, point, monkeypatch):
    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    with monkeypatch.context() as patch:
        crash_at(money, point, patch)
        with pytest.raises(BaseException) as died:
            await money.settlement.turn()
        assert died.group_contains(Killed) if hasattr(died.value, "exceptions") else True
    await money.assert_balanced()
    money.clock.ahead = timedelta(minutes=3)  # the lease of the dead runs out
    await settled(money)
    await assert_paid_back(money, "t", earned=70, refund=185)


async def test_many_workers_settle_each_deposit_once(wired):
    money, wire = wired
    for number in range(6):
        await money.deposit(f"t{number}", 64)
        await money.spend(f"t{number}", number + 1)
        await money.close(f"t{number}")
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(money.settlement.turn())
    await settled(money)
    assert await money.swaps() == ["done"] * 6
    assert wire.seen["/v1/swap"] == 6
    assert await money.vault() == 21


async def test_a_worker_that_was_only_slow_changes_nothing(money):
    """Two workers hold the same swap: the lease of the first ran out while it waited."""
    await money.deposit("t", 64)
    await money.spend("t", 9)
    await money.close("t")
    await money.settlement.freeze()
    [slow] = await money.swap_store.take()
    money.clock.ahead = timedelta(minutes=3)
    assert (await money.settlement.turn())["done"] == 1
    assert await money.settlement._settle(slow) == "done"
    assert await money.swaps() == ["done"]
    await assert_paid_back(money, "t", earned=9, refund=54)


# ── a mint in trouble ──


async def test_a_mint_that_is_down_stops_no_work_and_no_deposit(clean_database, broken_mint):
    mint = broken_mint
    async with open_money(clean_database, mint.url) as money:
        session = await money.open("t")
        request = money.deposits.request(session, amount=64, request_id="r")
        token = await money.wallet.pay(request)
        await money.book.get()
        mint.crash()
        assert (await money.hand_in("t", token)).credited == 63
        await money.spend("t", 9)
        await money.close("t")
        assert await money.settlement.turn() == {"frozen": 1, "postponed": 1}
        assert await money.settlement.turn() == {"postponed": 1}
        mint.start()
        await settled(money)
        await assert_paid_back(money, "t", earned=9, refund=54)
        await money.assert_balanced()


async def test_a_mint_that_hangs(clean_database, broken_mint):
    mint = broken_mint
    async with open_money(clean_database, mint.url) as money:
        await money.deposit("t", 64)
        await money.spend("t", 9)
        await money.close("t")
        await money.settlement.freeze()
        mint.freeze()
        async with open_money(clean_database, mint.url, timeout=0.3) as hasty:
            assert (await hasty.settlement.settle())["postponed"] == 1
        mint.thaw()
        await asyncio.sleep(0.3)
        await settled(money)
        await assert_paid_back(money, "t", earned=9, refund=54)
        await money.assert_balanced()


async def test_keys_that_rotate_between_the_swap_writing_and_its_posting(
    clean_database, broken_mint
):
    mint = broken_mint
    async with open_money(clean_database, mint.url) as money:
        await money.deposit("t", 256)
        await money.spend("t", 70)
        await money.close("t")
        await money.settlement.freeze()
        await asyncio.to_thread(mint.rotate)
        money.wallet.forget_keys()
        assert (await money.settlement.turn())["superseded"] == 1
        assert (await money.settlement.turn())["done"] == 1
        assert await money.swaps() == ["superseded", "done"]
        await assert_paid_back(money, "t", earned=70, refund=185)
        await money.assert_balanced()


async def test_inputs_that_stay_pending_are_an_alarm_and_can_still_end_well(
    clean_database, broken_mint
):
    """Nutshell leaves proofs pending for ever when it is killed at the wrong moment."""
    mint = broken_mint
    async with open_money(clean_database, mint.url) as money:
        await money.deposit("t", 64)
        await money.spend("t", 9)
        await money.close("t")
        await money.settlement.freeze()
        ys = [row["y"] for row in await money.rows("SELECT y FROM payments.proofs")]
        with closing(mint.database()) as database, database:
            database.executemany(
                "INSERT INTO proofs_pending (amount, C, secret, y, id, created)"
                " VALUES (1, 'c' || ?, 's' || ?, ?, 'id', CURRENT_TIMESTAMP)",
                [(y, y, y) for y in ys],
            )
        assert (await money.settlement.turn())["postponed"] == 1
        money.clock.ahead = timedelta(minutes=16)
        assert (await money.settlement.turn())["stuck"] == 1
        await money.assert_balanced()
        assert await money.settlement.turn() == {}  # it is looked at again in an hour
        with closing(mint.database()) as database, database:
            database.execute("DELETE FROM proofs_pending")
        money.clock.ahead = timedelta(minutes=80)
        assert (await money.settlement.turn())["done"] == 1
        await assert_paid_back(money, "t", earned=9, refund=54)
        await money.assert_balanced()


async def test_another_mint_at_the_address_is_an_alarm_without_a_new_attempt(
    clean_database, fee_mint, evil_mint
):
    async with open_money(clean_database, fee_mint.url) as money:
        await money.deposit("t", 64)
        await money.close("t")
        await money.settlement.freeze()
    async with open_money(clean_database, fee_mint.url, through=evil_mint.url) as wrong:
        assert (await wrong.settlement.turn())["stuck"] == 1
    async with open_money(clean_database, fee_mint.url) as money:
        money.clock.ahead = timedelta(hours=2)
        assert (await money.settlement.turn())["done"] == 1
        assert await money.swaps() == ["done"]
        await money.assert_balanced()


# ── money that somebody else took ──


async def test_a_deposit_that_the_person_took_back_after_its_locktime_is_lost(money, fee_mint):
    session = await money.open("t")
    lock = int(money.clock.now().timestamp()) - 2
    money.clock.ahead = timedelta(seconds=-10)  # to us the lock still holds, to the mint not
    blank = money.wallet.locked(
        64, session.session_pubkey, locktime=lock, refund=(money.wallet.key,)
    )
    [proof] = await money.wallet.issue([blank])
    money.deposits._min_lock = timedelta(0)
    await money.hand_in("t", money.wallet.token([proof]))
    await money.close("t")
    money.clock.ahead = timedelta(0)
    taken = proof.with_witness(locks.sign(proof.secret, money.wallet.secret_key))
    assert sum(p.amount for p in await money.wallet.swap([taken])) == 63
    assert (await money.settlement.turn())["lost"] == 1
    [row] = await money.rows("SELECT status FROM payments.deposits")
    assert row["status"] == "lost"
    assert await money.delivered("t") == []


async def test_a_deposit_that_is_gone_before_its_locktime_is_an_alarm(money):
    """Only our own key can do that: somebody has it, or the mint lies."""
    await money.deposit("t", 64)
    await money.close("t")
    await money.settlement.freeze()
    [swap] = await money.swap_store.take()
    inputs = json.loads(swap.body)["inputs"]
    thief = Wallet(mint_url=money.wallet.mint_url)
    from bathysphere.payments.nuts.proofs import Proof

    stolen = [
        Proof(amount=i["amount"], keyset_id=i["id"], secret=i["secret"], c=bytes.fromhex(i["C"]),
              witness=i["witness"]) for i in inputs
    ]  # fmt: skip
    await thief.swap(stolen)
    await money.swap_store.postpone(swap, "", after=timedelta(0))
    assert (await money.settlement.turn())["stuck"] == 1
    [row] = await money.rows("SELECT status FROM payments.deposits")
    assert row["status"] == "settling"
    money.clock.ahead = timedelta(hours=49)  # after the locktime it is over
    assert (await money.settlement.turn())["lost"] == 1


# ── a mint that lies ──


class Lying(httpx.AsyncBaseTransport):
    """The real mint, whose answers are changed on the way."""

    def __init__(self) -> None:
        self._real = httpx.AsyncHTTPTransport()
        self.changes: dict = {}
        self.lies = 0

    async def handle_async_request(self, request):
        change = self.changes.get(request.url.path)
        if isinstance(change, httpx.Response):
            return change
        response = await self._real.handle_async_request(request)
        if change is None:
            return response
        self.lies += 1
        text = change(json.loads(await response.aread()))
        body = text if isinstance(text, bytes) else json.dumps(text).encode()
        return httpx.Response(response.status_code, content=body, request=request)

    async def aclose(self):
        await self._real.aclose()


@pytest.fixture
async def lied_to(clean_database, fee_mint):
    lying = Lying()
    async with open_money(clean_database, fee_mint.url, transport=lying) as money:
        yield money, lying
        await money.assert_balanced()


def changed(**fields):
    def change(answer):
        answer["signatures"][0] |= fields
        return answer

    return change


def without_dleq(answer):
    del answer["signatures"][0]["dleq"]
    return answer


def swapped_dleq(answer):
    first, second = answer["signatures"][:2]
    first["dleq"], second["dleq"] = second["dleq"], first["dleq"]
    return answer


def short(answer):
    answer["signatures"].pop()
    return answer


def one_too_many(answer):
    answer["signatures"].append(answer["signatures"][0])
    return answer


LIES = {
    "another amount": changed(amount=1024),
    "another keyset": changed(id="00" * 8),
    "no point": changed(C_="02" + "00" * 32),
    "no hex": changed(C_="zz"),
    "another point": changed(
        C_="0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
    ),
    "no DLEQ": without_dleq,
    "another's DLEQ": swapped_dleq,
    "one too few": short,
    "one too many": one_too_many,
    "no list": lambda _: {"signatures": "none"},
    "no JSON": lambda _: b"<html>",
    "nothing": lambda _: {},
    "a huge body": lambda answer: b'{"signatures": [' + b" " * 2_100_000 + b"]}",
    "deep nesting": lambda _: b"[" * 100_000,
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_swap_answer_that_is_not_true_is_not_believed(lied_to, lie):
    """The mint did swap: the truth is had by restore, at once or at the next turn."""
    money, lying = lied_to
    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    lying.changes = {"/v1/swap": LIES[lie]}
    await settled(money, turns=2)
    assert lying.lies == 1
    assert await money.swaps() == ["done"]
    await assert_paid_back(money, "t", earned=70, refund=185)


async def test_a_mint_that_lies_every_time_is_an_alarm_and_the_truth_still_helps(lied_to):
    money, lying = lied_to
    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    lying.changes = {"/v1/swap": LIES["no DLEQ"], "/v1/restore": LIES["no DLEQ"]}
    assert (await money.settlement.turn())["stuck"] == 1
    await money.assert_balanced()
    money.clock.ahead = timedelta(hours=2)
    lying.changes = {"/v1/restore": lambda a: {k: v[:-1] for k, v in a.items()}}
    assert (await money.settlement.turn())["stuck"] == 1  # a part of the outputs is no answer
    money.clock.ahead = timedelta(hours=4)
    lying.changes = {}
    assert (await money.settlement.turn())["done"] == 1
    await assert_paid_back(money, "t", earned=70, refund=185)


@pytest.mark.parametrize("code", [11000, 11003, 11005, 10001, 20001])
async def test_a_refusal_that_should_not_be_is_an_alarm(lied_to, code):
    money, lying = lied_to
    await money.deposit("t", 64)
    await money.close("t")
    await money.settlement.freeze()
    lying.changes = {"/v1/swap": httpx.Response(400, json={"code": code, "detail": ""})}
    assert (await money.settlement.turn())["stuck"] == 1
    money.clock.ahead = timedelta(hours=2)
    lying.changes = {}
    assert (await money.settlement.turn())["done"] == 1


async def test_the_same_deposit_always_makes_the_same_swap_and_no_secret_is_in_its_plan(money):
    from bathysphere.payments.ledger.records import Prepared
    from bathysphere.payments.swaps import Plan, prepare_swap

    await money.deposit("t", 256)
    await money.spend("t", 70)
    await money.close("t")
    keyset = (await money.book.get()).active("sat")
    made: list[Prepared] = []

    def twice(order):
        made.extend(prepare_swap(order, keyset, money.keys) for _ in range(2))
        return made[0]

    [session] = await money.swap_store.closing()
    await money.swap_store.freeze(session, twice)
    assert made[0] == made[1]
    assert Plan.from_bytes(made[0].outputs).to_bytes() == made[0].outputs
    await settled(money)
    await assert_paid_back(money, "t", earned=70, refund=185)
