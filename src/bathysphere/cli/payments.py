"""`bathysphere payments`: inspect and settle the ledger."""

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bathysphere.engine.database.pool import Pool

HELP = "audit the ledger, settle due payments, show stuck swaps, withdraw earnings"
PROBLEMS_FOUND = 3
"""Exit code when the audit fails or a swap is stuck, for use in monitoring."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `payments audit|sweep|stuck|withdraw`."""
    add_action = add_database_actions(parser)
    add_action("audit", help="check every invariant; exits with 3 if one fails")
    sweep = add_action("sweep", help="close and settle due payments now; needs the mint")
    sweep.add_argument("--turns", type=int, default=1, help="number of passes (default: 1)")
    add_action("stuck", help="show swaps that the mint has neither completed nor rejected")
    withdraw = add_action("withdraw", help="withdraw earnings as a token for any wallet")
    withdraw.add_argument("--sats", type=int, metavar="N", help="amount (default: all)")
    withdraw.add_argument("--again", metavar="ID", help="show the token of an earlier withdrawal")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    actions: dict[str, Action] = {
        "audit": _audit,
        "sweep": _sweep,
        "stuck": _stuck,
        "withdraw": _withdraw,
    }
    code = 0

    async def act(pool: "Pool", args: argparse.Namespace) -> None:
        nonlocal code
        code = await actions[args.action](pool, args)

    run_on_database(act, args, auth=("api-key",))
    return code


async def _audit(pool: "Pool", args: argparse.Namespace) -> int:
    from bathysphere.payments.ledger.audit import audit

    del args
    books = await audit(pool)
    print(json.dumps({**asdict(books), "imbalance": books.imbalance}))
    return PROBLEMS_FOUND if books.violations else 0


async def _sweep(pool: "Pool", args: argparse.Namespace) -> int:
    import asyncio
    from collections import Counter

    from bathysphere.core.clock import SystemClock
    from bathysphere.core.errors import ConfigError
    from bathysphere.server.payments.service import open_payments
    from bathysphere.server.payments.settings import PaymentSettings

    settings = PaymentSettings.from_environment()
    outcomes: Counter[str] = Counter()
    async with open_payments(settings, pool=pool, clock=SystemClock()) as payments:
        if payments is None:
            raise ConfigError("Payments are disabled", hint="set BATHYSPHERE_PAYMENTS_MINT")
        for turn in range(args.turns):
            if turn:
                await asyncio.sleep(settings.sweep_seconds)
            outcomes.update(await payments.settlement.turn(limit=100))
    print(json.dumps(outcomes))
    return 0


async def _stuck(pool: "Pool", args: argparse.Namespace) -> int:
    from bathysphere.payments.ledger.audit import stuck_swaps

    del args
    found = await stuck_swaps(pool)
    print(f"{'SWAP':<40}{'SATS':>8}  {'TRIES':>5}  {'SINCE':<18}WHY")
    for swap in found:
        since = swap.since.strftime("%Y-%m-%d %H:%M")
        print(f"{swap.swap_id:<40}{swap.sats:>8}  {swap.tries:>5}  {since:<18}{swap.why}")
    return PROBLEMS_FOUND if found else 0


async def _withdraw(pool: "Pool", args: argparse.Namespace) -> int:
    import sys

    from bathysphere.core.clock import SystemClock
    from bathysphere.core.errors import CallerError, ConfigError
    from bathysphere.payments.ledger.sealing import Sealer
    from bathysphere.payments.ledger.withdrawals import Withdrawals
    from bathysphere.payments.swaps import vault_token
    from bathysphere.server.payments.settings import PaymentSettings

    if args.sats is not None and args.sats <= 0:
        raise CallerError(f"Invalid amount: {args.sats}", hint="pass a positive number to --sats")
    settings = PaymentSettings.from_environment()
    if settings.mint is None:
        raise ConfigError("Payments are disabled", hint="set BATHYSPHERE_PAYMENTS_MINT")
    withdrawals = Withdrawals(pool, sealer=Sealer(settings.master), clock=SystemClock())
    if args.again:
        withdrawal = await withdrawals.get(args.again)
    else:
        withdrawal = await withdrawals.withdraw(args.sats)
    print(vault_token(withdrawal.proofs, mint_url=settings.mint, unit="sat"), flush=True)
    await withdrawals.mark_shown(withdrawal.withdrawal_id)
    note = (
        f"{withdrawal.amount} sats, withdrawal {withdrawal.withdrawal_id}. Anyone with this"
        " token can spend it: redeem it in your wallet now."
    )
    if args.sats is not None and withdrawal.amount != args.sats and not args.again:
        note += " This completes an earlier withdrawal that was interrupted."
    print(note, file=sys.stderr)
    return 0


if TYPE_CHECKING:
    Action = Callable[[Pool, argparse.Namespace], Awaitable[int]]
