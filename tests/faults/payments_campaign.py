"""Fault campaign for payments: seeded schedules with crashes at every boundary.

    python tests/faults/payments_campaign.py --schedules 500 --seed 1

Each schedule is a paid thread, run by processes that kill themselves before or after a commit, a
POST or a model call, in the main agent or a subagent (`payments_schedules.py` lists the points),
with a link to the mint that loses, doubles, delays and cuts, a mint that is killed, frozen and
restarted, and a PostgreSQL that is restarted. The campaign starts all of them itself. At the end of
a thread the person redeems the refund at the real mint. The last line is JSON: `schedules`,
`imbalance`, `charges_minus_answers`, `refund_errors`, and their details.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "integration" / "payments"))

import httpx
import psycopg
from ledger_rig import own_database
from own_services import OwnPostgres, own_postgres
from payments_process import FELL, NEEDS_MONEY, PAYER, PRICE, Parts, Reaper, keep_keysets
from payments_schedules import PaidSchedule, draw
from progress import Progress
from psycopg_pool import PoolTimeout
from tally import say

from bathysphere.core.errors import StorageLost, UpstreamError
from bathysphere.engine.database.pool import Database, Pool, open_pool
from bathysphere.payments.ledger.audit import audit
from bathysphere.payments.ledger.records import Refund
from bathysphere.payments.nuts.keysets import Keysets
from bathysphere.testing.mint import LocalMint
from bathysphere.testing.mint.wire import FaultyWire
from bathysphere.testing.wallet import Wallet

T = TypeVar("T")
AT_ONCE = 8
LIVES = 40  # a thread that needs more processes is stuck
LIFE_SECONDS = 60
BOUND = 600  # seconds for a whole schedule
TOPUP = 64


class Nursery:
    """Forks the processes of a schedule."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("payments_process.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        self._turn = asyncio.Lock()

    async def live(self, options: dict[str, Any]) -> int:
        """Run one process to its end; return its exit code (minus the signal that killed it)."""
        pid = int(await self._ask({"live": options}))
        until = time.monotonic() + LIFE_SECONDS
        while (code := await self._ask({"wait": pid})) == "running":
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.1)
        return int(code)

    async def _ask(self, request: dict[str, Any]) -> str:
        async with self._turn:
            return await asyncio.to_thread(self._say, json.dumps(request))

    def _say(self, line: str) -> str:
        self._process.stdin.write(line + "\n")
        return self._process.stdout.readline().strip()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(10)


class Person(Wallet):
    """A wallet that already knows the mint's keysets."""

    known: Keysets

    async def _keysets(self) -> Keysets:
        return self.known


@dataclass(kw_only=True)
class Tally:
    """The results of the campaign so far."""

    schedules: int = 0
    imbalance: int = 0
    charges_minus_answers: int = 0
    refund_errors: int = 0
    stuck: int = 0
    lives: int = 0
    deaths: int = 0
    fell: int = 0
    topups: int = 0
    wallet_retries: int = 0
    answers: int = 0
    deposited: int = 0
    refunded: int = 0
    seconds: int = 0
    died: Counter[str] = field(default_factory=Counter)
    outages: Counter[str] = field(default_factory=Counter)
    wire: Counter[str] = field(default_factory=Counter)

    @property
    def is_good(self) -> bool:
        wrong = (self.imbalance, self.charges_minus_answers, self.refund_errors, self.stuck)
        return not any(wrong)

    def summary(self, total: int) -> str:
        """The progress of the campaign."""
        return (
            f"{self.schedules}/{total}: imbalance {self.imbalance}, {self.stuck} stuck,"
            f" {self.refund_errors} refund errors, {self.lives} lives, {self.deaths} deaths"
        )

    def line(self) -> str:
        parts = {
            k: dict(sorted(v.items())) if isinstance(v, Counter) else v
            for k, v in vars(self).items()
        }
        return json.dumps(parts)


