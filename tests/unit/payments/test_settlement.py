"""The decision table of settlement, row by row, with a mint that says what the row says.

That a real mint says these things, and that no sat is lost then, is in
tests/integration/payments/test_settlement.py.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from offline_mint import DOLLARS, EVIL, HONEST, PERSON, URL, OfflineMint
from test_swaps import KEYS, PLAN, PREPARED, deposit, signed

from bathysphere.payments.errors import MintRefused, MintUnfit, MintUnknown
from bathysphere.payments.ledger.records import Refund, Swap
from bathysphere.payments.mint import Restored
from bathysphere.payments.nuts.keysets import Keysets
from bathysphere.payments.settlement import Settlement, SettlementTimings
from bathysphere.payments.swaps import Plan

START = datetime(2026, 11, 1, tzinfo=UTC)
LOCKTIME = START + timedelta(hours=48)
NEXT = OfflineMint("after the rotation")
UNKNOWN = MintUnknown("no answer")


class Clock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


@dataclass
class SaysMint:
    """Says what it is told to, and remembers what it was asked."""

    url: str = URL
    says: dict = field(default_factory=dict)
    asked: Counter = field(default_factory=Counter)
    bodies: list = field(default_factory=list)

    def _say(self, what):
        self.asked[what] += 1
        said = self.says[what]
        if isinstance(said, Exception):
            raise said
        return said

    async def swap(self, body):
        self.bodies.append(body)
        return self._say("swap")

    async def restore(self, outputs):
        said = self._say("restore")
        count = {"all": len(outputs), "none": 0, "part": len(outputs) - 1}[said]
        found = dict(zip((m.b for m in outputs), signed(PLAN), strict=False))
        return Restored(signatures=dict(list(found.items())[:count]))

    async def states(self, ys):
        said = self._say("states")
        return list(said) if isinstance(said, tuple) else [said] * len(ys)


class Book:
    def __init__(self, known: Keysets, later: Keysets | None = None) -> None:
        self.known = known
        self.later = known if later is None else later

    async def get(self):
        return self.known

    async def reload(self):
        self.known = self.later
        return self.known


@dataclass
class Store:
    """Remembers what was decided."""

    swaps: list = field(default_factory=list)
    sessions: list = field(default_factory=list)
    open_refunds: list = field(default_factory=list)
    did: list = field(default_factory=list)
    overdue: list = field(default_factory=list)
    frozen: bool = True
    leases: list = field(default_factory=list)

    async def close_overdue(self, *, idle):
        self.did.append(("close_overdue", idle))
        return self.overdue

    async def closing(self, *, limit):
        return self.sessions[:limit]

    async def freeze(self, session_id, prepare):
        self.did.append(("freeze", session_id, prepare(deposit())))
        return self.frozen

    async def record_freeze_error(self, session_id, error):
        self.did.append(("cannot_freeze", session_id, error))

    async def take(self, *, limit, lease):
        self.leases.append(lease)
        return self.swaps[:limit]

    async def postpone(self, swap, error, *, after, is_pending=False):
        self.did.append(("postponed", error, after, is_pending))

    async def mark_stuck(self, swap, error, *, look_again):
        self.did.append(("stuck", error, look_again))
        return True

    async def supersede(self, swap, prepare, error):
        self.did.append(("supersede", Plan.from_bytes(prepare(deposit(swap_id="swap2")).outputs)))
        return True

    async def complete(self, swap, earned, refund):
        self.did.append(("done", sum(p.amount for p in earned), refund is not None))
        return True

    async def mark_lost(self, swap, error):
        self.did.append(("lost", error))
        return True

    async def unclaimed(self, *, limit):
        return self.open_refunds[:limit]

    async def mark_claimed(self, refund_ids):
        self.did.append(("claimed", list(refund_ids)))


def swap(**changes) -> Swap:
    fields = {
        "swap_id": "swap1", "attempt": 1, "status": "prepared", "session_id": "s1",
        "deposit_id": "d1", "refund_pubkey": PERSON, "body": PREPARED.body,
        "outputs": PREPARED.outputs, "earn": 11, "refund": 60, "fee": 1, "tries": 1,
        "locktime": LOCKTIME, "pending_at": None, "lease": "l1",
    }  # fmt: skip
    return Swap(**{**fields, **changes})


class Desk:
    """Settlement with everything around it in the test's hand."""

    def __init__(self, *swaps: Swap, known=None, later=None, **says) -> None:
        self.mint = SaysMint(says=says)
        self.store = Store(swaps=list(swaps))
        self.clock = Clock()
        self.book = Book(Keysets([HONEST.keyset]) if known is None else known, later)
        self.settlement = Settlement(
            accounts=self.store, swaps=self.store, refunds=self.store, mint=self.mint,
            book=self.book, keys=KEYS, clock=self.clock, unit="sat",
        )  # fmt: skip

    async def settle(self) -> dict:
        return dict(await self.settlement.settle())


