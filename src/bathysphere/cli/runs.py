"""`bathysphere runs`: find runs, and unstick or replay them."""

import argparse
from datetime import datetime
from typing import TYPE_CHECKING

from bathysphere.cli.database import add_database_actions, run_on_database

if TYPE_CHECKING:
    from uuid import UUID

    from bathysphere.engine.database.pool import Pool
    from bathysphere.engine.records import Run
    from bathysphere.engine.runs.operations import RunOperations

HELP = "list, show, cancel, requeue and replay runs"
STATUSES = ("pending", "running", "success", "error", "interrupted", "timeout", "cancelled")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `runs list|dead|show|cancel|requeue|replay`."""
    add_action = add_database_actions(parser, redis="Redis URL, to tell readers of a cancel")
    listed = add_action("list", help="list runs, newest first")
    listed.add_argument("--status", choices=STATUSES, help="only runs with this status")
    dead = add_action("dead", help="list runs that were given up, newest first")
    for each in (listed, dead):
        each.add_argument("--tenant", help="only runs of this tenant")
        each.add_argument("--limit", type=int, default=50, help="how many (default: 50)")
    for name, words in _ONE_RUN.items():
        add_action(name, help=words).add_argument("run_id", help="run id, as listed")
    replay = add_action("replay", help="run a failed run again after its last step")
    which = replay.add_mutually_exclusive_group(required=True)
    which.add_argument("run_id", nargs="?", help="run id, as listed")
    which.add_argument("--all-dead", action="store_true", help="all runs that were given up")


_ONE_RUN = {
    "show": "show where a run is and why it failed, without its contents",
    "cancel": "cancel a run, keeping its results",
    "requeue": "take an active run from its worker and give it to another",
}


def run(args: argparse.Namespace) -> int:
    """Run the chosen action."""
    run_on_database(_act, args)
    return 0


async def _act(pool: "Pool", args: argparse.Namespace) -> None:
    from bathysphere.engine.database.pool import Database
    from bathysphere.engine.runs.operations import RunOperations
    from bathysphere.engine.runs.queue import Queue

    queue = Queue(pool, database=Database(url=""))  # listens to nothing
    await queue.open()
    runs = RunOperations(pool, queue)
    match args.action:
        case "list":
            found = await runs.list(status=args.status, tenant=args.tenant, limit=args.limit)
            _print_table(found)
        case "dead":
            _print_table(await runs.list(is_dead=True, tenant=args.tenant, limit=args.limit))
        case "show":
            await _show(runs, args.run_id)
        case "cancel":
            await _cancel(pool, runs, args)
        case "requeue":
            await runs.requeue(_id(args.run_id))
            print(f"Requeued {args.run_id}.")
        case "replay":
            await _replay(runs, args)


async def _show(runs: "RunOperations", run_id: str) -> None:
    found = await runs.get(_id(run_id))
    job = await runs.job(found)
    lines = {
        "run": found.run_id,
        "thread": found.thread_id,
        "tenant": found.owner.tenant,
        "user": found.owner.user,
        "agent": found.graph,
        "status": found.status,
        "attempts": f"{found.attempt} ({found.strikes} since its last progress)",
        "created": _timestamp(found.created_at),
        "started": _timestamp(found.started_at),
        "ended": _timestamp(found.finished_at),
    }
    if job is not None:
        lines["queue"] = job.status
    if job is not None and job.worker_id is not None:
        lines["worker"] = f"{job.worker_id}, last heartbeat {_timestamp(job.last_heartbeat)}"
    if found.error:
        lines["error"] = f"{found.error.get('code')}: {found.error.get('message')}"
    for name, value in lines.items():
        print(f"{name:<10}{value}")


async def _cancel(pool: "Pool", runs: "RunOperations", args: argparse.Namespace) -> None:
    from bathysphere.engine.audit.recording import OPERATOR
    from bathysphere.engine.database.pool import Database
    from bathysphere.engine.graphs import Graphs
    from bathysphere.server.process.database import secret
    from bathysphere.server.process.services import open_services

    found = await runs.get(_id(args.run_id))
    async with open_services(
        database=Database(url=str(pool.conninfo), encryption=pool.encryption),
        graphs=Graphs({}),
        redis_url=secret(args.settings.redis_url),
    ) as services:
        status = await services.runs.cancel(found.run_id, owner=found.owner, by=OPERATOR)
    print(f"Run {args.run_id} is {status}.")


async def _replay(runs: "RunOperations", args: argparse.Namespace) -> None:
    from bathysphere.engine.runs.operations import CannotReplay

    if not args.all_dead:
        await runs.replay(_id(args.run_id))
        print(f"Queued {args.run_id} again.")
        return
    dead = await runs.list(is_dead=True, limit=10_000)
    for each in reversed(dead):  # the oldest first
        try:
            await runs.replay(each.run_id)
        except CannotReplay as error:
            print(f"Skipped {each.run_id}: {error}")
        else:
            print(f"Queued {each.run_id} again.")
    if not dead:
        print("No run was given up.")


def _print_table(runs: "list[Run]") -> None:
    print(f"{'RUN':<38}{'TENANT':<16}{'USER':<24}{'AGENT':<14}{'STATUS':<13}{'CREATED':<18}ERROR")
    for run in runs:
        error = (run.error or {}).get("code", "")
        print(
            f"{run.run_id!s:<38}{run.owner.tenant:<16}{run.owner.user:<24}{run.graph:<14}"
            f"{run.status:<13}{_timestamp(run.created_at):<18}{error}"
        )


def _id(text: str) -> "UUID":
    from uuid import UUID

    from bathysphere.core.errors import CallerError

    try:
        return UUID(text)
    except ValueError as error:
        raise CallerError(f"Not a run id: {text}", hint="see `bathysphere runs list`") from error


def _timestamp(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "-"
