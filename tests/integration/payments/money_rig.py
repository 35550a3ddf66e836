"""The whole of payment on real parts: a mint, PostgreSQL, a person with a wallet."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import httpx
from ledger_rig import ALICE, GRACE

from bathysphere.engine.database.pool import Database, Pool, open_pool
from bathysphere.payments.deposits import Deposits
from bathysphere.payments.ledger.accounts import Accounts
from bathysphere.payments.ledger.audit import audit
from bathysphere.payments.ledger.records import Deposited, NewSession, Refund, Session
from bathysphere.payments.ledger.refunds import Refunds
from bathysphere.payments.ledger.sealing import Sealer
from bathysphere.payments.ledger.swaps import Swaps
from bathysphere.payments.mint import KeysetBook, MintClient
from bathysphere.payments.session_keys import SessionKeys
from bathysphere.payments.settlement import Settlement, SettlementTimings
from bathysphere.testing.wallet import Wallet

MASTER = b"a master secret of thirty-two bytes or more"
NO_WAIT = SettlementTimings(
    first_wait=timedelta(0), longest_wait=timedelta(0), idle=timedelta(days=365)
)


class RealClock:
    """The time that the mint has too, moved by hand where a test needs another day."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return self.now().timestamp()


@dataclass(kw_only=True)
class Money:
    """Payment's parts, wired as the server wires them."""

    pool: Pool
    clock: RealClock
    accounts: Accounts
    swap_store: Swaps
    refunds: Refunds
    keys: SessionKeys
    mint: MintClient
    book: KeysetBook
    deposits: Deposits
    settlement: Settlement
    wallet: Wallet

    async def open(self, thread: str, *, wallet: Wallet | None = None) -> Session:
        wallet = wallet or self.wallet
        session_id = f"ps_{secrets.token_hex(8)}"
        return await self.accounts.open(
            NewSession(
                session_id=session_id,
                thread_id=thread,
                payer=ALICE,
                mint_url=wallet.mint_url,
                unit="sat",
                session_pubkey=self.keys.public_key(session_id),
                refund_pubkey=wallet.key,
            )
        )

    async def deposit(self, thread: str, amount: int) -> Deposited:
        """What a person does: ask what to pay, lock it, hand it in."""
        session = await self.open(thread)
        request = self.deposits.request(session, amount=amount, request_id="r1")
        return await self.hand_in(thread, await self.wallet.pay(request))

    async def hand_in(self, thread: str, token: str) -> Deposited:
        session = await self.open(thread)
        checked = await self.deposits.check(token, session)
        return await self.accounts.deposit(thread, checked, payer=ALICE)

    async def spend(self, thread: str, amount: int) -> None:
        key = f"call {secrets.token_hex(4)}"
        posted = await self.accounts.charge(thread, key, amount, payer=ALICE)
        assert posted.outcome == "charged"
        await self.accounts.complete(thread, key, amount, b"answer")

    async def close(self, thread: str) -> None:
        await self.accounts.begin_close(thread, payer=ALICE)

    async def rows(self, query: str, *values: object) -> list[dict]:
        async with self.pool.connection() as connection:
            return await (await connection.execute(query, values)).fetchall()

    async def swaps(self) -> list[str]:
        rows = await self.rows("SELECT status FROM payments.swaps ORDER BY made_at, attempt")
        return [row["status"] for row in rows]

    async def vault(self) -> int:
        [row] = await self.rows("SELECT coalesce(sum(amount), 0)::bigint AS n FROM payments.vault")
        return row["n"]

    async def delivered(self, thread: str) -> list[Refund]:
        return await self.refunds.deliver(thread, payer=ALICE)

    async def assert_balanced(self) -> None:
        found = await audit(self.pool)
        assert list(found.violations) == []


@asynccontextmanager
async def open_money(
    database: Database,
    mint_url: str,
    *,
    through: str | None = None,
    timings: SettlementTimings = NO_WAIT,
    timeout: float = 5.0,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[Money]:
    """Payment with the mint at `mint_url`, reached `through` a wire if there is one."""
    clock, sealer, keys = RealClock(), Sealer(MASTER), SessionKeys(MASTER)
    mint = MintClient(through or mint_url, timeout=timeout, transport=transport)
    book = KeysetBook(mint, clock, min_seconds=0)
    async with open_pool(database) as pool:
        accounts = Accounts(pool, sealer=sealer, clock=clock)
        swap_store = Swaps(pool, sealer=sealer, clock=clock, grace=GRACE)
        refunds = Refunds(pool, clock=clock)
        settlement = Settlement(
            accounts=accounts,
            swaps=swap_store,
            refunds=refunds,
            mint=mint,
            book=book,
            keys=keys,
            clock=clock,
            unit="sat",
            mint_url=mint_url,
            timings=timings,
        )
        try:
            yield Money(
                pool=pool,
                clock=clock,
                accounts=accounts,
                swap_store=swap_store,
                refunds=refunds,
                keys=keys,
                mint=mint,
                book=book,
                deposits=Deposits(book, clock),
                settlement=settlement,
                wallet=Wallet(mint_url=mint_url),
            )
        finally:
            await mint.close()
