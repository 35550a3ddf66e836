"""What the tests of the examples share: a model without a key, and the real `bathysphere serve`.

The model repeats what it hears; a message `CALL tool {json}` makes it call that tool.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from bathysphere.testing.echo_model import echo_model
from bathysphere.testing.postgres import temporary_database

COMMAND = Path(sys.executable).parent / "bathysphere"


class Served(NamedTuple):
    """A running server, and its database."""

    url: str
    database: str


@pytest.fixture(scope="session")
def model() -> Iterator[dict[str, str]]:
    """The variables that choose the model."""
    with echo_model() as variables:
        yield variables


@pytest.fixture(scope="module")
def serve(model: dict[str, str]) -> Iterator[Callable[..., Served]]:
    """Start `bathysphere serve` in a folder."""
    with ExitStack() as stack:

        def start(folder: Path, *arguments: str, **variables: str) -> Served:
            database = stack.enter_context(temporary_database("example"))
            command = [str(COMMAND), "serve", *arguments, "--port", "0"]
            command += ["--database-url", database]
            url = stack.enter_context(_running(command, folder, {**model, **variables}))
            return Served(url, database)

        yield start


@contextmanager
def _running(command: list[str], folder: Path, variables: dict[str, str]) -> Iterator[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("BATHYSPHERE_", "OPENAI"))}
    server = subprocess.Popen(
        command, cwd=folder, env={**kept, **variables}, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        words = (word for line in server.stdout for word in line.split())
        url = next((word for word in words if word.startswith("http")), None)
        assert url, "the server did not start"
        yield url.rstrip("/")
    finally:
        server.terminate()
        server.communicate(timeout=30)
