"""A server and a worker in a process of their own: `python serving.py DATABASE REDIS|-`.

Prints the address when it is ready. Two identities exist: the header `x-user` names the caller.
"""

import asyncio
import contextlib
import signal
import sys

import uvicorn
from served_graphs import GRAPHS
from starlette.requests import HTTPConnection

from bathysphere.core.identity import Owner
from bathysphere.engine.crons.scheduler import SchedulerOptions
from bathysphere.engine.crons.service import CronLimits
from bathysphere.engine.database.pool import Database
from bathysphere.engine.delivery.receivers import ReceiverRules
from bathysphere.engine.delivery.sender import SenderOptions
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.worker import Worker, WorkerOptions
from bathysphere.server.app import create_app
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.deliveries import WebhookOptions
from bathysphere.server.process.listener import Listener
from bathysphere.server.process.services import (
    ScheduleOptions,
    Services,
    open_services,
    open_worker,
)

# Due every second, so that a behaviour can see a run; a receiver on this machine.
SCHEDULES = ScheduleOptions(
    limits=CronLimits(per_tenant=None, min_seconds=1),
    scheduler=SchedulerOptions(poll_seconds=0.2),
)
WEBHOOKS = WebhookOptions(
    master=b"the secret of the conformance suite",
    rules=ReceiverRules(allows_loopback=True),
    sender=SenderOptions(poll_seconds=0.1),
)


async def identify(connection: HTTPConnection) -> Owner:
    name = connection.headers.get("x-user", "alice")
    return Owner(tenant=name, user=f"{name}@example")


async def make_worker(services: Services) -> Worker:
    """Production's worker; only its pace is a test's."""
    return await open_worker(
        services,
        metrics=Metrics(),
        limits=Limits(retry_seconds=0.05),
        options=WorkerOptions(concurrency=8, poll_seconds=0.2, drain_seconds=5),
    )


async def main(url: str, redis: str | None) -> None:
    database = Database(url=url, max_size=20)
    async with open_services(
        database=database,
        graphs=Graphs(GRAPHS),
        redis_url=redis,
        schedules=SCHEDULES,
        webhooks=WEBHOOKS,
    ) as services:
        app = create_app(services=services, identify=identify, heartbeat_seconds=2)
        server = Listener(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
        worker = await make_worker(services)
        working = asyncio.create_task(worker.run())
        serving = asyncio.create_task(server.serve())
        await server.is_listening.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        sys.stdout.write(f"http://127.0.0.1:{port}\n")
        sys.stdout.flush()
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        await stopped.wait()
        server.should_exit = True
        server.force_exit = True
        worker.drain()
        await working
        with contextlib.suppress(asyncio.CancelledError):
            await serving


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], None if sys.argv[2] == "-" else sys.argv[2]))
