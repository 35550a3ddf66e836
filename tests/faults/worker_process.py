"""Processes to be killed, forked from one that has already imported everything.

Reads one JSON request a line: `{"start": {…}}` forks a worker, which says `ready <pid>` when it is,
`{"serve": {…}}` forks an API process, which says `ready <pid> <port>`; either may say `failed`.
`{"wait": <pid>}` answers with the exit code. Ends when its input does.
"""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from api_process import say_failed, say_ready, serve
from engine_graphs import graphs
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.engine.database import Database, open_pool
from bathysphere.engine.events_redis import RedisEventLog
from bathysphere.engine.execution import Executor, Limits
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.queue import Queue
from bathysphere.engine.worker import Pace, Worker


async def work(options: dict[str, Any]) -> None:
    database, clock = Database(url=options["database_url"], max_size=4), SystemClock()
    redis = Redis.from_url(options["redis_url"], socket_timeout=5)
    async with (
        redis,
        open_pool(database) as pool,
        RedisEventLog(redis, clock=clock) as log,
    ):
        queue = Queue(pool, database=database, clock=clock)
        await queue.open()
        executor = Executor(
            pool=pool,
            graphs=Graphs(graphs(options["world_url"])),
            log=log,
            clock=clock,
            limits=Limits(attempts=50, retry_seconds=0.3),
        )
        pace = Pace(**options["pace"])
        worker = Worker(database=database, queue=queue, executor=executor, clock=clock, pace=pace)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, worker.drain)
        say_ready()
        await worker.run()


def child(main: Callable[[dict[str, Any]], Awaitable[None]], options: dict[str, Any]) -> None:
    logging.disable(logging.CRITICAL)  # what it lost is the point of the test
    code = 1
    try:
        asyncio.run(main(options))
        code = 0
    except Exception as error:  # noqa: BLE001  # whatever it was, somebody waits to hear of it
        say_failed(error)
    finally:
        os._exit(code)


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "start" in request:
            if os.fork() == 0:
                child(work, request["start"])
        elif "serve" in request:
            if os.fork() == 0:
                child(serve, request["serve"])
        else:
            _, status = os.waitpid(request["wait"], 0)
            os.write(1, f"{os.waitstatus_to_exitcode(status)}\n".encode())


if __name__ == "__main__":
    main()
