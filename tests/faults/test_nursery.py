"""The nursery that forks the campaigns' processes always responds and leaves none behind."""

import signal
import socket
import time
from pathlib import Path

import pytest
from engine_rig import Nursery

from bathysphere.engine.database.pool import Database

pytestmark = pytest.mark.services


def is_alive(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def test_a_worker_that_cannot_become_ready_is_given_up(
    nursery: Nursery, engine_database: Database, within
):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, sends nothing
        port = silent.getsockname()[1]
        began = time.monotonic()
        with pytest.raises(AssertionError, match="not ready in time"):
            nursery.start(Database(url=f"postgresql://root@127.0.0.1:{port}/x"), start_seconds=1)
        within(time.monotonic() - began, 20)
    nursery.start(engine_database).end()  # it still responds


def test_workers_end_with_the_nursery_even_when_they_are_stopped(engine_database: Database):
    nursery = Nursery()
    workers = [nursery.start(engine_database) for _ in range(2)]
    workers[1].send(signal.SIGSTOP)
    nursery._process.kill()
    nursery.close()
    until = time.monotonic() + 10
    while any(is_alive(worker.pid) for worker in workers):
        if time.monotonic() >= until:
            raise TimeoutError("a worker was left behind")
        time.sleep(0.05)
