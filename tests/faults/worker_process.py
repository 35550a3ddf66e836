"""Processes to be killed, forked from one that has already imported everything.

Reads one JSON request per line: `{"start": {…}}` forks a worker, which prints `ready <pid>` when it
is, `{"schedule": {…}}` forks a scheduler, `{"serve": {…}}` forks an API process, which prints
`ready <pid> <port>`; each may print `failed`. `{"wait": <pid>}` returns the exit code. Ends with
its input, together with everything it started: killing a campaign must not leave workers behind.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from api_process import has_reported, report_failure, report_ready, serve
from engine_graphs import graphs, known_graphs
from moved_clock import read_moved_clock
from own_services import end_with

from bathysphere.engine.crons.scheduler import SchedulerOptions
from bathysphere.engine.database.pool import Database
from bathysphere.engine.delivery.receivers import ReceiverRules
from bathysphere.engine.delivery.sender import SenderOptions
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.worker import WorkerOptions
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.deliveries import PushOptions, WebhookOptions
from bathysphere.server.process.services import (
    ScheduleOptions,
    open_scheduler,
    open_services,
    open_worker,
)


async def work(options: dict[str, Any]) -> None:
    """Run the worker of `bathysphere worker`, with shorter intervals and timeouts."""
    database = Database(url=options["database_url"], max_size=4)
    known = known_graphs(options["graphs"], options["world_url"])
    async with open_services(
        database=database,
        graphs=known,
        redis_url=options["redis_url"],
        webhooks=webhook_options(options["webhooks"]) if options["webhooks"] else None,
        push=push_options(options["push"]) if options["push"] else None,
    ) as services:
        worker = await open_worker(
            services,
            metrics=Metrics(),
            limits=Limits(**options["limits"]),
            options=WorkerOptions(**options["worker"]),
        )
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, worker.drain)
        report_ready()
        await worker.run()


def webhook_options(options: dict[str, Any]) -> WebhookOptions:
    return WebhookOptions(
        master=options["master"].encode(),
        rules=ReceiverRules(allows_loopback=True, timeout_seconds=options["timeout_seconds"]),
        sender=SenderOptions(poll_seconds=options["poll_seconds"], lease_seconds=1),
    )


def push_options(options: dict[str, Any]) -> PushOptions:
    return PushOptions(
        secret=options["secret"].encode(),
        contact=options["contact"],
        rules=ReceiverRules(allows_loopback=True, timeout_seconds=5),
        sender=SenderOptions(poll_seconds=options["poll_seconds"], lease_seconds=1),
    )


async def schedule(options: dict[str, Any]) -> None:
    """Run the scheduler of a worker, on the campaign's clock."""
    database = Database(url=options["database_url"], max_size=2)
    schedules = ScheduleOptions(
        scheduler=SchedulerOptions(poll_seconds=options["poll_seconds"]), clock=read_moved_clock
    )
    async with open_services(
        database=database, graphs=Graphs(graphs(options["database_url"])), schedules=schedules
    ) as services:
        report_ready()
        await open_scheduler(services, Metrics()).run()


async def start(main: Callable[[dict[str, Any]], Awaitable[None]], options: dict[str, Any]) -> None:
    """Run a process's main function, and report to the parent in any case."""
    running = asyncio.ensure_future(main(options))
    await asyncio.wait([running], timeout=options["start_seconds"])
    if not running.done() and not has_reported():
        report_failure(TimeoutError("not ready in time"))
        os._exit(1)  # it may also hang while it is cancelled
    await running


def child(
    main: Callable[[dict[str, Any]], Awaitable[None]], options: dict[str, Any], *, parent: int
) -> None:
    end_with(parent)
    logging.disable(logging.CRITICAL)  # losing connections is intended
    code = 1
    try:
        asyncio.run(start(main, options))
        code = 0
    except Exception as error:  # noqa: BLE001  # whatever it was, somebody waits to hear of it
        report_failure(error)
    finally:
        os._exit(code)


def main() -> None:
    me = os.getpid()
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            if os.fork() == 0:
                child(work, request["start"], parent=me)
        elif "schedule" in request:
            if os.fork() == 0:
                child(schedule, request["schedule"], parent=me)
        elif "serve" in request:
            if os.fork() == 0:
                child(serve, request["serve"], parent=me)
        else:
            _, status = os.waitpid(request["wait"], 0)
            os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
