"""`bathysphere keys`: API keys for callers of a deployment."""

import argparse
import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bathysphere.engine.database import Pool
    from bathysphere.server.settings import ServerSettings

HELP = "make, list and revoke API keys"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `keys create|list|revoke`."""
    parser.add_argument("--database-url", metavar="URL", help="PostgreSQL (default: its own)")
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER", help="where data is kept")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="make a key; it is shown once")
    create.add_argument("--tenant", required=True, help="whose data the key reaches")
    create.add_argument("--user", required=True, help="whom it stands for within the tenant")
    create.add_argument("--label", default="", help="what it is for")
    create.add_argument("--days", type=float, help="how long it is good for (default: no end)")
    actions.add_parser("list", help="show the keys, without their secrets")
    revoke = actions.add_parser("revoke", help="end a key, at once")
    revoke.add_argument("key_id", help="its id, as `list` shows it")


def run(args: argparse.Namespace) -> int:
    """Do one of the three."""
    from bathysphere.server.settings import ServerSettings

    settings = ServerSettings.from_environment(
        database_url=args.database_url, data_dir=args.data_dir, auth=("api-key",)
    )
    actions = {"create": _create, "list": _list, "revoke": _revoke}
    asyncio.run(with_database(settings, actions[args.action], args))
    return 0


async def with_database(
    settings: "ServerSettings", action: "Action", args: argparse.Namespace
) -> None:
    """Do something with the database that the settings name, or the one of the data folder."""
    from contextlib import AsyncExitStack

    import psycopg

    from bathysphere.core.errors import ConfigError
    from bathysphere.engine.database import open_pool
    from bathysphere.engine.embedded import claimed, embedded_postgres
    from bathysphere.server.databases import bring_to_shape, database_of

    async with AsyncExitStack() as stack:
        if settings.is_embedded:
            stack.enter_context(claimed(settings.data_dir))
            own = embedded_postgres(settings.data_dir)
            database = await stack.enter_async_context(own)
            await bring_to_shape(database)
        else:
            database = database_of(settings, works=False)
        try:
            await action(await stack.enter_async_context(open_pool(database)), args)
        except psycopg.errors.UndefinedTable as error:
            raise ConfigError(
                "the database does not have this version's tables yet",
                hint="run `bathysphere migrate` first",
            ) from error


async def _create(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.core.clock import SystemClock
    from bathysphere.engine.records import Owner
    from bathysphere.server.identity.api_keys import ApiKeys

    expires_at = SystemClock().now() + timedelta(days=args.days) if args.days else None
    owner = Owner(tenant=args.tenant, user=args.user)
    made = await ApiKeys(pool).create(owner, label=args.label, expires_at=expires_at)
    print(made.secret)
    print(f"This is shown once. Its id is {made.key.key_id}.", flush=True)


async def _list(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.server.identity.api_keys import ApiKeys

    del args
    print(f"{'ID':<14}{'TENANT':<20}{'USER':<28}{'STATE':<10}{'LAST USED':<18}LABEL")
    for key in await ApiKeys(pool).all():
        state = "revoked" if key.revoked_at else "live"
        owner = key.owner
        print(
            f"{key.key_id:<14}{owner.tenant:<20}{owner.user:<28}{state:<10}"
            f"{_day(key.last_used_at):<18}{key.label}"
        )


async def _revoke(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.server.identity.api_keys import ApiKeys

    await ApiKeys(pool).revoke(args.key_id)
    print("revoked")


def _day(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "never"


if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Action = Callable[[Pool, argparse.Namespace], Awaitable[None]]
