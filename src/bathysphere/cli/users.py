"""`bathysphere users`: export or delete everything of one person."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bathysphere.core.identity import Owner
    from bathysphere.engine.database.pool import Pool
    from bathysphere.server.process.services import Services
    from bathysphere.server.process.settings import ServerSettings

HELP = "export or delete everything of one person"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `users export|delete`."""
    add_action = add_database_actions(parser, redis="Redis URL, to delete live events")
    export = add_action("export", help="write everything of a person to a zip archive")
    export.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="new file")
    delete = add_action("delete", help="count what would be deleted; with --yes, delete it")
    delete.add_argument("--yes", action="store_true", help="delete; this cannot be undone")
    delete.add_argument(
        "--forfeit-money", action="store_true", help="delete even if money was not paid back"
    )
    for each in (export, delete):
        each.add_argument("user", help="user, as authenticated (`sub`, or the user of a key)")
        each.add_argument("--tenant", help="tenant of the user (default: the server's only one)")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    run_on_database(_act, args)
    return 0


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.identity import Owner
    from bathysphere.engine.database.pool import Database
    from bathysphere.engine.graphs import Graphs
    from bathysphere.server.payments.settings import PaymentSettings
    from bathysphere.server.process.database import secret
    from bathysphere.server.process.services import open_services
    from bathysphere.server.workspaces.service import Workspaces
    from bathysphere.server.workspaces.settings import StorageSettings

    owner = Owner(tenant=args.tenant or _only_tenant(args.settings), user=args.user)
    async with open_services(
        database=Database(url=str(pool.conninfo), encryption=pool.encryption),
        graphs=Graphs({}),
        redis_url=secret(args.settings.redis_url),
        payments=PaymentSettings.from_environment(),
        workspaces=Workspaces.open(StorageSettings.from_environment()),
    ) as services:
        await (_export if args.action == "export" else _delete)(services, owner, args)


async def _export(services: "Services", owner: "Owner", args: argparse.Namespace) -> None:
    from zipfile import ZipFile

    from bathysphere.core.errors import CallerError
    from bathysphere.server.personal_data import export_person

    try:
        # Readable by the operator only: it contains everything the person ever said.
        descriptor = os.open(args.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CallerError(
            f"Cannot create {args.output}: {error.strerror}", hint="choose another file with -o"
        ) from error
    with os.fdopen(descriptor, "wb") as file, ZipFile(file, "w") as archive:
        counts = await export_person(services, owner, archive)
    _print_counts(counts)
    print(f"Wrote {args.output}.")


async def _delete(services: "Services", owner: "Owner", args: argparse.Namespace) -> None:
    from bathysphere.server.personal_data import count_person, delete_person

    counts = await count_person(services, owner)
    _print_counts(counts)
    if not args.yes:
        if counts:
            print("Nothing was deleted. Delete with --yes; this cannot be undone.")
        return
    await delete_person(services, owner, forfeits_money=args.forfeit_money)
    print(f"Deleted everything of {owner.user}.")
    if args.settings.is_embedded:
        print("A running server forgets their live events within an hour, or when restarted.")


def _print_counts(counts: "Mapping[str, int]") -> None:
    from bathysphere.server.personal_data import kept_kinds

    if not counts:
        print("Nothing found. Check the user and --tenant.")
    for kind, count in counts.items():
        note = (
            "  (on deletion: kept for the books, without the name)" if kind in kept_kinds() else ""
        )
        print(f"{count:>8}  {kind}{note}")


def _only_tenant(settings: "ServerSettings") -> str:
    from bathysphere.core.errors import ConfigError
    from bathysphere.server.identity.identify import LOCAL

    if settings.is_anonymous:
        return LOCAL.tenant
    if settings.auth == ("oidc",) and settings.oidc_tenant_claim is None:
        return settings.oidc_tenant
    raise ConfigError("This server has several tenants", hint="name one with --tenant")
