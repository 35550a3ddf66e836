"""`bathysphere budgets`: what users and tenants may use per month."""

import argparse
import re
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.database.pool import Pool

HELP = "set, list and remove budgets of users and tenants"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `budgets set|list|remove`."""
    add_action = add_database_actions(parser)
    set_ = add_action("set", help="set a budget per calendar month, or change it")
    set_.add_argument("amount", type=_amount, help="such as 2000000, or 50 with --unit EUR")
    add_action("list", help="list the budgets that were set")
    remove = add_action("remove", help="remove a budget")
    for each in (set_, remove):
        each.add_argument("--tenant", required=True, help="tenant")
        each.add_argument("--user", default="", help="user of the tenant (default: all of it)")
        each.add_argument(
            "--unit", type=_unit, default="tokens", help="tokens (default), or a currency"
        )


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    run_on_database(_act, args)
    return 0


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.clock import SystemClock
    from bathysphere.core.errors import CallerError
    from bathysphere.engine.usage.budgets import Budget, Budgets

    budgets = Budgets(pool, clock=SystemClock())
    if args.action == "set":
        await budgets.set(Budget(args.tenant, args.user, args.unit, args.amount))
        print(f"Set {args.amount:f} {args.unit} per month; it applies within seconds.")
    elif args.action == "remove":
        if not await budgets.remove(args.tenant, args.user, args.unit):
            raise CallerError("No such budget", hint="see `bathysphere budgets list`")
        print("Removed.")
    else:
        print(f"{'TENANT':<24}{'USER':<32}{'AMOUNT':>20}  UNIT")
        for each in await budgets.list():
            print(f"{each.tenant:<24}{each.user or '-':<32}{each.amount:>20f}  {each.unit}")


def _amount(text: str) -> Decimal:
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        message = f"not a number: {text}"
        raise argparse.ArgumentTypeError(message) from error
    if not found.is_finite() or found < 0:
        message = f"not an amount: {text}"
        raise argparse.ArgumentTypeError(message)
    return found


def _unit(text: str) -> str:
    if text != "tokens" and not re.fullmatch("[A-Z]{3}", text):
        message = f"neither tokens nor a currency such as EUR: {text}"
        raise argparse.ArgumentTypeError(message)
    return text
