"""Two cells behind the router that ships: real processes of `bathysphere`, and nginx."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from monitored import Town
from own_services import free_port

from bathysphere.testing.postgres import temporary_database
from bathysphere.testing.router import RouterServer

ROUTER = Path(__file__).parents[2] / "deploy" / "router" / "nginx.conf"
PROJECT = Path(__file__).parent / "cell_project"
REDIS = {"a": "redis://127.0.0.1:6379/7", "b": "redis://127.0.0.1:6379/8"}
COMMAND = (sys.executable, "-c", "from bathysphere.cli.main import main; raise SystemExit(main())")
START_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Country:
    """Two cells, their directory and their router."""

    url: str
    """Of the router."""
    file: Path
    """What describes the cells."""
    databases: dict[str, str]
    """By cell."""

    def create_key(self, tenant: str, cell: str) -> str:
        """Create an API key of a tenant, in a cell."""
        said = bathysphere(
            "keys", "create", "--tenant", tenant, "--user", "u",
            "--database-url", self.databases[cell],
        )  # fmt: skip
        return next(word for word in said.split() if word.startswith("bsk_"))

    def admit(self, tenant: str, cell: str) -> None:
        """Let a tenant live in a cell."""
        bathysphere("cells", "admit", "--tenant", tenant, "--database-url", self.databases[cell])

    def move_command(self, tenant: str, source: str, target: str) -> tuple[str, ...]:
        """The command that moves a tenant."""
        options = ("--from", source, "--to", target, "--cells", str(self.file))
        return (*COMMAND, "cells", "move", "--tenant", tenant, *options)


def environment() -> dict[str, str]:
    """The variables of a command, without settings of whoever runs the tests."""
    clean = {name: value for name, value in os.environ.items() if "BATHYSPHERE" not in name}
    return {**clean, "BATHYSPHERE_AUTH": "api-key"}


def bathysphere(*arguments: str) -> str:
    """Run a command; return what it printed."""
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def two_cells(folder: Path) -> Iterator[Country]:
    """Start two cells, each with an API process and a worker, and the router in front."""
    with ExitStack() as stack:
        databases = {name: stack.enter_context(temporary_database("cell")) for name in REDIS}
        urls = {}
        for name, database in databases.items():
            bathysphere("migrate", "--database-url", database)
            town = Town(
                database,
                REDIS[name],
                project=PROJECT,
                BATHYSPHERE_CELL=name,
                BATHYSPHERE_AUTH="api-key",
            )
            stack.enter_context(closing(town))
            urls[name] = str(town.api().base_url).rstrip("/")
            town.worker()
        file = folder / "cells.toml"
        file.write_text(_cells(urls, databases))
        directory = stack.enter_context(_directory(file))
        router = stack.enter_context(RouterServer(ROUTER, directory=directory))
        yield Country(url=router.url, file=file, databases=databases)


def _cells(urls: dict[str, str], databases: dict[str, str]) -> str:
    parts = ['default = "a"']
    for name, url in urls.items():
        parts.append(f'[cells.{name}]\nurl = "{url}"\ndatabase_url = "{databases[name]}"')
    return "\n".join(parts)


@contextmanager
def _directory(file: Path) -> Iterator[str]:
    """Serve the directory; yield its address."""
    port = free_port()
    options = ("--cells", str(file), "--port", str(port))
    with _running(*COMMAND, "cells", "direct", *options, log=file.with_name("directory.log")):
        _wait_for(f"http://127.0.0.1:{port}/cell", file.with_name("directory.log"))
        yield f"127.0.0.1:{port}"


@contextmanager
def _running(*command: str, log: Path) -> Iterator[None]:
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment())
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


def _wait_for(url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            if httpx.get(url).status_code < 500:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(f"{url} does not answer: {log.read_text()[-2000:]}")
