"""`bathysphere restore`: replace the contents of the database by a backup."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_arguments, run_on_database

if TYPE_CHECKING:
    from bathysphere.engine.database.pool import Pool

HELP = "replace the contents of the database by a backup"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the file and the database."""
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="file of `backup`")
    add_database_arguments(parser)
    parser.add_argument("--yes", action="store_true", help="replace everything in the database")
    parser.add_argument(
        "--only-mark",
        action="store_true",
        help="the database was restored by other means: only begin a new epoch",
    )


def run(args: argparse.Namespace) -> int:
    """Restore the backup."""
    from bathysphere.core.errors import CallerError

    if args.only_mark == (args.file is not None):
        raise CallerError("Pass either a file or --only-mark")
    if not args.yes:
        raise CallerError(
            "This replaces everything in the database, and ends all open streams",
            hint="stop all processes, then pass --yes",
        )
    run_on_database(_restore, args)
    return 0


async def _restore(pool: "Pool", args: argparse.Namespace) -> None:
    import asyncio

    from bathysphere.cli.backup import client_programs
    from bathysphere.engine.audit.recording import OPERATOR, Recorded, record
    from bathysphere.engine.database.dumps import restore
    from bathysphere.engine.database.encryption_keys import check_keys
    from bathysphere.engine.database.epoch import BEGIN_EPOCH
    from bathysphere.engine.database.pool import Database
    from bathysphere.server.process.database import migrate_database

    await _refuse_if_used(pool)
    restored = Recorded(action="database.restored", by=OPERATOR, tenant="")
    url = str(pool.conninfo)
    if args.only_mark:
        async with pool.connection() as connection, connection.transaction():
            await connection.execute(BEGIN_EPOCH.encode())
            await record(connection, restored)
        print("Began a new epoch. Start the processes.")
        return
    await asyncio.to_thread(restore, url, args.file, programs=client_programs(args.settings))
    await migrate_database(Database(url=url))
    async with pool.connection() as connection, connection.transaction():
        await record(connection, restored)
    print(f"Restored {args.file}.")
    # The restore is done: this only says now, and not when a process starts, which key is missing.
    async with pool.connection() as connection:
        await check_keys(connection, pool.encryption)
    print("Start the processes.")


async def _refuse_if_used(pool: "Pool") -> None:
    from bathysphere.core.errors import CallerError

    async with pool.connection() as connection:
        row = await (await connection.execute(_OTHERS)).fetchone()
    if row is not None and row["others"]:
        raise CallerError(
            f"The database is in use by {row['others']} other connections",
            hint="stop all API and worker processes first",
        )


_OTHERS = """
SELECT count(*) AS others FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
