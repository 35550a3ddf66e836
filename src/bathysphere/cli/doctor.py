"""`bathysphere doctor`: is everything here that a talk needs, and what to do if not."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

HELP = "check models, database and extras, and say what to do"

State = Literal["ok", "missing", "problem", "info"]

PINNED = ("deepagents", "langchain", "langgraph")
"""Packages whose exact version the harness was built and tested with."""
TIMEOUT_S = 3.0
DATABASE_URL = "BATHYSPHERE_DATABASE_URL"
REDIS_URL = "BATHYSPHERE_REDIS_URL"


class Finding(NamedTuple):
    """One line: what was looked at, how it is, and what to do."""

    state: State
    what: str
    fix: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `doctor`, which has no arguments."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Print every finding; 1 if something that is configured is broken."""
    del args
    broken = False
    for title, look in SECTIONS:
        print(title)
        for finding in look():
            print(f"  {finding.state:<8} {finding.what}")
            if finding.fix:
                print(f"  {'':<8} fix: {finding.fix}")
            broken = broken or finding.state == "problem"
    return 1 if broken else 0


# ── what is installed ──


def _packages() -> Iterator[Finding]:
    from importlib.metadata import version

    yield Finding("ok", f"python {sys.version.split()[0]}")
    yield Finding("ok", f"bathysphere {version('bathysphere')}")
    for name, wanted in _requirements():
        if name in PINNED and wanted.startswith("=="):
            yield _pinned(name, wanted.removeprefix("=="))


def _pinned(name: str, wanted: str) -> Finding:
    from importlib.metadata import version

    found = version(name)
    if found == wanted:
        return Finding("ok", f"{name} {found}")
    fix = f'pip install "{name}=={wanted}"'
    return Finding("problem", f"{name} {found}, but {wanted} is what works here", fix)


def _requirements(extra: str | None = None) -> Iterator[tuple[str, str]]:
    """Name and version of what this package needs, always or for an extra."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    for line in requires("bathysphere") or ():
        needed = Requirement(line)
        always = needed.marker is None or needed.marker.evaluate({"extra": ""})
        asked = extra is not None and needed.marker and needed.marker.evaluate({"extra": extra})
        if (asked and not always) if extra else always:
            yield needed.name, str(needed.specifier)


def _extras() -> Iterator[Finding]:
    from importlib.metadata import metadata

    for extra in sorted(metadata("bathysphere").get_all("Provides-Extra") or ()):
        if extra == "all":
            continue
        missing = [name for name, _ in _requirements(extra) if not _is_installed(name)]
        if missing:
            what = f"{extra} (no {', '.join(missing)})"
            yield Finding("missing", what, f'if you need it: pip install "bathysphere[{extra}]"')
        else:
            yield Finding("ok", extra)


def _is_installed(name: str) -> bool:
    from importlib.metadata import PackageNotFoundError, version

    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


# ── models ──


def _models() -> Iterator[Finding]:
    import asyncio

    from bathysphere.core.errors import BathysphereError
    from bathysphere.models.catalog import survey
    from bathysphere.models.names import DEMO_TOUR
    from bathysphere.models.settings import ModelSettings

    try:
        reports = asyncio.run(survey(ModelSettings.from_environment())).roles
    except BathysphereError as error:
        yield Finding("problem", error.message, error.hint)
        return
    for report in reports:
        if report.chosen_by == "the main model":
            continue  # said already
        check = report.check
        what = f"{report.role}: {check.name} ({check.detail})"
        yield Finding("ok" if check.usable else "problem", what, check.hint)
    if reports[0].check.name == DEMO_TOUR:
        fix = "`bathysphere models` shows what this machine has"
        yield Finding("info", "no model is set up, so a scripted tour answers", fix)


# ── services ──


def _services() -> Iterator[Finding]:
    from pydantic import Field
    from pydantic_settings import BaseSettings

    class Services(BaseSettings):
        """Where the services of a deployment are; none of them is needed to chat."""

        database_url: str | None = Field(
            default=None, validation_alias=DATABASE_URL, description="PostgreSQL, as a URL."
        )
        redis_url: str | None = Field(
            default=None, validation_alias=REDIS_URL, description="Redis, as a URL."
        )

    services = Services()
    yield _service("PostgreSQL", DATABASE_URL, services.database_url, _ask_postgres)
    yield _service("Redis", REDIS_URL, services.redis_url, _ask_redis)


def _service(name: str, variable: str, url: str | None, ask: Callable[[str], str]) -> Finding:
    if not url:
        return Finding("info", f"{name}: not configured ({variable}); not needed to chat")
    try:
        parts = urlsplit(url)
        where = f"{parts.hostname or 'localhost'}:{parts.port or ''}".rstrip(":")
        return Finding("ok", f"{name} at {where}: {ask(url)}")
    except ImportError:
        return Finding(
            "problem", f"{name}: its client is missing", 'pip install "bathysphere[engine]"'
        )
    except Exception as error:  # noqa: BLE001  # whatever a client raises is the finding
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return Finding("problem", f"{name}: {why}", f"start it, or correct {variable}")


def _ask_postgres(url: str) -> str:
    import psycopg

    with psycopg.connect(url, connect_timeout=int(TIMEOUT_S)) as connection:
        row = connection.execute("show server_version").fetchone()
    return f"version {row[0]}" if row else "it answers"


def _ask_redis(url: str) -> str:
    """Say PING over a plain socket, so that asking needs no client library."""
    import socket
    import ssl

    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 6379
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as plain:
        tls = ssl.create_default_context() if parts.scheme == "rediss" else None
        connection = tls.wrap_socket(plain, server_hostname=host) if tls else plain
        connection.sendall(b"PING\r\n")
        answer = connection.recv(256).decode(errors="replace").strip()
    if answer == "+PONG":
        return "it answers"
    if answer.startswith("-NOAUTH"):
        return "it answers and wants a password, which is not checked here"
    message = f"what answers at {host}:{port} is not Redis"
    raise ConnectionError(message)


# ── for developers ──


def _development() -> Iterator[Finding]:
    import shutil

    node = shutil.which("node")
    found = f"node: {node}" if node else "node: not found"
    yield Finding("info", f"{found} (only the test kit's model server uses it)")


SECTIONS: tuple[tuple[str, Callable[[], Iterable[Finding]]], ...] = (
    ("packages", _packages),
    ("extras", _extras),
    ("models", _models),
    ("services", _services),
    ("development", _development),
)
