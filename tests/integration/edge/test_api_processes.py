"""`serve --api-processes`: several processes on one port, of which any may hang or die."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import psutil
import pytest

REDIS = "redis://127.0.0.1:6379/0"
pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


def pids(server) -> set[int]:
    return {one.pid for one in psutil.Process(server.process.pid).children()}


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@contextmanager
def hanging(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def answers(url: str) -> list[int]:
    """Statuses of requests, each on a connection of its own."""
    return [httpx.get(f"{url}/info", timeout=10).status_code for _ in range(10)]


def start(command, database: str, *more: str):
    places = ("--database-url", database, "--redis-url", REDIS)
    return command("serve", "--port", "0", "--api-processes", "2", *places, *more)


def test_each_process_serves_a_dead_one_is_replaced_and_all_end_together(command, edge_database):
    server = start(command, edge_database.url, "--no-worker")
    url = server.url()
    wait_for(lambda: len(pids(server)) == 2)
    first, second = pids(server)
    for pid in (first, second):
        with hanging(pid):
            assert answers(url) == [200] * 10
    os.kill(first, signal.SIGKILL)
    assert answers(url) == [200] * 10
    wait_for(lambda: len(pids(server) - {first}) == 2)
    assert second in pids(server)
    left = pids(server)
    server.send(signal.SIGTERM)
    assert server.ended() == 0
    assert not any(psutil.pid_exists(pid) for pid in left)
    assert "API process" in "".join(server.errors)
    assert "".join(server.errors).count("Stopped.") <= 1


@pytest.mark.long(
    "tests/integration/edge/test_api_processes.py"
    "::test_each_process_serves_a_dead_one_is_replaced_and_all_end_together"
)
def test_processes_end_with_a_parent_that_is_killed(command, edge_database):
    server = start(command, edge_database.url, "--no-worker")
    server.url()
    left = pids(server)
    server.process.kill()
    wait_for(lambda: not any(psutil.pid_exists(pid) for pid in left))


@pytest.mark.long(
    "tests/integration/edge/test_api_processes.py"
    "::test_each_process_serves_a_dead_one_is_replaced_and_all_end_together"
)
def test_a_server_that_cannot_start_says_so_once(command):
    server = start(command, "postgresql://root@127.0.0.1:1/none", "--no-worker")
    assert server.ended(60) == 1
    assert "".join(server.errors).count("Traceback") == 1


def test_several_processes_need_workers_of_their_own(command, edge_database):
    server = start(command, edge_database.url)
    assert server.ended() == 1
    assert "need PostgreSQL, Redis and workers of their own" in "".join(server.errors)
