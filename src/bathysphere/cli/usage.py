"""`bathysphere usage`: what runs used, for operators."""

import argparse
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_arguments, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.database.pool import Pool
    from bathysphere.engine.usage.report import UsageLine, UsageReport

HELP = "sum the tokens, calls, time and cost of runs"
_COLUMNS = ("RUNS", "CALLS", "INPUT", "OUTPUT", "TOOLS", "SECONDS")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `usage`."""
    add_database_arguments(parser)
    parser.add_argument("--tenant", help="only this tenant")
    parser.add_argument("--user", help="only this user, as authenticated")
    parser.add_argument(
        "--since", type=_moment, metavar="DATE", help="first day, in UTC (default: 30 days ago)"
    )
    parser.add_argument(
        "--until", type=_moment, metavar="DATE", help="day after the last (default: tomorrow)"
    )
    parser.add_argument(
        "--by",
        choices=("day", "model", "user", "tenant"),
        default="day",
        help="what the lines are (default: day)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the report."""
    run_on_database(_act, args)
    return 0


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    import json

    from bathysphere.core.clock import SystemClock
    from bathysphere.engine.usage.report import UsageReports, plain_sum

    now = SystemClock().now()
    until = args.until or now + timedelta(days=1)
    since = args.since or now - timedelta(days=30)
    report = await UsageReports(pool).all(
        since=since, until=until, by=args.by, tenant=args.tenant, user=args.user
    )
    if args.json:
        lines = [{args.by: line.key, **plain_sum(line)} for line in report.lines]
        print(json.dumps({"lines": lines, "total": plain_sum(report.total)}))
    else:
        _print_table(report, args.by)


def _print_table(report: "UsageReport", by: str) -> None:
    print(f"{by.upper():<32}" + "".join(f"{name:>12}" for name in _COLUMNS) + "  COST")
    for line in report.lines:
        _print_line(line.key or "-", line)
    _print_line("total", report.total)


def _print_line(name: str, line: "UsageLine") -> None:
    numbers = (
        line.runs,
        line.model_calls,
        line.input_tokens,
        line.output_tokens,
        line.tool_calls,
        round(line.seconds),
    )
    costs = ", ".join(f"{cost:f} {currency}" for currency, cost in line.costs.items())
    print(f"{name:<32}" + "".join(f"{number:>12}" for number in numbers) + f"  {costs or '-'}")


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"not a date: {text}"
        raise argparse.ArgumentTypeError(message) from error
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