def refuses(code: int) -> MintRefused:
    return MintRefused(code, "no")


DONE = ("done", 11, True)

# ── signatures ──


async def test_signatures_end_it():
    desk = Desk(swap(), swap=signed(PLAN))
    assert await desk.settle() == {"done": 1}
    assert desk.store.did == [DONE]
    assert desk.mint.asked == {"swap": 1}  # nobody needs to be asked twice the first time
    assert desk.mint.bodies == [PREPARED.body.decode()]
    assert desk.store.leases == [timedelta(minutes=2)]


async def test_a_second_try_asks_first_whether_the_first_one_went_through():
    desk = Desk(swap(tries=2), restore="all")
    assert await desk.settle() == {"done": 1}
    assert desk.mint.asked == {"restore": 1}
    desk = Desk(swap(tries=2), restore="none", swap=signed(PLAN))
    assert await desk.settle() == {"done": 1}
    assert desk.mint.asked == {"restore": 1, "swap": 1}
    assert desk.mint.bodies == [PREPARED.body.decode()]  # the same again: never another one


# ── silence ──


@pytest.mark.parametrize(
    ("tries", "seconds"), [(1, 4), (2, 8), (3, 16), (7, 256), (8, 300), (99, 300)]
)
async def test_silence_is_waited_out(tries, seconds):
    desk = Desk(swap(tries=tries), restore="none", swap=UNKNOWN)
    assert await desk.settle() == {"postponed": 1}
    assert desk.store.did == [("postponed", "no answer", timedelta(seconds=seconds), False)]


async def test_silence_when_asked_to_restore():
    desk = Desk(swap(tries=2), restore=UNKNOWN)
    assert await desk.settle() == {"postponed": 1}
    assert desk.mint.asked == {"restore": 1}  # nothing is posted while it is not known


async def test_a_stuck_swap_that_meets_silence_stays_stuck():
    desk = Desk(swap(tries=2, status="stuck"), restore="none", swap=UNKNOWN)
    assert await desk.settle() == {"stuck": 1}
    assert desk.store.did == [("stuck", "no answer", timedelta(hours=1))]


# ── a bad answer ──


async def test_a_bad_answer_is_asked_after_at_once():
    bad = signed(PLAN)[:-1]
    desk = Desk(swap(), swap=bad, restore="all")
    assert await desk.settle() == {"done": 1}
    for restore in ("none", "part"):
        desk = Desk(swap(), swap=bad, restore=restore)
        assert await desk.settle() == {"stuck": 1}
        [(what, error, _)] = desk.store.did
        assert (what, error) == ("stuck", "Expected 7 signatures, got 6")
    for silence in (UNKNOWN, refuses(20000)):
        desk = Desk(swap(), swap=bad, restore=silence)
        assert await desk.settle() == {"postponed": 1}


async def test_a_part_of_the_signatures_is_an_alarm():
    desk = Desk(swap(tries=2), restore="part")
    assert await desk.settle() == {"stuck": 1}
    assert "swap" not in desk.mint.asked
    assert desk.store.did[0][1] == "Only 6 of 7 outputs were signed"


# ── 11001: spent ──


async def test_spent_by_ourselves():
    desk = Desk(swap(), swap=refuses(11001), restore="all")
    assert await desk.settle() == {"done": 1}


