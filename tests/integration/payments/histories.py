"""Random histories of the ledger beside a model of it, with an audit after every step.

    python tests/integration/payments/histories.py --steps 10000 --seed 1

The model is a few dictionaries and additions. After each step the ledger's own invariants hold
(`audit()` in one query) and every session stands where the model says. Last line: JSON.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from ledger_rig import ALICE, GRACE, Rig, earned, empty, open_rig, own_database, prepare, refund

from bathysphere.engine.database.pool import Database
from bathysphere.payments.ledger.audit import audit
from bathysphere.payments.ledger.errors import NoPaymentSession, TokenAlreadyUsed
from bathysphere.payments.ledger.records import Checked, Swap
from bathysphere.payments.ledger.withdrawals import LEASE, CannotWithdraw, Withdrawal

THREADS = 4


@dataclass
class Account:
    """A session, as the model knows it."""

    session_id: str
    thread: str
    is_open: bool = True
    is_frozen: bool = False
    credited: int = 0
    charges: dict[str, list] = field(default_factory=dict)
    """Key → [amount, status, when, holder, whether it streamed before it was cut off]."""

    @property
    def spent(self) -> int:
        return sum(c[0] for c in self.charges.values() if c[1] != "voided")

    shortfall: int = 0


@dataclass
class Model:
    """What should be so."""

    accounts: list[Account] = field(default_factory=list)
    tokens: list[tuple[Checked, Account]] = field(default_factory=list)
    taken: list[Swap] = field(default_factory=list)
    keys: int = 0
    withdrawn: set[str] = field(default_factory=set)
    unshown: dict[str, Withdrawal] = field(default_factory=dict)

    def open_on(self, thread: str) -> Account | None:
        return next((a for a in self.accounts if a.thread == thread and a.is_open), None)

    def charges(self, *statuses: str) -> list[tuple[Account, str]]:
        """Those that can be asked for."""
        return [
            (account, key)
            for account in self.accounts
            for key, charge in account.charges.items()
            if charge[1] in statuses and " kept " not in key
        ]


class History:
    """One random history."""

    def __init__(self, rig: Rig, seed: int) -> None:
        self.rig = rig
        self.rng = random.Random(seed)
        rig.rng = random.Random(f"proofs {seed}")
        self.model = Model()
        self.did: Counter[str] = Counter()
        self.steps_of = {
            "open": 4, "deposit": 8, "replay": 3, "mix": 1, "charge": 20, "again": 5,
            "complete": 12, "void": 6, "keep": 2, "close": 2, "freeze": 6, "take": 5, "done": 8,
            "postpone": 2, "stick": 1, "supersede": 2, "lose": 1, "deliver": 2, "wait": 3,
            "overdue": 1, "withdraw": 3, "stream": 4,
        }  # fmt: skip

    async def step(self) -> None:
        name = self.rng.choices(list(self.steps_of), list(self.steps_of.values()))[0]
        await getattr(self, f"_{name}")()
        self.did[name] += 1
        await self.check(name)

    async def check(self, name: str) -> None:
        books = await audit(self.rig.pool)
        assert books.violations == (), f"after {name}"
        shortfall = sum(account.shortfall for account in self.model.accounts)
        assert books.shortfall == shortfall, f"after {name}"
        async with self.rig.pool.connection() as connection:
            rows = await (await connection.execute("SELECT * FROM payments.sessions")).fetchall()
        stand = {
            row["session_id"]: (
                row["status"] == "open", row["frozen_at"] is not None, row["credited"],
                row["spent"], row["balance"],
            )
            for row in rows
        }  # fmt: skip
        expected = {
            a.session_id: (
                a.is_open, a.is_frozen, a.credited, a.spent,
                0 if a.is_frozen else a.credited - a.spent,
            )
            for a in self.model.accounts
        }  # fmt: skip
        assert stand == expected, f"after {name}"

    # ── the person ──

    def _thread(self) -> str:
        return f"thread {self.rng.randrange(THREADS)}"

    async def _open(self) -> None:
        thread = self._thread()
        session = await self.rig.open(thread)
        known = self.model.open_on(thread)
        if known is None:
            self.model.accounts.append(Account(session.session_id, thread))
        else:
            assert known.session_id == session.session_id

    async def _deposit(self) -> None:
        thread = self._thread()
        amounts = [2 ** self.rng.randrange(6) for _ in range(self.rng.randrange(1, 5))]
        fee = min(self.rng.randrange(3), sum(amounts) - 1)
        token = self.rig.token(*amounts, fee=fee, hours=self.rng.choice([6, 48, 200]))
        await self._offer(thread, token)

    async def _offer(self, thread: str, token: Checked) -> None:
        account = self.model.open_on(thread)
        try:
            done = await self.rig.accounts.deposit(thread, token, payer=ALICE)
        except NoPaymentSession:
            assert account is None
            return
        assert account is not None
        assert (done.credited, done.is_new) == (token.credited, True)
        account.credited += token.credited
        self.model.tokens.append((token, account))

    async def _replay(self) -> None:
        if not self.model.tokens:
            return
        token, home = self.rng.choice(self.model.tokens)
        thread = self._thread()
        try:
            done = await self.rig.accounts.deposit(thread, token, payer=ALICE)
        except TokenAlreadyUsed:
            assert thread != home.thread
        else:
            assert (thread, done.credited, done.is_new) == (home.thread, 0, False)

    async def _mix(self) -> None:
        """A used proof beside a fresh one is refused whole."""
        if not self.model.tokens:
            return
        token, home = self.rng.choice(self.model.tokens)
        fresh = self.rig.token(8)
        both = Checked(
            face=token.face + 8, fee=token.fee, locktime=token.locktime,
            proofs=(*token.proofs, *fresh.proofs),
        )  # fmt: skip
        try:
            await self.rig.accounts.deposit(home.thread, both, payer=ALICE)
        except TokenAlreadyUsed:
            return
        raise AssertionError("a used proof was credited")

    async def _close(self) -> None:
        thread = self._thread()
        account = self.model.open_on(thread)
        try:
            await self.rig.accounts.begin_close(thread, payer=ALICE)
        except NoPaymentSession:
            assert account is None
        if account is not None:
            account.is_open = False

    async def _withdraw(self) -> None:
        """The operator takes earnings out, in part or all; a command may die before it shows them.

        The audit's rules I3 and I10 look at the rest.
        """
        withdrawals, model = self.rig.withdrawals, self.model
        try:
            made = await withdrawals.withdraw(self.rng.choice([None, self.rng.randrange(1, 40)]))
        except CannotWithdraw:
            return
        if made.withdrawal_id in model.unshown:
            assert made == model.unshown[made.withdrawal_id]
            assert made.made_at + LEASE <= self.rig.clock.now(), "two commands showed one token"
        else:
            ys = await self.rig.withdrawn(made.withdrawal_id)
            assert not ys & model.withdrawn, "a proof was withdrawn twice"
            model.withdrawn |= ys
            model.unshown[made.withdrawal_id] = made
        if self.rng.random() < 0.7:
            await withdrawals.mark_shown(made.withdrawal_id)
            del model.unshown[made.withdrawal_id]

    async def _deliver(self) -> None:
        refunds = await self.rig.refunds.deliver(self._thread(), payer=ALICE)
        await self.rig.refunds.mark_claimed([r.refund_id for r in refunds[: self.rng.randrange(2)]])

    # ── the agent ──

    async def _charge(self) -> None:
        self.model.keys += 1
        await self._ask(self._thread(), f"key {self.model.keys}", self.rng.randrange(1, 20))

    async def _again(self) -> None:
        known = self.model.charges("captured", "kept", "done", "voided")
        if known:
            account, key = self.rng.choice(known)
            await self._ask(account.thread, key, self.rng.randrange(1, 20))

    async def _ask(self, thread: str, key: str, amount: int) -> None:
        home = next(
            (a for a, k in self.model.charges("captured", "kept", "done") if k == key), None
        )
        account = self.model.open_on(thread)
        run = self.rng.choice(["run 1", "run 2"])
        posted = await self.rig.accounts.charge(thread, key, amount, payer=ALICE, holder=run)
        kept = home is not None and home.charges[key][1] == "kept" and home.charges[key][3] != run
        if home is not None and not kept:
            home.charges[key][3] = run if home.charges[key][1] != "done" else home.charges[key][3]
            assert posted.outcome == ("done" if home.charges[key][1] == "done" else "charged")
        elif account is None:
            assert posted.outcome == "no_session"
        elif posted.outcome == "charged":
            assert account.credited - account.spent >= amount
            if kept:  # it stays paid for, under a name that nobody asks for
                home.charges[f"{key} kept {self.model.keys}"] = home.charges.pop(key)
                self.model.keys += 1
            for other in self.model.accounts:
                other.charges.pop(key, None)
            account.charges[key] = [amount, "captured", self.rig.clock.now(), run, False]
        elif posted.outcome == "insufficient":
            assert account.credited - account.spent < amount
        else:
            assert posted.outcome == "expired"

    async def _complete(self) -> None:
        known = self.model.charges("captured", "kept", "done", "voided")
        if not known:
            return
        account, key = self.rng.choice(known)
        charge, actual = account.charges[key], self.rng.randrange(1, 25)
        posted = await self.rig.accounts.complete(account.thread, key, actual, b"answer")
        expected = {"done": "done", "voided": "voided"}.get(charge[1], "completed")
        assert posted.outcome == expected
        if expected == "completed":
            charge[1] = "done"
            account.shortfall += max(0, actual - charge[0])
            if not account.is_frozen:
                charge[0] = min(charge[0], actual)

    async def _void(self) -> None:
        known = self.model.charges("captured", "kept", "done", "voided")
        if known:
            account, key = self.rng.choice(known)
            voided = await self.rig.accounts.void(account.thread, key)
            assert voided == (account.charges[key][1] == "captured")
            if voided:
                account.charges[key][1] = "voided"

    async def _keep(self) -> None:
        known = self.model.charges("captured")
        if known:
            account, key = self.rng.choice(known)
            await self.rig.accounts.keep(account.thread, key)
            account.charges[key][1] = "kept"

    async def _stream(self) -> None:
        """A call is cut off after part of its answer was streamed."""
        known = self.model.charges("captured")
        if known:
            account, key = self.rng.choice(known)
            await self.rig.accounts.mark_streamed(account.thread, key)
            account.charges[key][4] = True

    # ── the operator ──

    async def _wait(self) -> None:
        self.rig.clock.wait(timedelta(minutes=self.rng.choice([1, 20, 90])))

    async def _overdue(self) -> None:
        closed = await self.rig.accounts.close_overdue(idle=timedelta(hours=12))
        for account in self.model.accounts:
            account.is_open = account.is_open and account.session_id not in closed

    async def _freeze(self) -> None:
        for account in self.model.accounts:
            if account.is_open or account.is_frozen:
                continue
            late = self.rig.clock.now() - GRACE
            waits = any(c[1] == "captured" and c[2] > late for c in account.charges.values())
            frozen = await self.rig.swaps.freeze(account.session_id, prepare)
            assert frozen is not waits
            if frozen:
                account.is_frozen = True
                for charge in account.charges.values():
                    if charge[1] == "captured":
                        charge[1] = "kept" if charge[4] else "voided"

    async def _take(self) -> None:
        self.model.taken += await self.rig.swaps.take(limit=3)

    def _swap(self) -> Swap | None:
        # One may be taken twice, when its lease ran out: whoever ends it second changes nothing.
        return self.rng.choice(self.model.taken) if self.model.taken else None

    async def _done(self) -> None:
        if (swap := self._swap()) is not None:
            await self.rig.swaps.complete(swap, earned(swap), refund(swap))

    async def _lose(self) -> None:
        if (swap := self._swap()) is not None:
            await self.rig.swaps.mark_lost(swap, "taken back")

    async def _stick(self) -> None:
        if (swap := self._swap()) is not None:
            await self.rig.swaps.mark_stuck(swap, "pending", look_again=timedelta(minutes=1))

    async def _supersede(self) -> None:
        if (swap := self._swap()) is not None:
            await self.rig.swaps.supersede(swap, prepare, "keyset gone")

    async def _postpone(self) -> None:
        if (swap := self._swap()) is not None:
            pending = self.rng.random() < 0.5
            await self.rig.swaps.postpone(
                swap, "unknown", after=timedelta(seconds=30), is_pending=pending
            )


async def play(database: Database, *, steps: int, seed: int, length: int = 250) -> Counter[str]:
    """Histories of `length` steps each, every one on an empty ledger."""
    did: Counter[str] = Counter()
    for number in range((steps + length - 1) // length):
        empty(database)
        async with open_rig(database) as rig:
            history = History(rig, seed * 1_000_003 + number)
            for _ in range(min(length, steps - number * length)):
                await history.step()
            did += history.did
    return did


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with own_database() as database:
        did = asyncio.run(play(database, steps=options.steps, seed=options.seed))
    line = {"steps": sum(did.values()), "violations": 0, "seconds": round(time.monotonic() - began)}
    sys.stdout.write(json.dumps({**line, "did": dict(did)}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
