"""A server with a worker, in a process of its own, on real PostgreSQL: with Redis, and in memory.

`CONFORMANCE_COUNT=20 pytest tests/conformance/test_js.py tests/conformance/test_python.py` plays
every behaviour so many times in a row (`make conformance-20`).
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.testing.postgres import temporary_database

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
REDIS = "redis://127.0.0.1:6379/5"
GIVEN = os.environ.get("CONFORMANCE_SERVER")  # reference.py: LangChain's own server
COUNT = int(os.environ.get("CONFORMANCE_COUNT", "1"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if COUNT > 1:
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(COUNT))


@contextmanager
def own_database() -> Iterator[str]:
    with temporary_database("conformance") as url:
        asyncio.run(migrate(Database(url=url)))
        yield url


@contextmanager
def serving(database: str, log: str) -> Iterator[str]:
    # Not `server.process.lifecycle.serve`: the behaviours need two people, named by a header, and
    # `serve` identifies callers by its settings (API keys, OpenID Connect, one local person).
    # It also has rate limits, which a behaviour played 20 times in a row would hit. The app, the
    # services and the worker are built by the same functions as in production.
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(HERE / "serving.py"), database, log],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://"), "the server did not start"
        yield address
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="session", params=["given"] if GIVEN else ["redis", "memory"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server whose events live in Redis, or in memory; or of another one."""
    if GIVEN:
        yield GIVEN
        return
    log = REDIS if request.param == "redis" else "-"
    with own_database() as database, serving(database, log) as address:
        yield address
