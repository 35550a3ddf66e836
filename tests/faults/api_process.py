"""An API process to be killed: the real app on uvicorn."""

import asyncio
import os
import signal
from typing import Any

import uvicorn
from engine_graphs import known_graphs
from starlette.requests import HTTPConnection

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database
from bathysphere.server.app import create_app
from bathysphere.server.process.listener import Listener
from bathysphere.server.process.services import open_services

_reported: list[str] = []


def report_ready(*words: object) -> None:
    """Report to the parent that this process is ready; once, before anything can fail."""
    line = " ".join(map(str, ("ready", os.getpid(), *words)))
    _reported.append(line)
    os.write(1, f"{line}\n".encode())


def has_reported() -> bool:
    """Whether this process has reported that it is ready."""
    return bool(_reported)


def report_failure(error: BaseException) -> None:
    """Report that this process will never be ready, so that nobody waits for it."""
    if not _reported:
        os.write(1, f"failed {error!r}\n".replace("\\n", " ").encode())


async def identify(connection: HTTPConnection) -> Owner:
    name = connection.headers.get("x-user", "alice")
    return Owner(tenant=name, user=f"{name}@{name[0]}")


async def serve(options: dict[str, Any]) -> None:
    """Serve until SIGTERM; prints `ready <pid> <port>`."""
    database = Database(url=options["database_url"], max_size=4)
    known = known_graphs(options["graphs"], options["database_url"])
    async with open_services(
        database=database, graphs=known, redis_url=options["redis_url"]
    ) as services:
        app = create_app(services=services, identify=identify, heartbeat_seconds=0.5)
        server = Listener(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve())
        await server.is_listening.wait()
        stopped = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
        port = server.servers[0].sockets[0].getsockname()[1]
        report_ready(port)
        await stopped.wait()
        server.should_exit = server.force_exit = True
        await serving