@pytest.mark.parametrize(
    ("when", "ending"),
    [(LOCKTIME - timedelta(seconds=1), "stuck"), (LOCKTIME, "lost"),
     (LOCKTIME + timedelta(days=9), "lost")],
)  # fmt: skip
async def test_spent_by_somebody_else(when, ending):
    desk = Desk(swap(), swap=refuses(11001), restore="none")
    desk.clock.time = when
    assert await desk.settle() == {ending: 1}
    assert desk.store.did[0][:2] == (ending, "The mint refused the request (code 11001): no")


async def test_spent_but_restore_is_silent():
    desk = Desk(swap(), swap=refuses(11001), restore=UNKNOWN)
    desk.clock.time = LOCKTIME + timedelta(days=1)
    assert await desk.settle() == {"postponed": 1}


# ── 11002, 11004: pending ──


@pytest.mark.parametrize("code", [11002, 11004])
async def test_pending_is_waited_out_until_it_is_an_alarm(code):
    desk = Desk(swap(), swap=refuses(code), restore="none")
    assert await desk.settle() == {"postponed": 1}
    assert desk.store.did[0][3] is True
    for minutes, ending in ((14, "postponed"), (15, "stuck"), (600, "stuck")):
        since = START - timedelta(minutes=minutes)
        desk = Desk(swap(pending_at=since), swap=refuses(code), restore="none")
        assert await desk.settle() == {ending: 1}


# ── 12001, 12002: keyset ──

BOTH = Keysets([HONEST.keyset, OfflineMint("cheap", fee_ppk=0).keyset])


@pytest.mark.parametrize("code", [12001, 12002])
async def test_a_keyset_that_is_gone_makes_a_new_attempt(code):
    desk = Desk(swap(), swap=refuses(code), restore="none", states="UNSPENT", later=BOTH)
    assert await desk.settle() == {"superseded": 1}
    [(_, plan)] = desk.store.did
    assert plan.keyset_id == BOTH.active("sat").id != HONEST.keyset.id
    assert desk.mint.asked == {"swap": 1, "restore": 1, "states": 1}


@pytest.mark.parametrize("states", ["SPENT", "PENDING", ("UNSPENT", "SPENT")])
async def test_inputs_that_are_not_all_there_make_no_new_attempt(states):
    desk = Desk(swap(), swap=refuses(12002), restore="none", states=states, later=BOTH)
    assert await desk.settle() == {"postponed": 1}
    assert desk.store.did[0][3] is True


async def test_no_new_attempt_while_something_is_unknown():
    for says in ({"restore": UNKNOWN}, {"restore": "none", "states": UNKNOWN}):
        desk = Desk(swap(), swap=refuses(12002), later=BOTH, **says)
        assert await desk.settle() == {"postponed": 1}
    desk = Desk(swap(), swap=refuses(12002), restore="all", later=BOTH)
    assert await desk.settle() == {"done": 1}


async def test_keysets_that_we_know_too_little_of_are_waited_for():
    desk = Desk(swap(), swap=refuses(12002), restore="none", states="UNSPENT")
    assert await desk.settle() == {"postponed": 1}
    for tries, ending in ((19, "postponed"), (20, "stuck")):
        desk = Desk(swap(tries=tries), swap=refuses(12002), restore="none", states="UNSPENT")
        assert await desk.settle() == {ending: 1}
    from dataclasses import replace

    idle = Keysets([replace(HONEST.keyset, active=False)])
    desk = Desk(swap(), swap=refuses(12002), restore="none", states="UNSPENT", later=idle)
    assert await desk.settle() == {"postponed": 1}


async def test_another_mint_is_an_alarm():
    other = Keysets([EVIL.keyset])
    desk = Desk(swap(), swap=refuses(12001), restore="none", states="UNSPENT", later=other)
    assert await desk.settle() == {"stuck": 1}


