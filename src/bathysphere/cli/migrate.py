"""`bathysphere migrate`: brings a database to this version's shape, once, before a rollout."""

import argparse
import asyncio

HELP = "bring the database to this version's shape"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `migrate [--database-url URL]`."""
    parser.add_argument("--database-url", metavar="URL", help="PostgreSQL")


def run(args: argparse.Namespace) -> int:
    """Apply what is missing and say what that was."""
    from bathysphere.server.databases import bring_to_shape, database_of
    from bathysphere.server.settings import ServerSettings

    settings = ServerSettings.from_environment(database_url=args.database_url)
    applied = asyncio.run(bring_to_shape(database_of(settings, works=False)))
    print("\n".join(applied) if applied else "nothing to do")
    return 0