async def steady(operation: Callable[[], Awaitable[T]]) -> T:
    """Retry until PostgreSQL responds."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await operation()
            except (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, StorageLost):
                await asyncio.sleep(0.2)


@dataclass(kw_only=True)
class Campaign:
    """Runs schedules against the servers."""

    database: Database
    postgres: OwnPostgres
    mint: LocalMint
    wire: FaultyWire
    pool: Pool
    parts: Parts
    nursery: Nursery
    log: str
    tally: Tally = field(default_factory=Tally)
    _wallets: int = 0
    _quiet: asyncio.Condition = field(default_factory=asyncio.Condition)
    _counter: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def play(self, schedule: PaidSchedule) -> None:
        wallet = Person(mint_url=self.mint.url)
        wallet.known = await self.parts.book.get()
        thread, service = schedule.thread, self.parts.service
        await steady(lambda: service.open(thread, payer=PAYER, refund_key=wallet.key))
        tokens = [await self._pay(wallet, thread, schedule.first_sats)]
        for fault, path in schedule.wire:
            self.wire.spoil(fault, path=path, seconds=0.5)
        outage = asyncio.create_task(self._outage(schedule))
        deaths = list(schedule.deaths)
        abandons = False
        for _ in range(LIVES):
            death = deaths.pop(0) if deaths else None
            code = await self.nursery.live(
                {
                    "database": self.database.url, "mint": self.wire.url, "thread": thread,
                    "text": schedule.text, "tokens": tokens, "abandons": abandons,
                    "death": asdict(death) if death else None, "log": self.log,
                    "fails_first": schedule.fails_first,
                    "keysets": f"{self.log}.keysets",
                }
            )  # fmt: skip
            self.tally.lives += 1
            if code == 0:
                break
            if code == -signal.SIGKILL:
                self.tally.deaths += 1
                self.tally.died[f"{death.side} {death.point}" if death else "outside"] += 1
                abandons = abandons or schedule.is_abandoned
            elif code == NEEDS_MONEY:
                self.tally.topups += 1
                tokens.append(await self._pay(wallet, thread, TOPUP))
                deaths[:0] = [death] if death and not deaths else []  # it ended before it could die
            elif code == FELL:
                self.tally.fell += 1
                await asyncio.sleep(0.3)
            else:
                say(f"FAILED {schedule} with {code}")
                break
        else:
            say(f"STUCK {schedule}")
        await outage
        await self._judge(schedule, wallet, abandons=abandons)

    async def _pay(self, wallet: Wallet, thread: str, sats: int) -> str:
        bill = await steady(lambda: self.parts.service.bill(thread, 0, payer=PAYER))
        # The fee comes on top, so that a deposit is worth what the schedule says.
        return await self._with_mint(lambda: wallet.pay(bill.request, amount=sats + 1))

    async def _judge(self, schedule: PaidSchedule, wallet: Wallet, *, abandons: bool) -> None:
        tally, thread = self.tally, schedule.thread
        tally.schedules += 1
        row = await steady(lambda: self._row(_ACCOUNT, thread))
        if row["status"] != "closed":
            tally.stuck += 1
            say(f"NOT CLOSED {schedule}: {row}")
        expected = row["done"] if abandons else schedule.answers
        wrong = abs(row["charges"] - expected) + abs(row["spent"] - PRICE * expected)
        if wrong:
            say(f"CHARGES {schedule}: {row}, expected {expected}")
        tally.charges_minus_answers += wrong
        tally.answers += expected
        refunds = await steady(lambda: self.parts.refunds.deliver(thread, payer=PAYER))
        given = sum(refund.amount for refund in refunds)
        if given != row["credited"] - row["spent"]:
            say(f"REFUND {schedule}: {given} and not {row['credited']} - {row['spent']}")
            tally.refund_errors += 1
        for refund in refunds:
            received = await self._receive(wallet, refund)
            if refund.amount - received not in (0, 1):  # the mint's fee for ten proofs or fewer
                say(f"REFUND {schedule}: {received} of {refund.amount} came")
                tally.refund_errors += 1
        tally.deposited += row["credited"]
        tally.refunded += given
        books = await steady(lambda: audit(self.pool))
        if books.violations:
            say(f"AUDIT after {schedule}: {books.violations}")
            tally.imbalance = max(tally.imbalance, books.imbalance)

    async def _receive(self, wallet: Wallet, refund: Refund) -> int:
        """Redeem a refund at the mint. Only the wallet has its key: what is spent, it redeemed."""
        tried = 0

        async def once() -> int:
            nonlocal tried
            tried += 1
            states = await self.parts.mint.states([bytes.fromhex(y) for y in refund.ys])
            if set(states) == {"SPENT"} and tried > 1:
                return refund.amount
            if refund.amount == 1 and set(states) == {"UNSPENT"}:
                return 0  # the mint's fee eats it; a wallet keeps it until there is more
            return await wallet.receive(refund.token)

        return await self._with_mint(once)

    async def _row(self, query: str, thread: str) -> dict[str, Any]:
        async with self.pool.connection() as connection:
            row = await (await connection.execute(query, (thread,))).fetchone()
        assert row is not None
        return row

    # ── outages ──

    async def _with_mint(self, use: Callable[[], Awaitable[T]]) -> T:
        """Call the mint without outages, because the person's wallet stores nothing.

        A mint on SQLite refuses requests while others write; then nothing has happened.
        """
        async with self._quiet:
            self._wallets += 1
        try:
            # One wallet at a time: a mint on SQLite is busy enough with settlements.
            async with self._counter:
                return await self._again(use)
        finally:
            async with self._quiet:
                self._wallets -= 1
                self._quiet.notify_all()

    async def _again(self, use: Callable[[], Awaitable[T]]) -> T:
        for pause in (0.2, 0.5, 1.0, 2.0, 4.0):
            try:
                return await use()
            except (UpstreamError, httpx.HTTPError):
                self.tally.wallet_retries += 1
                await asyncio.sleep(pause)
        return await use()

    async def _outage(self, schedule: PaidSchedule) -> None:
        kind = schedule.outage
        if kind is None:
            return
        await asyncio.sleep(0.2 + schedule.number % 7 / 7)
        self.tally.outages[kind] += 1
        if kind.startswith("postgres"):
            how = "fast" if kind == "postgres_fast" else "immediate"
            async with self._quiet:
                await asyncio.to_thread(self.postgres.restart, how)
            return
        async with self._quiet:
            await self._quiet.wait_for(lambda: self._wallets == 0)
            if kind == "mint_freeze":
                self.mint.freeze()
                await asyncio.sleep(2.5)
                self.mint.thaw()
                return
            await asyncio.to_thread(self.mint.crash if kind == "mint_kill" else self.mint.stop)
            await asyncio.to_thread(self._forget_pending)
            await asyncio.to_thread(self.mint.start)

    def _forget_pending(self) -> None:
        # A killed Nutshell may keep inputs as pending for ever (docs/payments.md): its operator's
        # repair, not ours. Ours waits, and raises an alarm: tests/integration/payments.
        with contextlib.closing(self.mint.database()) as database:
            database.execute("DELETE FROM proofs_pending")
            database.commit()


_ACCOUNT = """
SELECT s.status, s.credited, s.spent,
       count(c.key) FILTER (WHERE c.status <> 'voided') AS charges,
       count(c.key) FILTER (WHERE c.status = 'done') AS done
  FROM payments.sessions s LEFT JOIN payments.charges c USING (session_id)
 WHERE s.thread_id = %s GROUP BY s.session_id ORDER BY s.epoch LIMIT 1