@pytest.mark.parametrize(("attempt", "ending"), [(4, "superseded"), (5, "stuck")])
async def test_attempts_have_an_end(attempt, ending):
    desk = Desk(
        swap(attempt=attempt), swap=refuses(12002), restore="none", states="UNSPENT", later=BOTH
    )
    assert await desk.settle() == {ending: 1}


# ── other refusals ──


@pytest.mark.parametrize("code", [0, 10001, 10002, 11000, 11003, 11005, 20000])
async def test_any_other_refusal_is_an_alarm_unless_it_was_done(code):
    desk = Desk(swap(), swap=refuses(code), restore="none")
    assert await desk.settle() == {"stuck": 1}
    desk = Desk(swap(), swap=refuses(code), restore="all")
    assert await desk.settle() == {"done": 1}
    desk = Desk(swap(), swap=refuses(code), restore="part")
    assert await desk.settle() == {"stuck": 1}
    desk = Desk(swap(), swap=refuses(code), restore=refuses(20000))
    assert await desk.settle() == {"postponed": 1}


async def test_a_keyset_that_the_mint_no_longer_lists_is_looked_up_again():
    desk = Desk(swap(), swap=signed(PLAN), known=Keysets([]), later=Keysets([HONEST.keyset]))
    assert await desk.settle() == {"done": 1}
    desk = Desk(swap(), swap=signed(PLAN), known=Keysets([]))
    assert await desk.settle() == {"postponed": 1}


# ── a turn ──


async def test_a_turn_does_everything_that_is_due():
    desk = Desk(swap(), swap(), swap=signed(PLAN), states="SPENT")
    desk.store.sessions = ["s1", "s2"]
    desk.store.overdue = ["s1"]
    desk.store.open_refunds = [refund("r1", "02" * 33)]
    did = await desk.settlement.turn()
    assert did == {"closing": 1, "frozen": 2, "done": 2, "claimed": 1}
    assert [what for what, *_ in desk.store.did] == [
        "close_overdue", "freeze", "freeze", "done", "done", "claimed",
    ]  # fmt: skip
    assert desk.store.did[0] == ("close_overdue", timedelta(days=1))
    assert desk.store.did[1][1:] == ("s1", PREPARED)


async def test_a_turn_with_nothing_to_do_asks_nobody():
    desk = Desk()
    assert await desk.settlement.turn() == {}
    assert desk.mint.asked == {}


async def test_a_limit_is_kept():
    desk = Desk(*[swap() for _ in range(5)], swap=signed(PLAN))
    desk.store.sessions = ["s"] * 5
    assert await desk.settlement.turn(limit=3) == {"frozen": 3, "done": 3}
    assert await desk.settlement.freeze(limit=2) == 2
    assert dict(await desk.settlement.settle(limit=1)) == {"done": 1}


async def test_a_session_with_a_call_under_way_is_not_frozen():
    desk = Desk()
    desk.store.sessions, desk.store.frozen = ["s1"], False
    assert await desk.settlement.turn() == {}


async def test_without_keys_sessions_wait_and_the_rest_goes_on():
    desk = Desk(swap(), swap=UNKNOWN)
    desk.store.sessions = ["s1"]

    async def away():
        raise UNKNOWN

    desk.book.get = away
    assert await desk.settlement.turn() == {"postponed": 1}


async def test_without_an_active_keyset_sessions_wait():
    desk = Desk(known=Keysets([DOLLARS.keyset]))
    desk.store.sessions = ["s1"]
    assert await desk.settlement.turn() == {}
    with pytest.raises(MintUnfit, match="no active keyset for unit sat"):
        await desk.settlement.freeze()
    desk = Desk(known=Keysets([DOLLARS.keyset]), later=Keysets([HONEST.keyset]))
    desk.store.sessions = ["s1"]
    assert await desk.settlement.turn() == {"frozen": 1}


# ── refunds ──


def refund(refund_id: str, *ys: str) -> Refund:
    return Refund(
        refund_id=refund_id, session_id="s1", amount=1, token="t", ys=ys, status="delivered"
    )


