"""`bathysphere migrate`: migrate the database, once before a rollout."""

import argparse

HELP = "migrate the database to this version"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `migrate [--database-url URL]`."""
    parser.add_argument("--database-url", metavar="URL", help="PostgreSQL URL")


def run(args: argparse.Namespace) -> int:
    """Apply pending migrations and print their names."""
    import asyncio

    from bathysphere.server.process.database import database_of, migrate_database
    from bathysphere.server.process.settings import ServerSettings

    settings = ServerSettings.from_environment(database_url=args.database_url)
    applied = asyncio.run(migrate_database(database_of(settings, with_worker=False)))
    print("\n".join(applied) if applied else "The database is up to date.")
    return 0
