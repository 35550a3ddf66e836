"""Build the payment components of a process from its settings, and settle in the background."""

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
from bathysphere.core.identity import Owner
from bathysphere.core.payments import Purse
from bathysphere.engine.database.pool import Pool
from bathysphere.server.payments.settings import PaymentSettings, SatValue

try:
    from bathysphere.core.identity import Owner
    from bathysphere.payments.deposits import Deposits
    from bathysphere.payments.errors import MintUnknown
    from bathysphere.payments.ledger.accounts import Accounts
    from bathysphere.payments.ledger.refunds import Refunds
    from bathysphere.payments.ledger.sealing import Sealer
    from bathysphere.payments.ledger.swaps import Swaps
    from bathysphere.payments.mint import KeysetBook, MintClient
    from bathysphere.payments.pricing import Price
    from bathysphere.payments.service import PaymentService, Terms
    from bathysphere.payments.session_keys import SessionKeys
    from bathysphere.payments.settlement import Settlement, SettlementTimings
except ImportError as error:
    raise missing_extra("payment", "payments") from error

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Payments:
    """The payment components of a process."""

    service: PaymentService
    settlement: Settlement
    mint: MintClient
    sweep_seconds: float
    audit_seconds: float = 300.0
    sat_value: SatValue | None = None

    def purse(self, thread_id: str, owner: Owner, run_id: str) -> Purse:
        """The purse from which one of the thread's runs is paid."""
        return self.service.purse(thread_id, payer=owner, run_id=run_id)

    async def close(self, thread_id: str, owner: Owner) -> None:
        """Close the thread's account, so that the rest is refunded."""
        await self.service.close(thread_id, payer=owner)

    async def sweep(self) -> None:
        """Settle due payments periodically, until cancelled."""
        while True:
            try:
                counts = await self.settlement.turn()
                if counts:
                    _log.info("Payments settled: %s", dict(counts))
                if counts["stuck"] or counts["lost"]:
                    _log.error("Payments: %d stuck, %d lost", counts["stuck"], counts["lost"])
            except* (psycopg.Error, PoolTimeout, BathysphereError) as errors:
                kinds = {type(error).__name__ for error in leaves(errors)}
                _log.warning("Payments could not be settled: %s", ", ".join(sorted(kinds)))
            await asyncio.sleep(self.sweep_seconds)


def leaves(errors: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """Flatten an exception group."""
    found: list[BaseException] = []
    for error in errors.exceptions:
        found += leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found


@asynccontextmanager
async def open_payments(
    settings: PaymentSettings, *, pool: Pool, clock: Clock
) -> AsyncIterator[Payments | None]:
    """Open the payment components; None if payments are disabled.

    Raises:
        MintUnfit: The mint lacks a required feature.
    """
    if settings.mint is None:
        yield None
        return
    mint = MintClient(settings.mint, timeout=settings.mint_seconds)
    try:
        try:
            await mint.check_fit()
        except MintUnknown as error:
            # Only deposits and settlement need the mint; charges do not.
            _log.warning("The mint is unavailable: %s", error.message)
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
        swaps=Swaps(pool, sealer=sealer, clock=clock, grace=grace),
        refunds=refunds,
        mint=mint,
        book=book,
        keys=keys,
        clock=clock,
        unit="sat",
        timings=SettlementTimings(idle=settings.hours("idle")),
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
    service = PaymentService(
        terms=terms, accounts=accounts, refunds=refunds, deposits=deposits, keys=keys
    )
    return Payments(
        service=service,
        settlement=settlement,
        mint=mint,
        sweep_seconds=settings.sweep_seconds,
        audit_seconds=settings.audit_seconds,
        sat_value=settings.sat_value,
    )
