"""`bathysphere keys`: manage API keys."""

import argparse
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from bathysphere.engine.database.pool import Database, Pool
    from bathysphere.server.process.settings import ServerSettings

DEFAULT_DAYS = 90
HELP = "create, list and revoke API keys"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `keys create|list|revoke`."""
    parser.add_argument("--database-url", metavar="URL", help="PostgreSQL URL (default: embedded)")
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER", help="data folder")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="create a key; it is shown only once")
    create.add_argument("--tenant", required=True, help="tenant whose data the key can access")
    create.add_argument("--user", required=True, help="user within the tenant")
    create.add_argument("--label", default="", help="description of the key")
    create.add_argument(
        "--days",
        type=float,
        default=DEFAULT_DAYS,
        help=f"days until it expires (default: {DEFAULT_DAYS}; 0: never)",
    )
    actions.add_parser("list", help="list keys, without their secrets")
    revoke = actions.add_parser("revoke", help="revoke a key immediately")
    revoke.add_argument("key_id", help="key id, as shown by `list`")


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    import asyncio

    from bathysphere.server.process.settings import ServerSettings

    settings = ServerSettings.from_environment(
        database_url=args.database_url, data_dir=args.data_dir, auth=("api-key",)
    )
    actions = {"create": _create, "list": _list, "revoke": _revoke}
    asyncio.run(with_database(settings, actions[args.action], args))
    return 0


async def with_database(
    settings: "ServerSettings", action: "Action", args: argparse.Namespace
) -> None:
    """Run an action on the configured database, or the embedded one of the data folder."""
    from contextlib import AsyncExitStack

    import psycopg

    from bathysphere.core.errors import ConfigError
    from bathysphere.engine.database.pool import open_pool
    from bathysphere.server.process.database import database_of

    async with AsyncExitStack() as stack:
        if settings.is_embedded:
            database = await _embedded(settings.data_dir, stack)
        else:
            database = database_of(settings, with_worker=False)
            # Fail fast for the person waiting; a pool would retry for half a minute.
            await (await psycopg.AsyncConnection.connect(database.url, connect_timeout=5)).close()
        try:
            await action(await stack.enter_async_context(open_pool(database)), args)
        except psycopg.errors.UndefinedTable as error:
            raise ConfigError(
                "The database has not been migrated",
                hint="run `bathysphere migrate` first",
            ) from error


async def _embedded(folder: Path, stack: "AsyncExitStack") -> "Database":
    """The data folder's PostgreSQL: the running one, or one started for this command."""
    from bathysphere.engine.database.embedded import (
        FolderInUse,
        claim_folder,
        embedded_postgres,
        running_postgres,
    )
    from bathysphere.server.process.database import migrate_database

    try:
        stack.enter_context(claim_folder(folder))
    except FolderInUse:
        return running_postgres(folder)
    database = await stack.enter_async_context(embedded_postgres(folder))
    await migrate_database(database)
    return database


async def _create(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.clock import SystemClock
    from bathysphere.core.identity import Owner
    from bathysphere.server.identity.api_keys import ApiKeys

    expires_at = SystemClock().now() + timedelta(days=args.days) if args.days else None
    owner = Owner(tenant=args.tenant, user=args.user)
    created = await ApiKeys(pool).create(owner, label=args.label, expires_at=expires_at)
    print(created.secret)
    print(
        f"Save this key now; it will not be shown again. Key id: {created.key.key_id}", flush=True
    )


async def _list(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.clock import SystemClock
    from bathysphere.server.identity.api_keys import ApiKeys

    del args
    print(f"{'ID':<14}{'TENANT':<20}{'USER':<28}{'STATE':<10}{'LAST USED':<18}LABEL")
    now = SystemClock().now()
    for key in await ApiKeys(pool).all():
        state = key.state(now)
        owner = key.owner
        print(
            f"{key.key_id:<14}{owner.tenant:<20}{owner.user:<28}{state:<10}"
            f"{_timestamp(key.last_used_at):<18}{key.label}"
        )


async def _revoke(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.server.identity.api_keys import ApiKeys

    await ApiKeys(pool).revoke(args.key_id)
    print(f"Revoked {args.key_id}.")


def _timestamp(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "never"


if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Action = Callable[[Pool, argparse.Namespace], Awaitable[None]]
