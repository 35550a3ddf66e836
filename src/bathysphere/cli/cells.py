"""`bathysphere cells`: the tenants of a cell, their moves, and the directory of the router."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, connect_once, run_on_database

if TYPE_CHECKING:
    from contextlib import AsyncExitStack

    from bathysphere.engine.cells.tenants import Cell
    from bathysphere.engine.database.pool import Pool
    from bathysphere.server.cells.cells_file import CellAddress
    from bathysphere.server.process.settings import ServerSettings

HELP = "list the tenants of a cell, move one to another cell, and direct requests"
DIRECTORY_PORT = 8010


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `cells list|admit|move|reopen|direct`."""
    add_action = add_database_actions(parser)
    add_action("list", help="list the tenants of a cell, and those that have left it")
    admit = add_action("admit", help="let a tenant live in a cell; no other cell may have it")
    move = add_action("move", help="move a tenant, or finish an interrupted move", parents=[])
    reopen = add_action("reopen", help="undo an interrupted move", parents=[])
    direct = add_action("direct", help="serve the directory that the router asks", parents=[])
    who = admit.add_mutually_exclusive_group(required=True)
    who.add_argument("--tenant", help="tenant")
    who.add_argument("--all", action="store_true", help="every tenant that has threads or keys")
    for each in (move, reopen):
        each.add_argument("--tenant", required=True, help="tenant")
        each.add_argument(
            "--from", required=True, dest="source", metavar="CELL", help="cell that has the tenant"
        )
        each.add_argument(
            "--to", required=True, dest="target", metavar="CELL", help="cell that gets it"
        )
    for each in (move, reopen, direct):
        each.add_argument(
            "--cells", required=True, type=Path, metavar="FILE", help="TOML file of the cells"
        )
    direct.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)"
    )
    direct.add_argument(
        "--port", type=int, default=DIRECTORY_PORT, help=f"port (default: {DIRECTORY_PORT})"
    )


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    if args.action == "direct":
        _direct(args)
    elif args.action in ("move", "reopen"):
        _move(args)
    else:
        run_on_database(_act, args)
    return 0


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.engine.cells.tenants import CellTenants, TenantElsewhere

    tenants = CellTenants(pool)
    if args.action == "list":
        known = await tenants.all()
        print(f"{'TENANT':<40}{'STATE':<10}OTHER")
        for tenant, found in known.items():
            print(f"{tenant:<40}{found.state:<10}{found.other or '-'}")
    elif args.all:
        print(f"Tenants admitted: {await tenants.admit_all()}")
    elif await tenants.admit(args.tenant):
        print(f"Tenant '{args.tenant}' is in this cell.")
    else:
        left = await tenants.find(args.tenant)
        other = f" for cell '{left.other}'" if left is not None and left.other else ""
        state = left.state if left is not None else "gone"
        raise TenantElsewhere(
            f"Tenant '{args.tenant}' is {state}{other}",
            hint="move it back with `bathysphere cells move`",
        )


def _move(args: argparse.Namespace) -> None:
    import asyncio

    from bathysphere.server.cells.cells_file import CellsFile
    from bathysphere.server.process.settings import ServerSettings

    file = CellsFile.read(args.cells)
    source, target = file.cell(args.source), file.cell(args.target)
    asyncio.run(_act_on_both(source, target, ServerSettings.from_environment(), args))


async def _act_on_both(
    source: "CellAddress",
    target: "CellAddress",
    settings: "ServerSettings",
    args: argparse.Namespace,
) -> None:
    from contextlib import AsyncExitStack

    from bathysphere.engine.cells.move import move_tenant, reopen

    async with AsyncExitStack() as stack:
        here = await _open(stack, source, settings, args.cells)
        there = await _open(stack, target, settings, args.cells)
        if args.action == "move":
            moved = await move_tenant(here, there, args.tenant)
            print(
                f"Moved tenant '{args.tenant}' to cell '{target.name}': {moved.threads} threads,"
                f" {moved.rows} rows. Its requests waited for {moved.seconds:.1f} s."
            )
        elif await reopen(here, there, args.tenant) == "here":
            print(f"Tenant '{args.tenant}' is in cell '{source.name}' again.")
        else:
            print(f"Tenant '{args.tenant}' had arrived in cell '{target.name}', and stays there.")


async def _open(
    stack: "AsyncExitStack", cell: "CellAddress", settings: "ServerSettings", file: Path
) -> "Cell":
    import psycopg

    from bathysphere.core.errors import UpstreamError
    from bathysphere.engine.cells.tenants import Cell
    from bathysphere.engine.database.pool import Database, open_pool
    from bathysphere.server.process.database import encryption_of

    database = Database(url=cell.database_url, encryption=encryption_of(settings))
    try:
        await connect_once(database.url)
    except psycopg.Error as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UpstreamError(
            f"The database of cell '{cell.name}' is unavailable: {why}",
            hint=f"start it, or correct its database_url in {file}",
        ) from error
    return Cell(name=cell.name, pool=await stack.enter_async_context(open_pool(database)))


def _direct(args: argparse.Namespace) -> None:
    from bathysphere.cli.serve import prepare, run_loop
    from bathysphere.server.cells.cells_file import CellsFile
    from bathysphere.server.cells.directory_app import serve_directory
    from bathysphere.server.process.settings import ServerSettings

    file = CellsFile.read(args.cells)
    settings = ServerSettings.from_environment(host=args.host, port=args.port)
    prepare(settings)

    def announce(url: str) -> None:
        names = ", ".join(file.cells)
        print(f"Directing requests to cells {names} at {url}/cell.", flush=True)

    run_loop(serve_directory(file, settings, on_ready=announce))