async def test_a_refund_is_claimed_when_all_of_it_is_spent():
    desk = Desk(states=("SPENT", "SPENT", "SPENT", "UNSPENT", "PENDING"))
    ys = [f"{n:066x}" for n in range(5)]
    desk.store.open_refunds = [refund("r1", *ys[:2]), refund("r2", *ys[2:4]), refund("r3", ys[4])]
    assert await desk.settlement.check_refunds() == 1
    assert desk.store.did == [("claimed", ["r1"])]
    assert desk.mint.asked == {"states": 1}


@pytest.mark.parametrize("says", [UNKNOWN, refuses(20000)])
async def test_a_mint_that_does_not_answer_changes_no_refund(says):
    desk = Desk(states=says)
    desk.store.open_refunds = [refund("r1", "02" * 33)]
    assert await desk.settlement.check_refunds() == 0
    assert desk.store.did == []


async def test_without_refunds_nobody_is_asked():
    desk = Desk()
    assert await desk.settlement.check_refunds() == 0
    assert desk.mint.asked == {}
    desk = Desk(states="SPENT")
    desk.store.open_refunds = [refund(f"r{n}", f"{n:066x}") for n in range(60)]
    assert await desk.settlement.check_refunds() == 50


async def test_the_token_names_the_mint_as_people_know_it():
    """Behind a proxy the server may reach the mint under another name."""
    desk = Desk(swap(), swap=signed(PLAN))
    tokens = []

    async def complete(swap, earned, refund):
        tokens.append(refund.token)

    desk.store.complete = complete
    await desk.settle()
    from bathysphere.payments.nuts.tokens import decode_v4

    assert decode_v4(tokens[0]).mint == URL
    desk.settlement._mint_url = "https://known.test"
    await desk.settle()
    assert decode_v4(tokens[1]).mint == "https://known.test"


def test_patience_has_the_documented_defaults():
    assert SettlementTimings() == SettlementTimings(
        idle=timedelta(days=1),
        lease=timedelta(minutes=2),
        first_wait=timedelta(seconds=2),
        longest_wait=timedelta(minutes=5),
        pending_is_stuck=timedelta(minutes=15),
        stuck_look_again=timedelta(hours=1),
        max_attempts=5,
    )


# ── one that is wrong does not stop the others ──


async def test_a_swap_that_is_wrong_is_an_alarm_and_its_siblings_are_settled():
    broken = swap(swap_id="broken", outputs=b"{not json")
    desk = Desk(broken, swap(), swap=signed(PLAN))
    assert await desk.settle() == {"stuck": 1, "done": 1}
    [alarm] = [did for did in desk.store.did if did[0] == "stuck"]
    assert "JSONDecodeError" in alarm[1]
    assert DONE in desk.store.did


async def test_an_answer_that_the_ledger_refuses_is_an_alarm():
    desk = Desk(swap(), swap=signed(PLAN))

    async def refuses_it(swap, earned, refund):
        raise ValueError("Result of swap swap1 does not match its plan")

    desk.store.complete = refuses_it
    assert await desk.settle() == {"stuck": 1}


async def test_a_sibling_is_not_cancelled_while_it_posts():
    desk = Desk(swap(), swap(swap_id="slow"), swap=signed(PLAN))
    posted = []

    async def slow_complete(swap, earned, refund):
        if swap.swap_id != "slow":
            raise ConnectionError("PostgreSQL went away")
        await asyncio.sleep(0.01)
        posted.append(swap.swap_id)

    desk.store.complete = slow_complete
    with pytest.raises(ExceptionGroup) as raised:
        await desk.settle()
    assert raised.group_contains(ConnectionError)
    assert posted == ["slow"]


async def test_a_session_whose_swaps_cannot_be_written_does_not_hold_up_the_next():
    desk = Desk()
    desk.store.sessions = ["bad", "good"]
    freeze = desk.store.freeze

    async def freeze_but_one(session_id, prepare):
        if session_id == "bad":
            raise ValueError("the keyset has no key for 3")
        return await freeze(session_id, prepare)

    desk.store.freeze = freeze_but_one
    assert await desk.settlement.freeze() == 1
    assert ("cannot_freeze", "bad", "ValueError: the keyset has no key for 3") in desk.store.did
