"""A ledger on a real PostgreSQL, with a clock that is set by hand and tokens that nobody checks."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database, Pool, open_pool
from bathysphere.engine.database.schema import migrate
from bathysphere.payments.ledger.accounts import Accounts
from bathysphere.payments.ledger.audit import audit
from bathysphere.payments.ledger.records import (
    Checked,
    NewSession,
    Prepared,
    Proof,
    RefundToken,
    Session,
    Swap,
    ToSettle,
)
from bathysphere.payments.ledger.refunds import Refunds
from bathysphere.payments.ledger.sealing import Sealer
from bathysphere.payments.ledger.swaps import Swaps
from bathysphere.payments.ledger.withdrawals import Withdrawals
from bathysphere.testing.postgres import SERVER, temporary_database

ALICE = Owner(tenant="t", user="alice")
BOB = Owner(tenant="t", user="bob")
GRACE = timedelta(minutes=15)
SEALER = Sealer(b"a secret of thirty-two bytes ....")
TABLES = (
    "payments.withdrawn, payments.withdrawals, payments.entries, payments.refunds,"
    " payments.vault, payments.swaps, payments.charges,"
    " payments.proofs, payments.deposits, payments.sessions"
)


class HandClock:
    """Time that only passes when it is told to."""

    def __init__(self) -> None:
        self.time = datetime(2026, 11, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    def wait(self, span: timedelta) -> None:
        self.time += span


@contextmanager
def own_database(server: str = SERVER) -> Iterator[Database]:
    with temporary_database("payments_test", server=server) as url:
        database = Database(url=url, max_size=16)
        asyncio.run(migrate(database))
        yield database


def empty(database: Database) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(f"TRUNCATE {TABLES}")


def prepare(order: ToSettle) -> Prepared:
    """A swap that no mint would take, with the worth in it."""
    assert sum(proof.amount for proof in order.proofs) == order.earn + order.refund + order.fee
    return Prepared(b"body of " + order.swap_id.encode(), b"outputs of " + order.swap_id.encode())


@dataclass(kw_only=True)
class Rig:
    """The ledger's parts over one pool."""

    pool: Pool
    clock: HandClock
    accounts: Accounts
    swaps: Swaps
    refunds: Refunds
    withdrawals: Withdrawals
    rng: random.Random = field(default_factory=lambda: random.Random(1))

    async def open(self, thread: str, payer: Owner = ALICE, key: str = "02aa") -> Session:
        return await self.accounts.open(
            NewSession(
                session_id=f"ps_{self.rng.randbytes(8).hex()}",
                thread_id=thread,
                payer=payer,
                mint_url="http://mint.test",
                unit="sat",
                session_pubkey="03bb",
                refund_pubkey=key,
            )
        )

    def token(self, *amounts: int, fee: int = 1, hours: float = 48) -> Checked:
        return Checked(
            face=sum(amounts),
            fee=fee,
            locktime=self.clock.now() + timedelta(hours=hours),
            proofs=tuple(Proof(self.rng.randbytes(16).hex(), n, b"secret") for n in amounts),
        )

    async def funded(self, thread: str, sats: int, payer: Owner = ALICE) -> Session:
        await self.open(thread, payer)
        return (await self.accounts.deposit(thread, self.token(sats + 1), payer=payer)).session

    async def settle(self) -> int:
        """Freeze what closes and let every swap succeed; how many did."""
        for session_id in await self.swaps.closing():
            await self.swaps.freeze(session_id, prepare)
        swaps = await self.swaps.take(limit=1000)
        for swap in swaps:
            assert await self.swaps.complete(swap, earned(swap), refund(swap))
        return len(swaps)

    async def withdrawn(self, withdrawal_id: str) -> set[str]:
        """The proofs that a withdrawal took."""
        async with self.pool.connection() as connection:
            cursor = await connection.execute(
                "SELECT y FROM payments.withdrawn WHERE withdrawal_id = %s", (withdrawal_id,)
            )
            return {row["y"] for row in await cursor.fetchall()}

    async def violations(self) -> list[tuple[str, str, int]]:
        found = await audit(self.pool)
        return [(one.rule, one.subject, one.difference) for one in found.violations]


def earned(swap: Swap) -> list[Proof]:
    return [Proof(f"earned by {swap.swap_id}", swap.earn, b"money")] if swap.earn else []


def refund(swap: Swap) -> RefundToken | None:
    return RefundToken(f"cashuB{swap.swap_id}", (f"y of {swap.swap_id}",)) if swap.refund else None


@asynccontextmanager
async def open_rig(database: Database) -> AsyncIterator[Rig]:
    clock, sealer = HandClock(), SEALER
    async with open_pool(database) as pool:
        yield Rig(
            pool=pool,
            clock=clock,
            accounts=Accounts(pool, sealer=sealer, clock=clock),
            swaps=Swaps(pool, sealer=sealer, clock=clock, grace=GRACE),
            refunds=Refunds(pool, clock=clock),
            withdrawals=Withdrawals(pool, sealer=sealer, clock=clock),
        )
