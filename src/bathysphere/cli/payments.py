"""`bathysphere payments`: what an operator asks of the ledger."""

import argparse
import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bathysphere.engine.database import Pool

HELP = "check the ledger, settle what is due, show what is stuck"
WRONG = 3
"""The exit code when the audit finds something, or something is stuck: for a timer that alarms."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `payments audit|sweep|stuck`."""
    parser.add_argument("--database-url", metavar="URL", help="PostgreSQL (default: its own)")
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER", help="where data is kept")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("audit", help="check every invariant; exits with 3 if one fails")
    sweep = actions.add_parser("sweep", help="close and settle what is due now; needs the mint")
    sweep.add_argument("--turns", type=int, default=1, help="how often to look (default: 1)")
    actions.add_parser("stuck", help="show swaps that the mint neither does nor refuses")


def run(args: argparse.Namespace) -> int:
    """Do one of the three."""
    from bathysphere.cli.keys import with_database
    from bathysphere.server.settings import ServerSettings

    settings = ServerSettings.from_environment(
        database_url=args.database_url, data_dir=args.data_dir, auth=("api-key",)
    )
    actions: dict[str, Action] = {"audit": _audit, "sweep": _sweep, "stuck": _stuck}
    code = 0

    async def act(pool: "Pool", args: argparse.Namespace) -> None:
        nonlocal code
        code = await actions[args.action](pool, args)

    asyncio.run(with_database(settings, act, args))
    return code


async def _audit(pool: "Pool", args: argparse.Namespace) -> int:
    from bathysphere.payments.ledger.audit import audit

    del args
    books = await audit(pool)
    print(json.dumps({**asdict(books), "imbalance": books.imbalance}))
    return WRONG if books.violations else 0


async def _sweep(pool: "Pool", args: argparse.Namespace) -> int:
    from collections import Counter

    from bathysphere.core.clock import SystemClock
    from bathysphere.core.errors import ConfigError
    from bathysphere.server.payments.parts import open_payments
    from bathysphere.server.payments.settings import PaymentSettings

    settings = PaymentSettings.from_environment()
    did: Counter[str] = Counter()
    async with open_payments(settings, pool=pool, clock=SystemClock()) as payments:
        if payments is None:
            raise ConfigError("nothing is paid for", hint="set BATHYSPHERE_PAYMENTS_MINT")
        for turn in range(args.turns):
            if turn:
                await asyncio.sleep(settings.sweep_seconds)
            did.update(await payments.settlement.turn(limit=100))
    print(json.dumps(did))
    return 0


async def _stuck(pool: "Pool", args: argparse.Namespace) -> int:
    from bathysphere.payments.ledger.audit import stuck

    del args
    found = await stuck(pool)
    print(f"{'SWAP':<40}{'SATS':>8}  {'TRIES':>5}  {'SINCE':<18}WHY")
    for one in found:
        since = one.since.strftime("%Y-%m-%d %H:%M")
        print(f"{one.swap_id:<40}{one.sats:>8}  {one.tries:>5}  {since:<18}{one.why}")
    return WRONG if found else 0


if TYPE_CHECKING:
    Action = Callable[[Pool, argparse.Namespace], Awaitable[int]]