"""


async def campaign(
    database: Database, postgres: OwnPostgres, mint: LocalMint, options: argparse.Namespace
) -> Tally:
    numbers = options.only or list(range(options.schedules))
    async with AsyncExitStack() as stack:
        wire = await stack.enter_async_context(FaultyWire(mint.port))
        pool = await stack.enter_async_context(open_pool(database))
        parts = Parts(pool, wire.url, Reaper(None))
        stack.push_async_callback(parts.mint.close)
        keep_keysets(f"{options.log}.keysets", await parts.book.get())
        nursery = Nursery()
        stack.callback(nursery.close)
        plan = Campaign(
            database=database, postgres=postgres, mint=mint, wire=wire, pool=pool, parts=parts,
            nursery=nursery, log=options.log,
        )  # fmt: skip
        turn = asyncio.Semaphore(options.at_once)

        progress = Progress(summary=lambda: plan.tally.summary(len(numbers)), bound=BOUND)
        await stack.enter_async_context(progress.reported())

        async def one(number: int) -> None:
            async with turn:
                try:
                    async with progress.schedule(number):
                        await plan.play(draw(options.seed, number))
                except TimeoutError:
                    plan.tally.stuck += 1
                    say(f"STUCK {draw(options.seed, number)}: given up after {BOUND} s")

        async with asyncio.TaskGroup() as group:
            for number in numbers:
                group.create_task(one(number))
        books = await steady(lambda: audit(pool))
        plan.tally.imbalance = max(plan.tally.imbalance, books.imbalance)
        plan.tally.wire.update(wire.spoiled)
        return plan.tally


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="these numbers only")
    parser.add_argument("--log", help="where lives say what ended them")
    options = parser.parse_args()
    logging.getLogger("psycopg.pool").setLevel("CRITICAL")  # connection losses are intended
    logging.getLogger("psycopg").setLevel("CRITICAL")
    # Ending the campaign early must also end its servers and processes.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    with (
        own_postgres() as postgres,
        own_database(postgres.url) as database,
        LocalMint(seed="a mint for the campaign", fee_ppk=100) as mint,
        tempfile.TemporaryDirectory(prefix="payments_lives_") as folder,
    ):
        options.log = options.log or f"{folder}/log"
        tally = asyncio.run(campaign(database, postgres, mint, options))
        if not tally.is_good:
            say(Path(options.log).read_text()[-20_000:])
    tally.seconds = round(time.monotonic() - began)
    say(tally.line())
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
