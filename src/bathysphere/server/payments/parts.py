"""From settings to the parts of payment in one process, and the work it does in the background."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import psycopg
from psycopg_pool import PoolTimeout

from bathysphere.core.clock import Clock
from bathysphere.core.errors import BathysphereError, missing_extra
from bathysphere.core.payments import Purse
from bathysphere.engine.database import Pool
from bathysphere.engine.records import Owner
from bathysphere.server.payments.settings import PaymentSettings

try:
    from bathysphere.payments.deposits import Deposits
    from bathysphere.payments.errors import MintUnknown
    from bathysphere.payments.ledger.accounts import Accounts
    from bathysphere.payments.ledger.records import Payer
    from bathysphere.payments.ledger.refunds import Refunds
    from bathysphere.payments.ledger.sealing import Sealer
    from bathysphere.payments.ledger.settling import Settling
    from bathysphere.payments.mint import KeysetBook, MintClient
    from bathysphere.payments.pricing import Price
    from bathysphere.payments.session_keys import SessionKeys
    from bathysphere.payments.settlement import Patience, Settlement
    from bathysphere.payments.till import Terms, Till
except ImportError as error:
    raise missing_extra("payment", "payments") from error

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Payments:
    """What a process needs to be paid."""

    till: Till
    settlement: Settlement
    mint: MintClient
    sweep_seconds: float

    def purse(self, thread_id: str, owner: Owner, run_id: str) -> Purse:
        """The purse of a thread, for one of its runs."""
        return self.till.purse(thread_id, payer=payer_of(owner), run_id=run_id)

    async def close(self, thread_id: str, owner: Owner) -> None:
        """Close the thread's account, so that the rest goes back."""
        await self.till.close(thread_id, payer=payer_of(owner))

    async def sweep(self) -> None:
        """Settle what is due, again and again, until cancelled."""
        while True:
            try:
                did = await self.settlement.turn()
                if did:
                    _log.info("payments swept: %s", dict(did))
                if did["stuck"] or did["lost"]:
                    _log.error("payments: %d stuck, %d lost", did["stuck"], did["lost"])
            except* (psycopg.Error, PoolTimeout, BathysphereError) as errors:
                kinds = {type(error).__name__ for error in leaves(errors)}
                _log.warning("payments could not be swept: %s", ", ".join(sorted(kinds)))
            await asyncio.sleep(self.sweep_seconds)


def leaves(errors: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """The errors of a group, without the groups."""
    found: list[BaseException] = []
    for error in errors.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


def payer_of(owner: Owner) -> "Payer":
    """Whose money it is: who the caller is."""
    return Payer(tenant=owner.tenant, user=owner.user)


@asynccontextmanager
async def open_payments(
    settings: PaymentSettings, *, pool: Pool, clock: Clock
) -> AsyncIterator[Payments | None]:
    """Payment, where the settings ask for it.

    Raises:
        MintUnfit: The mint answers, and lacks what payment needs.
    """
    if settings.mint is None:
        yield None
        return
    mint = MintClient(settings.mint, timeout=settings.mint_seconds)
    try:
        try:
            await mint.check_fit()
        except MintUnknown as error:
            # Deposits wait until it is back; charges and what is under way do not need it.
            _log.warning("the mint cannot be reached: %s", error.message)
        yield _payments(settings, pool, clock, mint)
    finally:
        await mint.close()


def _payments(settings: PaymentSettings, pool: Pool, clock: Clock, mint: MintClient) -> Payments:
    sealer, keys = Sealer(settings.master), SessionKeys(settings.master)
    book = KeysetBook(mint, clock)
    accounts = Accounts(
        pool, sealer=sealer, clock=clock, close_before=settings.hours("close_before")
    )
    refunds = Refunds(pool, clock=clock)
    grace = timedelta(minutes=settings.call_grace_minutes)
    settlement = Settlement(
        accounts=accounts,
        swaps=Settling(pool, sealer=sealer, clock=clock, grace=grace),
        refunds=refunds,
        mint=mint,
        book=book,
        keys=keys,
        clock=clock,
        unit="sat",
        patience=Patience(idle=settings.hours("idle")),
    )
    deposits = Deposits(
        book,
        clock,
        asked_lock=settings.hours("lock"),
        min_lock=settings.hours("min_lock"),
        max_lock=settings.hours("max_lock"),
    )
    price = Price(
        step=settings.price_step,
        per_1k_input=settings.price_1k_input,
        per_1k_output=settings.price_1k_output,
        reserved_output=settings.reserved_output,
    )
    terms = Terms(mint_url=mint.url, unit="sat", price=price, topup=settings.topup)
    till = Till(terms=terms, accounts=accounts, refunds=refunds, deposits=deposits, keys=keys)
    return Payments(
        till=till, settlement=settlement, mint=mint, sweep_seconds=settings.sweep_seconds
    )
