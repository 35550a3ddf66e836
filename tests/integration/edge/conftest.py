"""A database of our own, and `bathysphere` commands as processes."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bathysphere.engine.database.pool import Database, Pool, open_pool
from bathysphere.server.process.database import migrate_database
from bathysphere.testing.postgres import temporary_database

REDIS = "redis://127.0.0.1:6379/0"
RUN = """
import sys
from argparse import ArgumentParser
from importlib import import_module
from bathysphere.core.errors import BathysphereError
command = import_module(f"bathysphere.cli.{sys.argv[1]}")
parser = ArgumentParser()
command.add_arguments(parser)
try:
    sys.exit(command.run(parser.parse_args(sys.argv[2:])))
except BathysphereError as error:
    sys.exit(f"error: {error}")
"""
"""A command by itself, so that these tests do not wait for the list of commands."""


@pytest.fixture(scope="session")
def edge_database() -> Iterator[Database]:
    with temporary_database("edge_test") as url:
        database = Database(url=url)
        asyncio.run(migrate_database(database))
        yield database


@pytest.fixture
async def pool(edge_database: Database) -> AsyncIterator[Pool]:
    async with open_pool(edge_database) as pool:
        await _empty(pool)
        yield pool


async def _empty(pool: Pool) -> None:
    async with pool.connection() as connection:
        await connection.execute("TRUNCATE identity.api_keys")


class Command:
    """A running `bathysphere` command: its lines, and ways to end it."""

    def __init__(self, *arguments: str, folder: Path | None = None, **environment: str) -> None:
        clean = {name: value for name, value in os.environ.items() if "BATHYSPHERE" not in name}
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**clean, **environment},
            cwd=folder,
            start_new_session=True,
        )
        self.errors: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def _read_errors(self) -> None:
        self.errors.extend(self.process.stderr)

    def line(self, containing: str) -> str:
        """The next line of output with this in it."""
        for line in self.process.stdout:
            if containing in line:
                return line.strip()
        self._reader.join(5)
        raise AssertionError(f"no line with {containing!r}: {''.join(self.errors)[-3000:]}")

    def url(self) -> str:
        return next(w for w in self.line("in your browser").split() if w.startswith("http"))

    def send(self, which: signal.Signals) -> None:
        """To the whole group, as a terminal does."""
        os.killpg(self.process.pid, which)

    def ended(self, seconds: float = 20) -> int:
        code = self.process.wait(seconds)
        self._reader.join(5)
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def output(self, seconds: float = 30) -> str:
        """All of its output, when it has ended."""
        text = self.process.stdout.read()
        self.ended(seconds)
        return text


@pytest.fixture
def command() -> Iterator[Any]:
    with _commands() as start:
        yield start


@pytest.fixture(scope="module")
def module_command() -> Iterator[Any]:
    """The same, for commands that the tests of a module share."""
    with _commands() as start:
        yield start


@contextmanager
def _commands() -> Iterator[Any]:
    started: list[Command] = []

    def start(*arguments: str, **options: Any) -> Command:
        started.append(Command(*arguments, **options))
        return started[-1]

    with _all_ended(started):
        yield start


@contextmanager
def _all_ended(started: list[Command]) -> Iterator[None]:
    try:
        yield
    finally:
        for one in started:
            if one.process.poll() is None:
                one.process.terminate()
            one.ended()
