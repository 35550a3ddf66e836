"""`bathysphere audit`: read and verify the audit log."""

import argparse
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.audit.log import AuditEntry
    from bathysphere.engine.database.pool import Pool

HELP = "list and verify what operators and people did"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `audit list|verify|head`."""
    add_action = add_database_actions(parser)
    listed = add_action("list", help="list what was done, newest first")
    listed.add_argument("--tenant", help="only what concerns this tenant")
    listed.add_argument("--kind", help="only this kind, such as key.created")
    listed.add_argument("--limit", type=int, default=50, help="how many (default: 50)")
    verify = add_action("verify", help="compute the chain again; name what is broken")
    verify.add_argument("--head", metavar="HEAD", help="a published head that must be in the chain")
    add_action("head", help="print the head of the chain: one line that can be published")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    run_on_database(_act, args)
    return 0


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.engine.audit.chain import Head
    from bathysphere.engine.audit.log import AuditLog

    log = AuditLog(pool)
    if args.action == "list":
        _print_table(await log.list(tenant=args.tenant, action=args.kind, limit=args.limit))
    elif args.action == "head":
        print(await log.head())
    else:
        head = await log.verify(Head.parse(args.head) if args.head is not None else None)
        rows = "1 row" if head.seq == 1 else f"{head.seq} rows"
        print(f"Verified {rows}. Head: {head}")


def _print_table(entries: "list[AuditEntry]") -> None:
    print(
        f"{'ROW':>7}  {'TIME (UTC)':<21}{'ACTOR':<28}{'WHAT':<19}{'WHOSE':<28}SUBJECT AND DETAILS"
    )
    for entry in entries:
        row = entry.row
        whose = f"{row.tenant}/{entry.user}" if entry.user else row.tenant or "-"
        details = " ".join(f"{name}={value}" for name, value in row.details.items())
        print(
            f"{row.seq:>7}  {row.at:%Y-%m-%d %H:%M:%S}  {entry.actor:<28}{row.action:<19}"
            f"{whose:<28}{row.subject} {details}".rstrip()
        )
