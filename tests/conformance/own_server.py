"""Start our server with a worker, in a process of its own, on a database of its own."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bathysphere.engine.database.pool import Database
from bathysphere.engine.database.schema import migrate
from bathysphere.testing.postgres import temporary_database

HERE = Path(__file__).parent
REDIS = "redis://127.0.0.1:6379/5"


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
