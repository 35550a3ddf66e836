"""Commands that act on the database: their arguments, and how they reach it."""

import argparse
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from bathysphere.engine.database.pool import Database, Pool
    from bathysphere.server.process.settings import ServerSettings

Action = Callable[["Pool", argparse.Namespace], Awaitable[None]]


def add_database_arguments(parser: argparse.ArgumentParser, *, redis: str | None = None) -> None:
    """Declare where the database is, and where Redis is if the command says what it is for."""
    parser.add_argument("--database-url", metavar="URL", help="PostgreSQL URL (default: embedded)")
    if redis is not None:
        parser.add_argument("--redis-url", metavar="URL", help=redis)
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER", help="data folder")


def add_database_actions(
    parser: argparse.ArgumentParser, *, redis: str | None = None
) -> Callable[..., argparse.ArgumentParser]:
    """Declare a command with actions; the options of the database go before or after the action.

    Returns what declares an action, with the arguments of argparse's `add_parser`.
    """
    add_database_arguments(parser, redis=redis)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    # Without defaults of their own, which would replace what was given before the action.
    options = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    add_database_arguments(options, redis=redis)
    return partial(actions.add_parser, parents=[options])


def run_on_database(action: Action, args: argparse.Namespace, **settings: Any) -> None:
    """Run an action with a pool; `args` gets the settings of the server as `settings`."""
    import asyncio

    from bathysphere.server.process.settings import ServerSettings

    if "redis_url" in args:
        settings["redis_url"] = args.redis_url
    args.settings = ServerSettings.from_environment(
        database_url=args.database_url, data_dir=args.data_dir, **settings
    )
    asyncio.run(_with_pool(args.settings, action, args))


async def connect_once(url: str) -> None:
    """Fail fast for the person who waits: a pool would retry for half a minute."""
    import psycopg

    await (await psycopg.AsyncConnection.connect(url, connect_timeout=5)).close()


async def _with_pool(settings: "ServerSettings", action: Action, args: argparse.Namespace) -> None:
    """Run an action on the configured database, or the embedded one of the data folder."""
    from contextlib import AsyncExitStack
    from dataclasses import replace

    import psycopg

    from bathysphere.core.errors import ConfigError
    from bathysphere.engine.database.pool import open_pool
    from bathysphere.server.process.database import database_of, encryption_of

    async with AsyncExitStack() as stack:
        if settings.is_embedded:
            embedded = await _embedded(settings.data_dir, stack)
            database = replace(embedded, encryption=encryption_of(settings))
        else:
            database = database_of(settings, with_worker=False)
            await connect_once(database.url)
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
