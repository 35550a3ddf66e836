"""`bathysphere doctor`: check the installation, models and services, with fixes."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

HELP = "check models, services and extras, and suggest fixes"

State = Literal["ok", "missing", "problem", "info"]

PINNED = ("deepagents", "langchain", "langgraph")
"""Packages whose exact version the harness was built and tested with."""
TIMEOUT_S = 3.0
DATABASE_URL = "BATHYSPHERE_DATABASE_URL"
REDIS_URL = "BATHYSPHERE_REDIS_URL"


class Finding(NamedTuple):
    """The result of one check, with a fix if there is a problem."""

    state: State
    what: str
    fix: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--report",
        action="store_true",
        help="print a report for an issue, without values, addresses or folders of yours",
    )


def run(args: argparse.Namespace) -> int:
    """Print all findings; exit code 1 if anything configured is broken."""
    if args.report:
        return _report()
    broken = False
    for title, check in SECTIONS:
        print(title)
        for finding in check():
            for line in _lines(finding):
                print(f"  {line}")
            broken = broken or finding.state == "problem"
    return 1 if broken else 0


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.state:<8} {finding.what}"
    if finding.fix:
        yield f"{'':<8} fix: {finding.fix}"


def _report() -> int:
    """Print the report; what is broken is in it, so there is no failure."""
    import os
    from pathlib import Path

    from bathysphere.cli.support_report import support_report

    sections = (
        (title, [line for finding in check() for line in _lines(finding)])
        for title, check in SECTIONS
    )
    for line in support_report(sections, environment=os.environ, home=Path.home()):
        print(line)
    return 0


# ── installation ──


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
    return Finding("problem", f"{name} {found} is installed, but {wanted} is required", fix)


def _requirements(extra: str | None = None) -> Iterator[tuple[str, str]]:
    """Names and versions of required packages: the base ones, or those of an extra."""
    from importlib.metadata import requires

    from packaging.requirements import Requirement

    for line in requires("bathysphere") or ():
        needed = Requirement(line)
        always = needed.marker is None or needed.marker.evaluate({"extra": ""})
        for_extra = extra is not None and needed.marker and needed.marker.evaluate({"extra": extra})
        if (for_extra and not always) if extra else always:
            yield needed.name, str(needed.specifier)


def _extras() -> Iterator[Finding]:
    from importlib.metadata import metadata

    for extra in sorted(metadata("bathysphere").get_all("Provides-Extra") or ()):
        if extra == "all":
            continue
        missing = [name for name, _ in _requirements(extra) if not _is_installed(name)]
        if missing:
            what = f"{extra} (missing {', '.join(missing)})"
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
    from bathysphere.models.profiles import choose_profile
    from bathysphere.models.settings import ModelSettings

    try:
        settings = ModelSettings.from_environment()
        reports = asyncio.run(survey(settings)).roles
    except BathysphereError as error:
        yield Finding("problem", error.message, error.hint)
        return
    for report in reports:
        if report.is_main:
            continue  # already listed
        check = report.check
        what = f"{report.role}: {check.name} ({check.detail})"
        yield Finding("ok" if check.usable else "problem", what, check.hint)
    if reports[0].check.name == DEMO_TOUR:
        fix = "run `bathysphere models` to see available models"
        yield Finding("info", "No model is configured; a scripted tour answers instead", fix)
        return
    choice = choose_profile(settings)
    trust = f"; use it for {choice.trust}" if choice.trust else ""
    yield Finding("info", f"profile: {choice.profile} ({choice.chosen_by}){trust}")


# ── services ──


def _services() -> Iterator[Finding]:
    from pydantic import Field
    from pydantic_settings import BaseSettings

    class Services(BaseSettings):
        """URLs of deployment services; none is required for `chat`."""

        database_url: str | None = Field(
            default=None, validation_alias=DATABASE_URL, description="PostgreSQL URL."
        )
        redis_url: str | None = Field(
            default=None, validation_alias=REDIS_URL, description="Redis URL."
        )

    services = Services()
    yield _service("PostgreSQL", DATABASE_URL, services.database_url, _check_postgres)
    yield _service("Redis", REDIS_URL, services.redis_url, _check_redis)


def _service(name: str, variable: str, url: str | None, check: Callable[[str], str]) -> Finding:
    if not url:
        return Finding("info", f"{name}: not configured ({variable}); not required for `chat`")
    try:
        parts = urlsplit(url)
        where = f"{parts.hostname or 'localhost'}:{parts.port or ''}".rstrip(":")
        return Finding("ok", f"{name} at {where}: {check(url)}")
    except Exception as error:  # noqa: BLE001  # any client error is a finding
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return Finding("problem", f"{name}: {why}", f"start it, or correct {variable}")


def _check_postgres(url: str) -> str:
    import psycopg

    with psycopg.connect(url, connect_timeout=int(TIMEOUT_S)) as connection:
        row = connection.execute("show server_version").fetchone()
    return f"version {row[0]}" if row else "reachable"


def _check_redis(url: str) -> str:
    """Send PING over a plain socket, so that no client library is needed."""
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
        return "reachable"
    if answer.startswith("-NOAUTH"):
        return "reachable; requires a password, which was not checked"
    message = f"{host}:{port} is not a Redis server"
    raise ConnectionError(message)


# ── deployment ──


def _deployment() -> Iterator[Finding]:
    """Storage, search, the web, the research key and payments, configured as for `serve`."""
    from bathysphere.core.errors import BathysphereError

    for name, check in (
        ("storage", _storage),
        ("search", _search),
        ("web", _web),
        ("policy", _policy),
        ("research key", _research_key),
        ("payments", _payments),
    ):
        try:
            yield check()
        except BathysphereError as error:
            yield Finding("problem", f"{name}: {error.message}", error.hint)


def _storage() -> Finding:
    from bathysphere.server.workspaces.service import Workspaces
    from bathysphere.server.workspaces.settings import StorageSettings

    settings = StorageSettings.from_environment()
    has_bucket = Workspaces.open(settings) is not None
    return Finding("ok" if has_bucket else "info", f"storage: {settings.summary}")


def _search() -> Finding:
    from bathysphere.agents.research.settings import ResearchSettings
    from bathysphere.agents.research.source_access import corpus_of
    from bathysphere.tools.fetch import Fetcher
    from bathysphere.tools.settings import search_engine

    settings = ResearchSettings.from_environment()
    search_engine(settings.search, Fetcher(settings.fetch.rules()))
    if settings.corpus is None:
        return Finding("ok", f"search: {settings.search.chosen}")
    count = len(corpus_of(settings.corpus))
    return Finding("ok", f"search: {settings.search.chosen}; corpus of {count} documents")


def _web() -> Finding:
    from bathysphere.agents.simple.settings import PREFIX, SimpleSettings
    from bathysphere.harness.web_tools import WebAccess

    settings = SimpleSettings.from_environment()
    settings.config(WebAccess())
    variable = f"{PREFIX}WEB"
    if settings.web == "off":
        return Finding("info", f"web: `simple` has no tools for it ({variable})")
    asks = "after approval" if settings.web == "ask" else "without approval"
    return Finding("ok", f"web: `simple` searches and reads pages {asks} ({variable})")


def _policy() -> Finding:
    from bathysphere.agents.research.settings import PREFIX, ResearchSettings
    from bathysphere.policy.file import local_policy_file, read_policy_file

    settings = ResearchSettings.from_environment()
    settings.policy()
    if settings.policy_file is not None:
        return Finding("ok", f"policy: {settings.policy_file}")
    if (path := local_policy_file()) is None:
        return Finding("info", f"policy: the one that ships ({PREFIX}POLICY_FILE)")
    read_policy_file(path, hint="check its permissions")
    return Finding(
        "info", f"policy: {path} for `research`; a server uses it if {PREFIX}POLICY_FILE names it"
    )


def _research_key() -> Finding:
    from bathysphere.agents.research.settings import PREFIX, ResearchSettings
    from bathysphere.server.process.settings import ServerSettings

    variable = f"{PREFIX}SIGNING_KEY"
    research = ResearchSettings.from_environment()
    if research.signing_key is not None:
        return Finding("ok", f"research key: {variable} is set")
    if research.signing_key_file is not None:
        return Finding(
            "ok", f"research key: in {research.signing_key_file}, shared by all processes"
        )
    if ServerSettings.from_environment().is_embedded:
        return Finding("info", f"research key: not set ({variable}); `serve` creates one")
    what = "research key: not set; processes cannot verify each other's reports"
    return Finding(
        "missing", what, f"set {variable} (openssl rand -hex 32), the same in all processes"
    )


def _payments() -> Finding:
    from bathysphere.server.payments.settings import PREFIX, PaymentSettings

    settings = PaymentSettings.from_environment()
    if not settings.is_on:
        return Finding("info", f"payments: off ({PREFIX}MINT)")
    from bathysphere.server.payments import service

    del service  # imported to check that its packages are installed
    return Finding("ok", f"payments: at {settings.origin}")


# ── development ──


def _development() -> Iterator[Finding]:
    import shutil

    node = shutil.which("node")
    found = f"node: {node}" if node else "node: not found"
    yield Finding("info", f"{found} (used only by the model server in bathysphere.testing)")


SECTIONS: tuple[tuple[str, Callable[[], Iterable[Finding]]], ...] = (
    ("packages", _packages),
    ("extras", _extras),
    ("models", _models),
    ("services", _services),
    ("deployment", _deployment),
    ("development", _development),
)
